import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { HttpClient } from '../support/httpClient.ts';
import { connect, countJobs, post, workerConnected } from '../support/load.ts';
import { now } from '../support/messages.ts';
import { endChild, forkChild, startCoordinator, startWorkerProcess } from '../support/processes.ts';
import { apiKeyVariable } from '../support/providers.ts';
import { type Bench, temporaryFolder } from '../support/scenario.ts';
import { fitting, type Limit, promptText } from './limits.ts';
import { bulkModel, type RunnerSetup } from './messages.ts';

/** More than either limit allows, as for somebody who does not know it. */
const concurrencyUsual = 50;
/** As docs/configuration.md says: "Set this first". The script and BullMQ's attempts have as many. */
const retries = 5;
const rateLimit = { retry_after_seconds: 30, max_retries: retries };
const provider = 'openai';
const runMsMax = 200_000;
const pollMs = 50;

/** Where a contender runs. */
export interface Place {
  limit: Limit;
  prompts: number;
  /** Of the provider's process. */
  url: string;
  /** null: nobody needs it. */
  redisUrl: string | null;
}

/** What a run came to, beside what the provider has seen. */
export interface Run {
  ms: number;
  answered: number;
}

export interface Contender {
  name: string;
  /** Its path at the provider. */
  lane: string;
  /** Whether it is told the limit. */
  isTold: boolean;
  needsRedis: boolean;
  /** Start everything; @returns what runs all prompts. */
  open(bench: Bench, place: Place): Promise<() => Promise<Run>>;
}

const both = [false, true];

export const contenders: readonly Contender[] = both.flatMap((isTold) => {
  const suffix = isTold ? '-told' : '';
  return [
    {
      name: 'SVC',
      lane: `svc${suffix}`,
      isTold,
      needsRedis: false,
      open: (bench: Bench, place: Place) => openSvc(bench, place, `svc${suffix}`, isTold),
    },
    {
      name: 'BullMQ',
      lane: `bullmq${suffix}`,
      isTold,
      needsRedis: true,
      open: (bench: Bench, place: Place) => {
        const { limit } = place;
        const perSecond = isTold && limit.kind === 'rate' ? limit.perSecond : null;
        // Its limiter holds a rate by itself, so its slots stay as they are.
        const concurrency = isTold && limit.kind === 'concurrency' ? fitting(limit) : concurrencyUsual;
        const setup = { ...runnerSetup(place, `bullmq${suffix}`), concurrency, perSecond };
        return openRunner(bench, '../peers/bulkProcess.ts', setup);
      },
    },
    {
      name: 'script',
      lane: `script${suffix}`,
      isTold,
      needsRedis: false,
      open: (bench: Bench, place: Place) => {
        const concurrency = isTold ? fitting(place.limit) : concurrencyUsual;
        const setup = { ...runnerSetup(place, `script${suffix}`), concurrency, perSecond: null };
        return openRunner(bench, '../bulk/scriptProcess.ts', setup);
      },
    },
  ];
});

function runnerSetup({ url, prompts, redisUrl }: Place, lane: string) {
  return { baseUrl: `${url}/${lane}/v1`, prompts, retries, redisUrl: redisUrl ?? '' };
}

async function openRunner(bench: Bench, file: string, setup: RunnerSetup): Promise<() => Promise<Run>> {
  const child = forkChild(bench, file, JSON.stringify(setup));
  bench.defer(() => endChild(child.process, () => child.process.disconnect()));
  await child.reply('ready');
  return async () => {
    child.process.send({ type: 'work', jobs: setup.prompts });
    const { jobs, firstAt, lastAt } = await child.reply('worked', runMsMax);
    return { ms: lastAt - firstAt, answered: jobs };
  };
}

/** A coordinator and `svc worker`; told the limit, with `max_concurrent`, the only one that it knows. */
async function openSvc(
  bench: Bench,
  { limit, prompts, url }: Place,
  lane: string,
  isTold: boolean,
): Promise<() => Promise<Run>> {
  const folder = temporaryFolder(bench);
  const configFile = join(folder, 'svc.config.json');
  const limits = isTold ? { ...rateLimit, max_concurrent: fitting(limit) } : rateLimit;
  writeFileSync(configFile, JSON.stringify({ providers: { defaults: { rate_limit: limits } } }));
  const workerFile = join(folder, 'worker.config.json');
  const settings = { base_url: `${url}/${lane}/v1`, api_key_env: apiKeyVariable, model: bulkModel };
  writeFileSync(workerFile, JSON.stringify({ providers: { [provider]: settings } }));
  const coordinator = await startCoordinator(bench, join(folder, 'data'), configFile);
  await startWorkerProcess(bench, [
    ...['--provider', provider, '--concurrency', String(concurrencyUsual)],
    ...['--coordinator', coordinator.url, '--config', workerFile],
  ]);
  const client = connect(coordinator.url);
  bench.defer(() => client.destroy());
  await workerConnected(client);
  const jobs = Array.from({ length: prompts }, (_, prompt) => ({ provider, prompt: promptText(prompt) }));
  const body = JSON.stringify({ jobs });
  return async () => {
    const startedAt = now();
    await post(client, '/api/jobs/batch', body, 201);
    const answered = await ended(client, prompts);
    return { ms: now() - startedAt, answered };
  };
}

/** Wait until all jobs have ended. @returns how many have completed. */
async function ended(client: HttpClient, prompts: number): Promise<number> {
  const endsAt = now() + runMsMax;
  for (;;) {
    const completed = await countJobs(client, 'completed');
    const failed = await countJobs(client, 'failed');
    if (completed + failed === prompts) return completed;
    if (now() > endsAt) throw new Error(`only ${completed} of ${prompts} jobs completed in ${runMsMax} ms`);
    await sleep(pollMs);
  }
}
