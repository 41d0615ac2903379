import { bodiesOf, served } from './support/jobs.ts';
import { connect, dispatchLoad, post, rateOf } from './support/load.ts';
import { type ServerProcess, seedFolder, startCoordinator } from './support/processes.ts';
import { type Bench, type Figure, figureOf, type Scenario } from './support/scenario.ts';
import { median } from './support/statistics.ts';

const jobs = 10_000;
const promptBytes = 300;
const connections = 64;
/** Of what single dispatches make, and how long nobody else may have to wait, ms. */
const ratioMin = 5;
const stallMsMax = 50;

/** POST /api/jobs/batch against as many single dispatches. */
export const batch: Scenario = {
  name: 'batch',
  about: `POST /api/jobs/batch with ${jobs} jobs, against single dispatches at ${connections} connections`,
  async run(bench) {
    const coordinator = await startCoordinator(bench, await seedFolder(bench, {}));
    const bodies = bodiesOf(served, promptBytes);
    const body = `{"jobs":[${Array.from({ length: jobs }, (_, index) => bodies[index % bodies.length]).join()}]}`;
    const singles: Round[] = [];
    const batches: Round[] = [];
    await single(coordinator, bodies, 1_000);
    await batched(coordinator, body, 2);
    const rounds = bench.quick ? 2 : 5;
    for (let round = 0; round < rounds; round++) {
      singles.push(await single(coordinator, bodies, bench.quick ? 1_000 : 3_000));
      batches.push(await batched(coordinator, body, bench.quick ? 1 : 3));
    }
    return figures(bench, singles, batches);
  },
};

interface Round {
  perSecond: number;
  /** Longest delay of the event loop. */
  delayMs: number;
  /** Processor time of the main thread for one job, µs. */
  mainUs: number;
}

async function single(coordinator: ServerProcess, bodies: readonly string[], ms: number): Promise<Round> {
  await coordinator.measure();
  const result = await dispatchLoad({ url: coordinator.url, connections, bodies }, { ms });
  const { delayMs, mainMs } = await coordinator.report();
  return { perSecond: rateOf(result), delayMs: delayMs.max, mainUs: (mainMs * 1000) / result.requests };
}

/** One batch after the other. */
async function batched(coordinator: ServerProcess, body: string, count: number): Promise<Round> {
  const client = connect(coordinator.url);
  try {
    await coordinator.measure();
    const startedAt = performance.now();
    for (let sent = 0; sent < count; sent++) await post(client, '/api/jobs/batch', body, 201);
    const elapsedMs = performance.now() - startedAt;
    const { delayMs, mainMs } = await coordinator.report();
    const taken = count * jobs;
    return { perSecond: (taken * 1000) / elapsedMs, delayMs: delayMs.max, mainUs: (mainMs * 1000) / taken };
  } finally {
    client.destroy();
  }
}

function figures(bench: Bench, singles: readonly Round[], batches: readonly Round[]): Figure[] {
  const peer = median(singles.map(({ perSecond }) => perSecond));
  const mainUs = median(batches.map((round) => round.mainUs));
  const value = median(batches.map(({ perSecond }) => perSecond));
  bench.say(`batches ${batches.map(({ perSecond }) => perSecond.toFixed(0)).join(' ')} jobs/s`);
  return [
    {
      name: `durable batch of ${jobs}, ${promptBytes} B prompt`,
      value,
      unit: 'jobs/s',
      ratio: value / peer,
      against: 'single dispatch',
      target: { of: 'ratio', is: 'at least', bound: ratioMin },
    },
    figureOf('  single dispatch', peer, 'jobs/s'),
    {
      name: '  processor time of the main thread',
      value: mainUs,
      unit: 'µs',
      ratio: mainUs / median(singles.map((round) => round.mainUs)),
      against: 'single dispatch',
      target: null,
    },
    {
      name: '  longest delay of the event loop, median of rounds',
      value: median(batches.map(({ delayMs }) => delayMs)),
      unit: 'ms',
      ratio: null,
      against: '',
      target: { of: 'value', is: 'at most', bound: stallMsMax },
    },
  ];
}
