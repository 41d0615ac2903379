import { writeFileSync } from 'node:fs';
import type { Agent } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readStream } from '../support/eventStream.ts';
import { freePort } from '../support/freePort.ts';
import { promptOf } from '../support/jobs.ts';
import { connect, workerConnected } from '../support/load.ts';
import {
  environment,
  type ServerProcess,
  spawnNode,
  startCoordinator,
  startProvider,
  startWorkerProcess,
} from '../support/processes.ts';
import { apiKeyVariable } from '../support/providers.ts';
import { type Bench, temporaryFolder } from '../support/scenario.ts';

const promptBytes = 300;
/** More than are ever at once, so that no call waits for a slot. */
const slots = 300;
const provider = 'openai';
const waitSeconds = 60;
const readyMsMax = 30_000;
const pollMs = 20;

export const names = ['direct', 'Portkey', 'SVC /v1', 'SVC native'] as const;
export type Name = (typeof names)[number];

/** A call, as a client of the system makes it. */
export interface Call {
  model: string;
  agent: Agent;
  /** Told each piece of the answer as it comes. */
  onText: (text: string, at: number) => void;
}

/** One way to the provider. */
export interface System {
  name: Name;
  /** A whole answer. @throws when it is refused. */
  whole(call: Call): Promise<unknown>;
  /** A stream, to its end. */
  stream(call: Call): Promise<unknown>;
  /** Its own processes: neither the provider nor the client. */
  pids: readonly number[];
}

export interface Systems {
  provider: ServerProcess;
  systems: readonly System[];
}

/** The provider and every way to it. @param models that the provider has. @param withPortkey needs its package. */
export async function startSystems(
  bench: Bench,
  models: readonly string[],
  withPortkey: boolean,
): Promise<Systems> {
  const server = await startProvider(bench);
  return {
    provider: server,
    systems: [
      chat('direct', server.url, {}, (model) => model, []),
      ...(withPortkey ? [await startPortkey(bench, server.url)] : []),
      ...(await startSvc(bench, server.url, models)),
    ],
  };
}

/**
 * Portkey's gateway as its README starts it, `npx @portkey-ai/gateway --headless`: without the console that keeps the
 * latest calls. The provider and its address come with each request (portkey.ai/docs, "Local AI", November 2026).
 */
async function startPortkey(bench: Bench, providerUrl: string): Promise<System> {
  const port = await freePort();
  const file = join(import.meta.dirname, '../node_modules/@portkey-ai/gateway/build/start-server.js');
  const program = spawnNode(bench, [file, `--port=${port}`, '--headless'], 'portkey', environment());
  const url = `http://127.0.0.1:${port}`;
  const endsAt = performance.now() + readyMsMax;
  while (!(await answers(url))) {
    program.assertRuns();
    if (performance.now() > endsAt) throw new Error(`Portkey did not answer in ${readyMsMax} ms`);
    await sleep(pollMs);
  }
  const headers = { 'x-portkey-provider': provider, 'x-portkey-custom-host': `${providerUrl}/v1` };
  return chat('Portkey', url, headers, (model) => model, [program.process.pid ?? 0]);
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(url)).ok;
  } catch {
    return false;
  }
}

/** A coordinator and a worker with the defaults, as users start them. */
async function startSvc(bench: Bench, providerUrl: string, models: readonly string[]): Promise<System[]> {
  const folder = temporaryFolder(bench);
  const configFile = join(folder, 'worker.config.json');
  const settings = { base_url: `${providerUrl}/v1`, api_key_env: apiKeyVariable, models };
  writeFileSync(configFile, JSON.stringify({ providers: { [provider]: settings } }));
  const coordinator = await startCoordinator(bench, join(folder, 'data'));
  const { url } = coordinator;
  const worker = await startWorkerProcess(bench, [
    ...['--provider', provider, '--concurrency', String(slots)],
    ...['--coordinator', url, '--config', configFile],
  ]);
  const client = connect(url);
  await workerConnected(client);
  client.destroy();
  const pids = [coordinator.pid, worker.pid];
  return [
    chat('SVC /v1', url, {}, (model) => `${provider}/${model}`, pids),
    {
      name: 'SVC native',
      whole: ({ model, agent, onText }) =>
        readStream({
          method: 'POST',
          url: `${url}/api/jobs?wait=${waitSeconds}`,
          body: jobBody(model),
          status: 201,
          agent,
          onPiece: ({ text, at }) => onText(text, at),
        }),
      stream: async ({ model, agent, onText }) => {
        let answer = '';
        const onPiece = ({ text }: { text: string }) => {
          answer += text;
        };
        await readStream({
          method: 'POST',
          url: `${url}/api/jobs`,
          body: jobBody(model),
          status: 201,
          agent,
          onPiece,
        });
        const { id } = JSON.parse(answer) as { id: string };
        return readStream({
          method: 'GET',
          url: `${url}/api/jobs/${id}/events`,
          agent,
          onPiece: ({ text, at }) => onText(text, at),
        });
      },
      pids,
    },
  ];
}

const prompt = promptOf('ticket', promptBytes);

function jobBody(model: string): string {
  return JSON.stringify({ provider, model, prompt });
}

/** A system that speaks OpenAI's chat completions. */
function chat(
  name: Name,
  url: string,
  headers: Record<string, string>,
  modelOf: (model: string) => string,
  pids: readonly number[],
): System {
  const call = (stream: boolean) => (asked: Call) =>
    readStream({
      method: 'POST',
      url: `${url}/v1/chat/completions`,
      body: JSON.stringify({
        model: modelOf(asked.model),
        stream,
        messages: [{ role: 'user', content: prompt }],
      }),
      headers,
      agent: asked.agent,
      onPiece: ({ text, at }) => asked.onText(text, at),
    });
  return { name, whole: call(false), stream: call(true), pids };
}
