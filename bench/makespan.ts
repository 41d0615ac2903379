import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { HttpClient } from './support/httpClient.ts';
import { promptOf, served } from './support/jobs.ts';
import { completedJobs, connect, post } from './support/load.ts';
import { seedFolder, spawnSvc, startCoordinator } from './support/processes.ts';
import { type Bench, type Figure, figureOf, type Scenario } from './support/scenario.ts';

const promptBytes = 300;
const batchSize = 5_000;
const pollMs = 10;

interface Case {
  jobs: number;
  /** How long a job takes. */
  jobMs: number;
  slots: number;
  /** To what the slots need if none is ever idle. */
  ratioMax: number;
}

const cases: readonly Case[] = [
  { jobs: 20_000, jobMs: 100, slots: 200, ratioMax: 1.03 },
  { jobs: 4_000, jobMs: 500, slots: 200, ratioMax: 1.05 },
  { jobs: 20_000, jobMs: 50, slots: 500, ratioMax: 1.3 },
];

/** How long jobs take that wait for a worker of many slots, to what they would take if no slot was ever idle. */
export const makespan: Scenario = {
  name: 'makespan',
  about:
    'a queue of jobs that take 50 to 500 ms, on one worker of 200 and 500 slots, against slots that are never idle',
  async run(bench) {
    const figures: Figure[] = [];
    for (const one of cases) figures.push(...(await measured(bench, bench.quick ? quick(one) : one)));
    return figures;
  },
};

function quick({ jobs, ...rest }: Case): Case {
  return { ...rest, jobs: jobs / 10, ratioMax: 10 };
}

async function measured(bench: Bench, { jobs, jobMs, slots, ratioMax }: Case): Promise<Figure[]> {
  const coordinator = await startCoordinator(bench, await seedFolder(bench, {}));
  const client = connect(coordinator.url);
  bench.defer(() => client.destroy());
  const job = {
    provider: served,
    prompt: promptOf('ticket', promptBytes),
    params: { echo_delay_ms: jobMs, echo_output: 'done' },
  };
  for (let made = 0; made < jobs; made += batchSize) {
    const batch = Array.from({ length: Math.min(batchSize, jobs - made) }, () => job);
    await post(client, '/api/jobs/batch', JSON.stringify({ jobs: batch }), 201);
  }
  await coordinator.measure();
  const flags = ['--provider', served, '--concurrency', String(slots), '--coordinator', coordinator.url];
  const worker = spawnSvc(bench, ['worker', ...flags], 'worker');
  const ms = await tookMs(client, jobs, jobMs);
  const { mainMs } = await coordinator.report();
  worker.process.kill('SIGTERM');
  await coordinator.stop();
  const ideal = (jobs * jobMs) / slots;
  return [
    {
      name: `${jobs} jobs of ${jobMs} ms on ${slots} slots`,
      value: ms / 1000,
      unit: 's',
      ratio: ms / ideal,
      against: 'slots that are never idle',
      target: { of: 'ratio', is: 'at most', bound: ratioMax },
    },
    figureOf('  share of the main thread', mainMs / ms, ''),
  ];
}

/** From the start of the first job to the end of the last one. */
async function tookMs(client: HttpClient, jobs: number, jobMs: number): Promise<number> {
  let startedAt: number | null = null;
  for (;;) {
    const completed = await completedJobs(client);
    const at = performance.now();
    if (completed > 0) startedAt ??= at - jobMs;
    if (startedAt !== null && completed >= jobs) return at - startedAt;
    await sleep(pollMs);
  }
}
