import { watch } from 'node:fs';
import { join } from 'node:path';
import { bodiesOf, served } from './support/jobs.ts';
import { steadyLoad } from './support/load.ts';
import type { Sample } from './support/messages.ts';
import { seedFolder, startCoordinator } from './support/processes.ts';
import { type Bench, type Figure, figureOf, type Scenario } from './support/scenario.ts';
import { percentile } from './support/statistics.ts';
import { WorkerClient } from './support/workerClient.ts';

const stallMsMax = 50;
const connections = 32;
const slots = 200;
const perSecond = 500;
/** Results are allowed in small portions, so that they come as steadily as the dispatches. */
const portionMs = 20;
/** 8 MB of journal a second at 500 jobs a second: a checkpoint about every 4 s. */
const largePromptBytes = 16_000;
const smallPromptBytes = 300;
const manifest = 'coordinator.json';

/** Whether checkpoints of a large store are felt: the delay of the coordinator's event loop while they run. */
export const stall: Scenario = {
  name: 'stall',
  about: `event-loop delay at ${perSecond} dispatches and results a second while checkpoints run, 100,000 jobs stored`,
  async run(bench) {
    const jobs = bench.quick ? 10_000 : 100_000;
    const ms = bench.quick ? 6_000 : 30_000;
    const dataDir = await seedFolder(bench, { pending: { [served]: jobs }, promptBytes: smallPromptBytes });
    const coordinator = await startCoordinator(bench, dataDir);
    const worker = await WorkerClient.connect(bench, coordinator.url, slots);
    const checkpoints = countCheckpoints(bench, dataDir);
    const phase = async (promptBytes: number, phaseMs: number) => {
      const portions = setInterval(() => worker.allow((perSecond * portionMs) / 1000), portionMs);
      try {
        const load = { url: coordinator.url, connections, bodies: bodiesOf(served, promptBytes) };
        await steadyLoad(load, { perSecond, ms: 2_000 });
        await coordinator.measure();
        const before = checkpoints();
        const { latenciesMs } = await steadyLoad(load, { perSecond, ms: phaseMs });
        return { sample: await coordinator.report(), latenciesMs, checkpoints: checkpoints() - before };
      } finally {
        clearInterval(portions);
      }
    };
    const calm = await phase(smallPromptBytes, ms / 3);
    const busy = await phase(largePromptBytes, ms);
    if (busy.checkpoints === 0) throw new Error('no checkpoint was made in the time that was measured');
    return figures(calm.sample, busy.sample, calm.latenciesMs, busy.latenciesMs, busy.checkpoints);
  },
};

function figures(
  calm: Sample,
  busy: Sample,
  calmLatencies: readonly number[],
  busyLatencies: readonly number[],
  checkpoints: number,
): Figure[] {
  const compared = (name: string, value: number, peer: number): Figure => ({
    name,
    value,
    unit: 'ms',
    ratio: value / peer,
    against: 'small prompts',
    target: null,
  });
  return [
    {
      ...compared('event-loop delay p99.9, checkpoints', busy.delayMs.p999, calm.delayMs.p999),
      target: { of: 'value', is: 'at most', bound: stallMsMax },
    },
    compared('event-loop delay p99, checkpoints', busy.delayMs.p99, calm.delayMs.p99),
    compared('event-loop delay longest, checkpoints', busy.delayMs.max, calm.delayMs.max),
    compared('dispatch p99, checkpoints', percentile(busyLatencies, 0.99), percentile(calmLatencies, 0.99)),
    figureOf('checkpoints in that time', checkpoints, ''),
  ];
}

/** @returns how many checkpoints have been finished since: each replaces the manifest once. */
function countCheckpoints(bench: Bench, dataDir: string): () => number {
  let count = 0;
  const watcher = watch(dataDir, (event, name) => {
    if (event === 'rename' && name === manifest) count += 1;
  });
  watcher.on('error', (error) => bench.say(`${join(dataDir, manifest)} cannot be watched: ${error.message}`));
  bench.defer(() => watcher.close());
  return () => count;
}
