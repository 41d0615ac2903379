import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { bodiesOf, served } from './support/jobs.ts';
import { connect, post } from './support/load.ts';
import { type ServerProcess, seedFolder, startCoordinator } from './support/processes.ts';
import { quietRounds } from './support/quiet.ts';
import type { Bench, Figure, Scenario } from './support/scenario.ts';
import { median } from './support/statistics.ts';
import { WorkerClient } from './support/workerClient.ts';

/** Each worker has frames and sockets of its own, so a job with many of them cannot cost the same. */
const ratioMax = 2;
const pollMs = 5;
const roundMsMax = 120_000;

interface Case {
  coordinator: ServerProcess;
  workers: readonly WorkerClient[];
}

/** Whether a job costs more when many workers could take it: a choice that looks at all of them shows here. */
export const fleet: Scenario = {
  name: 'fleet',
  about: 'main thread’s time for a job with 500 workers of one slot, against one worker of 500 slots',
  async run(bench) {
    const slots = bench.quick ? 50 : 500;
    const jobs = bench.quick ? 1_000 : 10_000;
    const one = await open(bench, 1, slots);
    const many = await open(bench, slots, 1);
    const turns = async () => ({ one: await round(one, jobs), many: await round(many, jobs) });
    await turns();
    const kept = await quietRounds(bench, bench.quick ? 1 : 5, async () => {
      const measured = await turns();
      return { measured, cpuMs: measured.one.cpuMs + measured.many.cpuMs };
    });
    const base = median(kept.map((costs) => costs.one.mainUs));
    const value = median(kept.map((costs) => costs.many.mainUs));
    const figure = { unit: 'µs', target: null };
    return [
      { ...figure, name: 'a job with one worker', value: base, ratio: null, against: '' },
      {
        ...figure,
        name: `a job with ${slots} workers`,
        value,
        ratio: value / base,
        against: 'one worker',
        target: { of: 'ratio', is: 'at most', bound: ratioMax },
      },
    ] satisfies Figure[];
  },
};

async function open(bench: Bench, count: number, slots: number): Promise<Case> {
  const coordinator = await startCoordinator(bench, await seedFolder(bench, {}));
  const workers: WorkerClient[] = [];
  for (let index = 0; index < count; index++) {
    workers.push(await WorkerClient.connect(bench, coordinator.url, slots));
  }
  return { coordinator, workers };
}

/** A batch of jobs, all of them done. @returns processor time of the coordinator: of its main thread for a job, µs; in all, ms. */
async function round(
  { coordinator, workers }: Case,
  jobs: number,
): Promise<{ mainUs: number; cpuMs: number }> {
  const bodies = bodiesOf(served, 300);
  const client = connect(coordinator.url);
  const batch = Array.from({ length: jobs }, (_, index) => bodies[index % bodies.length]);
  const acked = () => workers.reduce((sum, worker) => sum + worker.acked, 0);
  const ackedMin = acked() + jobs;
  for (const worker of workers) worker.allow(Number.POSITIVE_INFINITY);
  await coordinator.measure();
  await post(client, '/api/jobs/batch', `{"jobs":[${batch.join()}]}`, 201);
  const endsAt = performance.now() + roundMsMax;
  while (acked() < ackedMin) {
    if (performance.now() > endsAt) throw new Error(`${ackedMin - acked()} of ${jobs} jobs are not done`);
    await sleep(pollMs);
  }
  const { mainMs, cpuMs } = await coordinator.report();
  client.destroy();
  return { mainUs: (mainMs * 1000) / jobs, cpuMs };
}
