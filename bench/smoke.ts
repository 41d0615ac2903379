import { measureCancels, measurePickup } from './pickup.ts';
import { bodiesOf, served } from './support/jobs.ts';
import { dispatchLoad, type Load, rateOf } from './support/load.ts';
import { seedFolder, startCoordinator, startEcho } from './support/processes.ts';
import { type Figure, type Scenario, told } from './support/scenario.ts';
import { percentile } from './support/statistics.ts';
import { WorkerClient } from './support/workerClient.ts';

const requests = 500;
const connections = 16;
const stored = 500;
const slots = 100;
const steadyMs = 500;
const cancels = 10;
/** Bounds that only what is broken misses, also on a machine that is busy with other tests. */
const perSecondMin = 10;
const msMax = 10_000;

/** The parts that the other scenarios are made of, in seconds, so that `npm run check` tells when they have rotted. */
export const smoke: Scenario = {
  name: 'smoke',
  about:
    'that the bench works: small loads on the echo app and on a coordinator, a worker, pick-up and cancel',
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
    const cancelsMs = await measureCancels(bench, coordinator.url, cancels);
    return [
      told('the echo app', limit, 'requests/s'),
      bounded('dispatch', perSecond, 'jobs/s', 'at least', perSecondMin),
      bounded('work', worked, 'jobs/s', 'at least', perSecondMin),
      told('processor time of the main thread for all of it', mainMs, 'ms'),
      bounded('pick-up p99', percentile(pickupsMs, 0.99), 'ms', 'at most', msMax),
      bounded('cancel to abort frame p99', percentile(cancelsMs, 0.99), 'ms', 'at most', msMax),
    ];
  },
};

function bounded(
  name: string,
  value: number,
  unit: string,
  is: 'at least' | 'at most',
  bound: number,
): Figure {
  return { ...told(name, value, unit), target: { of: 'value', is, bound } };
}
