import { bodiesOf, served, unserved } from './support/jobs.ts';
import { dispatchLoad } from './support/load.ts';
import { type ServerProcess, seedFolder, startCoordinator } from './support/processes.ts';
import { type Bench, type Figure, type Scenario, told } from './support/scenario.ts';
import { median } from './support/statistics.ts';
import { WorkerClient } from './support/workerClient.ts';

const connections = 64;
const slots = 200;
const ratioMax = 1.2;

/** What a round has cost a job, µs. */
interface Cost {
  dispatch: number;
  drain: number;
  /** Processor time of the coordinator's main thread, in both. */
  main: number;
}

interface Case {
  name: string;
  coordinator: ServerProcess;
  worker: WorkerClient;
  costs: Cost[];
}

/** Whether a job costs more when very many wait: an index that is not one shows here. */
export const backlog: Scenario = {
  name: 'backlog',
  about: 'cost of a job from dispatch to result with 100,000 pending, against 1,000 pending',
  async run(bench) {
    const few = 1_000;
    const many = bench.quick ? 10_000 : 100_000;
    const jobs = bench.quick ? 1_000 : 5_000;
    const rounds = bench.quick ? 2 : 7;
    const base = await open(bench, 'few', { [served]: few });
    const other = await open(bench, 'in another lane', { [served]: few, [unserved]: many });
    const same = await open(bench, 'in the same lane', { [served]: many });
    const cases = [base, other, same];
    for (const each of cases) await round(each, jobs);
    for (const each of cases) each.costs = [];
    for (let count = 0; count < rounds; count++) for (const each of cases) await round(each, jobs);
    for (const { name, costs } of cases) {
      bench.say(`${name}: ${costs.map((cost) => totalOf(cost).toFixed(0)).join(' ')} µs a job`);
    }
    return [
      told(`a job with ${few} pending`, median(base.costs.map(totalOf)), 'µs'),
      told('  of it dispatch', median(base.costs.map(({ dispatch }) => dispatch)), 'µs'),
      told('  of it assign to ack', median(base.costs.map(({ drain }) => drain)), 'µs'),
      told('  processor time of the main thread', median(base.costs.map(({ main }) => main)), 'µs'),
      ...[other, same].flatMap((each) => compare(each, base, many)),
    ];
  },
};

async function open(bench: Bench, name: string, pending: Record<string, number>): Promise<Case> {
  const coordinator = await startCoordinator(bench, await seedFolder(bench, { pending }));
  const worker = await WorkerClient.connect(bench, coordinator.url, slots);
  return { name, coordinator, worker, costs: [] };
}

/** First the dispatches, then as many results, so that the backlog is the same before each round. */
async function round({ coordinator, worker, costs }: Case, jobs: number): Promise<void> {
  const bodies = bodiesOf(served, 300);
  await coordinator.measure();
  const dispatched = await dispatchLoad({ url: coordinator.url, connections, bodies }, { requests: jobs });
  const startedAt = performance.now();
  await worker.work(jobs);
  const drainMs = performance.now() - startedAt;
  const { mainMs } = await coordinator.report();
  const perJob = (ms: number) => (ms * 1000) / jobs;
  costs.push({ dispatch: perJob(dispatched.elapsedMs), drain: perJob(drainMs), main: perJob(mainMs) });
}

function totalOf({ dispatch, drain }: Cost): number {
  return dispatch + drain;
}

function compare(large: Case, base: Case, pending: number): Figure[] {
  const figure = (name: string, of: (cost: Cost) => number): Figure => {
    const value = median(large.costs.map(of));
    const ratio = value / median(base.costs.map(of));
    return { name, value, unit: 'µs', ratio, against: 'few pending', target: null };
  };
  return [
    {
      ...figure(`a job with ${pending} pending ${large.name}`, totalOf),
      target: { of: 'ratio', is: 'at most', bound: ratioMax },
    },
    figure('  of it dispatch', ({ dispatch }) => dispatch),
    figure('  of it assign to ack', ({ drain }) => drain),
    figure('  processor time of the main thread', ({ main }) => main),
  ];
}
