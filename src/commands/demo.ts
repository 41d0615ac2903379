import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { createClient } from '../client/client.ts';
import { adminKeyPath } from '../config/adminKey.ts';
import type { Config } from '../config/config.ts';
import { aborted, interruptSignal } from '../lib/interrupt.ts';
import type { Logger } from '../lib/log.ts';
import { ownCommand } from '../lib/ownCommand.ts';
import { count, createCommand } from './command.ts';
import { runDemo } from './demoRun.ts';
import { demoJobs } from './demoTexts.ts';
import { CommandFailure, exitCodes } from './exit.ts';
import { type Io, processIo } from './io.ts';
import { signInLink } from './signInLink.ts';

/** Starts the coordinator of the demonstration: `startService` of src/service.ts. */
export type StartService = (options: {
  config: Config;
  apiKey: string | null;
  logger: Logger;
  echoWorker: { concurrency: number };
}) => Promise<{ url: string; adminKey: string | null; stop(): Promise<void> }>;

interface Flags {
  once?: true;
  port?: number;
}

const portDefault = 7420;
/** Fewer slots than jobs, so that there is a queue. */
const slots = 3;

/** Prices are made up: an echo costs nothing, but a table of zeros shows nothing. */
const configText = `# The configuration of the demonstration. The prices are made up.
store:
  path: data
providers:
  defaults:
    rate_limit: { retry_after_seconds: 30, max_retries: 5 }
pricing:
  echo:
    echo-small: { input_per_million: 0.5, output_per_million: 2 }
    echo-large: { input_per_million: 5, output_per_million: 20 }
`;

/** `svc demo`: a coordinator and a worker in this process, some real texts, and a table of the results. */
export function demoCommand(io: Io = processIo(), start: StartService = startReal): Command {
  return createCommand('demo', 'Show a coordinator at work, in this process and in a temporary folder', [
    'svc demo               runs until Ctrl-C, with API and dashboard',
    'svc demo --once        exits after the table: 0 if every job completed',
    'svc demo --port 8080',
  ])
    .option('--once', 'exit after the table')
    .option('--port <port>', `port to listen on (default: ${portDefault}, or any free one)`, count(0, 65_535))
    .action(async ({ once, port }: Flags) => {
      const folder = await mkdtemp(join(tmpdir(), 'svc-demo-'));
      try {
        await present({ folder, port, isOnce: once === true, start }, io);
      } finally {
        await rm(folder, { recursive: true, force: true, maxRetries: 3 });
      }
    });
}

/** The service is only loaded when needed: every other command starts faster without it. */
const startReal: StartService = async (options) => (await import('../service.ts')).startService(options);

interface Setting {
  folder: string;
  port: number | undefined;
  isOnce: boolean;
  start: StartService;
}

async function present({ folder, port, isOnce, start }: Setting, io: Io): Promise<void> {
  const signal = interruptSignal();
  await writeFile(join(folder, 'svc.config.yaml'), configText);
  const free = port ?? ((await isFree(portDefault)) ? portDefault : 0);
  // Ignore the environment: the demonstration is the same on every machine.
  const [{ loadConfig }, { silent }] = await Promise.all([
    import('../config/load.ts'),
    import('../lib/log.ts'),
  ]);
  const { config } = await loadConfig({ env: {}, cwd: folder, overrides: { port: free } });
  const service = await start({ config, apiKey: null, logger: silent, echoWorker: { concurrency: slots } });
  try {
    const client = createClient({ baseUrl: service.url, apiKey: service.adminKey });
    const failures = await runDemo({ client, jobs: await demoJobs(), slots, signal }, io);
    if (isOnce) {
      signal.throwIfAborted();
      if (failures === 0) return;
      throw new CommandFailure(
        exitCodes.failed,
        `${failures} ${failures === 1 ? 'job' : 'jobs'} did not complete`,
      );
    }
    if (signal.aborted) return;
    io.out.lines(directions(service, adminKeyPath(config.store.path), io));
    io.out.line('Ctrl-C ends the demo and removes its folder.');
    await aborted(signal);
  } finally {
    await service.stop();
  }
}

/** The sign-in link is only for a terminal: output that is stored must not contain a key. */
function directions(
  { url, adminKey }: { url: string; adminKey: string | null },
  keyFile: string,
  io: Io,
): string[] {
  return [
    '',
    `API        ${url}/api/jobs`,
    `Dashboard  ${adminKey !== null && io.out.isTerminal ? signInLink(url, adminKey) : `${url}/`}`,
    `Key file   ${keyFile}`,
    `Try        ${ownCommand(io)} --url ${url} --key-file ${keyFile} jobs list`,
    '',
  ];
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
