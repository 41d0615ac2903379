import { contenders } from './bulk/contenders.ts';
import { measureBulk } from './bulk.ts';
import type { Setting } from './gateway/turn.ts';
import { measureGateway } from './gateway.ts';
import { measureCancels, measurePickup } from './pickup.ts';
import { measureFirstText } from './streams.ts';
import { bodiesOf, served } from './support/jobs.ts';
import { dispatchLoad, type Load, rateOf } from './support/load.ts';
import { seedFolder, startCoordinator, startEcho } from './support/processes.ts';
import { alone, type Bench, type Figure, figureOf, type Scenario } from './support/scenario.ts';
import { percentile } from './support/statistics.ts';
import { WorkerClient } from './support/workerClient.ts';

const requests = 500;
const connections = 16;
const stored = 500;
const slots = 100;
const steadyMs = 500;
const cancels = 10;
const streams = 10;
const calls: readonly Setting[] = [
  { kind: 'whole', atOnce: 5, callsEach: 1, timing: { waitMs: 100, tokens: 5, paceMs: 0 } },
  { kind: 'stream', atOnce: 5, callsEach: 1, timing: { waitMs: 100, tokens: 5, paceMs: 20 } },
];
const prompts = 20;
/** Fewer than the prompts at once, so that some are refused. */
const limit = { kind: 'concurrency', atOnce: 16 } as const;
/** Bounds that only what is broken misses, also on a machine that is busy with other tests. */
const perSecondMin = 10;
const msMax = 10_000;

/** The parts that the other scenarios are made of, in seconds, so that `npm run check` shows when they no longer work. */
export const smoke: Scenario = {
  name: 'smoke',
  about:
    'that the bench works: small loads on the echo app and on a coordinator, a worker, pick-up, cancel, streams, calls, prompts',
  isOptional: true,
  async run(bench) {
    const echo = await startEcho(bench);
    const coordinator = await startCoordinator(
      bench,
      await seedFolder(bench, { pending: { [served]: stored } }),
    );
    const load = ({ url }: { url: string }): Load => ({ url, connections, bodies: bodiesOf(served, 300) });
    await coordinator.measure();
    const limit = rateOf(await dispatchLoad(load(echo), { requests }));
    const perSecond = rateOf(await dispatchLoad(load(coordinator), { requests }));
    const worker = await WorkerClient.connect(bench, coordinator.url, slots);
    const startedAt = performance.now();
    await worker.work(stored + requests);
    const worked = ((stored + requests) * 1000) / (performance.now() - startedAt);
    worker.close();
    const { mainMs } = await coordinator.report();
    const { pickupsMs } = await measurePickup(bench, coordinator.url, steadyMs);
    const firstTextMs = await measureFirstText(bench, coordinator.url, streams);
    const cancelsMs = await measureCancels(bench, coordinator.url, cancels);
    // Both wait for a provider most of the time.
    const waits = await Promise.all([alone(bench, callFigures), alone(bench, bulkFigures)]);
    return [
      figureOf('the echo app', limit, 'requests/s'),
      bounded('dispatch', perSecond, 'jobs/s', 'at least', perSecondMin),
      bounded('work', worked, 'jobs/s', 'at least', perSecondMin),
      figureOf('processor time of the main thread for all of it', mainMs, 'ms'),
      bounded('pick-up p99', percentile(pickupsMs, 0.99), 'ms', 'at most', msMax),
      bounded('cancel to abort frame p99', percentile(cancelsMs, 0.99), 'ms', 'at most', msMax),
      bounded('first text of a stream of /v1 p99', percentile(firstTextMs, 0.99), 'ms', 'at most', msMax),
      ...waits.flat(),
    ];
  },
};

/** Without Portkey, whose package is not installed here. */
async function callFigures(bench: Bench): Promise<Figure[]> {
  const measured = await measureGateway({ ...bench, quick: true }, calls, false);
  return measured.flatMap(({ setting, turns }) =>
    [...turns].map(([name, { wholeMs }]) =>
      bounded(`a ${setting.kind} call, ${name}`, percentile(wholeMs, 0.99), 'ms', 'at most', msMax),
    ),
  );
}

/** Without BullMQ, which needs its package and Redis. */
async function bulkFigures(bench: Bench): Promise<Figure[]> {
  const chosen = contenders.filter(({ needsRedis, isTold }) => !needsRedis && !isTold);
  const { results } = await measureBulk(bench, { limit, prompts }, chosen, null);
  return results.flatMap(({ contender, run }) => [
    figureOf(`${prompts} prompts at a provider that limits, ${contender.name}`, run.ms, 'ms'),
    bounded('  answered', run.answered, '', 'at least', prompts),
  ]);
}

function bounded(
  name: string,
  value: number,
  unit: string,
  is: 'at least' | 'at most',
  bound: number,
): Figure {
  return { ...figureOf(name, value, unit), target: { of: 'value', is, bound } };
}
