import { performance } from 'node:perf_hooks';
import { bodiesOf, served, unserved } from './support/jobs.ts';
import { dispatchLoad } from './support/load.ts';
import { type ServerProcess, seedFolder, startCoordinator } from './support/processes.ts';
import { quietRounds } from './support/quiet.ts';
import { type Bench, type Figure, figureOf, type Scenario } from './support/scenario.ts';
import { median } from './support/statistics.ts';
import { WorkerClient } from './support/workerClient.ts';

const connections = 64;
const slots = 200;
const ratioMax = 1.2;

/** What a round has cost a job, µs. */
interface Cost {
  dispatch: number;
  drain: number;
  total: number;
  /** Processor time of the coordinator's main thread, in both. */
  main: number;
  /** Processor time of the coordinator in the whole round, ms. */
  cpuMs: number;
}

interface Case {
  coordinator: ServerProcess;
  worker: WorkerClient;
}

/** Whether a job costs more when very many wait: an index that is not one shows here. */
export const backlog: Scenario = {
  name: 'backlog',
  about: 'cost of a job from dispatch to result with 100,000 pending, against 1,000 pending',
  async run(bench) {
    const few = 1_000;
    const many = bench.quick ? 10_000 : 100_000;
    const jobs = bench.quick ? 1_000 : 5_000;
    const base = await open(bench, { [served]: few });
    const other = await open(bench, { [served]: few, [unserved]: many });
    const same = await open(bench, { [served]: many });
    const turns = async () => ({
      base: await round(base, jobs),
      other: await round(other, jobs),
      same: await round(same, jobs),
    });
    await turns();
    const kept = await quietRounds(bench, bench.quick ? 2 : 7, async () => {
      const measured = await turns();
      return { measured, cpuMs: measured.base.cpuMs + measured.other.cpuMs + measured.same.cpuMs };
    });
    const baseCosts = kept.map((costs) => costs.base);
    const baseFigure = (name: string, of: (cost: Cost) => number) =>
      figureOf(name, median(baseCosts.map(of)), 'µs');
    return [
      baseFigure(`a job with ${few} pending`, ({ total }) => total),
      baseFigure('  of it dispatch', ({ dispatch }) => dispatch),
      baseFigure('  of it assign to ack', ({ drain }) => drain),
      baseFigure('  processor time of the main thread', ({ main }) => main),
      ...compare(
        `${many} pending in another lane`,
        kept.map((costs) => costs.other),
        baseCosts,
      ),
      ...compare(
        `${many} pending in the same lane`,
        kept.map((costs) => costs.same),
        baseCosts,
      ),
    ];
  },
};

async function open(bench: Bench, pending: Record<string, number>): Promise<Case> {
  const coordinator = await startCoordinator(bench, await seedFolder(bench, { pending }));
  return { coordinator, worker: await WorkerClient.connect(bench, coordinator.url, slots) };
}

/** First the dispatches, then as many results, so that the backlog is the same before each round. */
async function round({ coordinator, worker }: Case, jobs: number): Promise<Cost> {
  const bodies = bodiesOf(served, 300);
  await coordinator.measure();
  const dispatched = await dispatchLoad({ url: coordinator.url, connections, bodies }, { requests: jobs });
  const startedAt = performance.now();
  await worker.work(jobs);
  const drainMs = performance.now() - startedAt;
  const { mainMs, cpuMs } = await coordinator.report();
  const perJob = (ms: number) => (ms * 1000) / jobs;
  const [dispatch, drain] = [perJob(dispatched.elapsedMs), perJob(drainMs)];
  return { dispatch, drain, total: dispatch + drain, main: perJob(mainMs), cpuMs };
}

function compare(name: string, costs: readonly Cost[], base: readonly Cost[]): Figure[] {
  const figure = (label: string, of: (cost: Cost) => number): Figure => {
    const value = median(costs.map(of));
    const ratio = value / median(base.map(of));
    return { name: label, value, unit: 'µs', ratio, against: 'few pending', target: null };
  };
  return [
    {
      ...figure(`a job with ${name}`, ({ total }) => total),
      target: { of: 'ratio', is: 'at most', bound: ratioMax },
    },
    figure('  of it dispatch', ({ dispatch }) => dispatch),
    figure('  of it assign to ack', ({ drain }) => drain),
    figure('  processor time of the main thread', ({ main }) => main),
  ];
}
