import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { memoryOf, peakMemoryOf } from './peers/processTree.ts';
import { bodiesOf, served } from './support/jobs.ts';
import { dispatchLoad, rateOf } from './support/load.ts';
import { seedFolder, startCoordinator } from './support/processes.ts';
import { type Figure, figureOf, type Scenario, temporaryFolder } from './support/scenario.ts';
import { WorkerClient } from './support/workerClient.ts';

const gibibyte = 1024 ** 3;
const gibibytesMax = 2.5;
const promptBytes = 1_000;
const slots = 200;
const worked = 10_000;
const settleMs = 2_000;

/** Whether a very long queue fits into the memory of an ordinary machine, and works. */
export const million: Scenario = {
  name: 'million',
  about: 'memory and start of a coordinator with 1,000,000 pending jobs of 1 KB',
  async run(bench) {
    const jobs = bench.quick ? 20_000 : 1_000_000;
    const dataDir = await seedFolder(bench, { pending: { [served]: jobs }, promptBytes });
    const configFile = join(temporaryFolder(bench), 'svc.config.json');
    writeFileSync(configFile, JSON.stringify({ jobs: { max_pending: jobs + worked } }));
    const startedAt = performance.now();
    const coordinator = await startCoordinator(bench, dataDir, configFile);
    const startMs = performance.now() - startedAt;
    const afterStart = memoryOf(coordinator.pid);
    const bodies = bodiesOf(served, promptBytes);
    const load = { url: coordinator.url, connections: 64, bodies };
    const dispatched = await dispatchLoad(load, { requests: worked });
    const worker = await WorkerClient.connect(bench, coordinator.url, slots);
    const drainStartedAt = performance.now();
    await worker.work(worked);
    const drainMs = performance.now() - drainStartedAt;
    worker.close();
    await sleep(settleMs);
    const gibibytes = (bytes: number) => bytes / gibibyte;
    const most: Figure = {
      ...figureOf(
        `most memory with ${jobs} pending jobs of 1 KB`,
        gibibytes(peakMemoryOf(coordinator.pid)),
        'GiB',
      ),
      target: { of: 'value', is: 'at most', bound: gibibytesMax },
    };
    return [
      most,
      figureOf('  after the start', gibibytes(afterStart), 'GiB'),
      figureOf(`  after ${worked} dispatches and results`, gibibytes(memoryOf(coordinator.pid)), 'GiB'),
      figureOf('  from spawn to ready', startMs / 1000, 's'),
      figureOf('  dispatch', rateOf(dispatched), 'jobs/s'),
      figureOf('  drain by a worker that answers at once', (worked * 1000) / drainMs, 'jobs/s'),
    ];
  },
};
