import { performance } from 'node:perf_hooks';
import { bodyOf, promptOf, served } from './support/jobs.ts';
import { connect, dispatchLoad, type LoadResult, post, steadyLoad } from './support/load.ts';
import { seedFolder, startCoordinator, startEcho } from './support/processes.ts';
import { type Bench, type Figure, figureOf, type Scenario } from './support/scenario.ts';
import { median, percentile } from './support/statistics.ts';
import { WorkerClient } from './support/workerClient.ts';

const perSecond = 100;
const connections = 16;
const slots = 200;
const promptBytes = 300;
const assignMsMax = 10_000;
const pickUpMsMax = { p50: 2, p99: 15 };
const cancelP99MsMax = 20;

/** How soon an idle worker has a new job, and a running one knows that it is cancelled. */
export const pickup: Scenario = {
  name: 'pickup',
  about: `from POST to the worker's assign frame at ${perSecond} jobs/s, and from cancel to its abort frame`,
  async run(bench) {
    const ms = bench.quick ? 3_000 : 20_000;
    const cancels = bench.quick ? 50 : 500;
    const echo = await startEcho(bench);
    const coordinator = await startCoordinator(bench, await seedFolder(bench, {}));
    // Both compile their hot paths first; a busy service has done so.
    const warmUp = bench.quick ? 500 : 10_000;
    const bodies = numbered(warmUp);
    await dispatchLoad({ url: echo.url, connections, bodies }, { requests: warmUp });
    const warmWorker = await WorkerClient.connect(bench, coordinator.url, slots);
    const warm = warmWorker.work(warmUp);
    await dispatchLoad({ url: coordinator.url, connections, bodies }, { requests: warmUp });
    await warm;
    warmWorker.close();
    const peer = await steadyLoad({ url: echo.url, connections, bodies }, { perSecond, ms });
    const picked = await measurePickup(bench, coordinator.url, ms);
    const cancelled = await measureCancels(bench, coordinator.url, cancels);
    return figures(peer, picked, cancelled);
  },
};

function numbered(count: number): string[] {
  return Array.from({ length: count }, (_, index) =>
    bodyOf(served, promptOf(`ticket ${index}`, promptBytes), String(index)),
  );
}

interface Picked {
  answers: LoadResult;
  pickupsMs: number[];
}

/** From POST to the assign frame at a worker that answers at once, for `ms` at a steady rate. */
export async function measurePickup(bench: Bench, url: string, ms: number): Promise<Picked> {
  const sentAt: number[] = [];
  const pickupsMs: number[] = [];
  const onAssign = ({ input }: { input: string | null }, at: number) => {
    pickupsMs.push(at - (sentAt[Number(input)] ?? Number.NaN));
  };
  const worker = await WorkerClient.connect(bench, url, slots, { onAssign });
  const bodies = numbered((perSecond * ms) / 1000);
  const worked = worker.work(bodies.length);
  const answers = await steadyLoad({ url, connections, bodies }, { perSecond, ms }, (index) => {
    sentAt[index] = performance.now();
  });
  await worked;
  worker.close();
  return { answers, pickupsMs };
}

/** One after the other: the job is running when it is cancelled, and nothing else happens. */
export async function measureCancels(bench: Bench, url: string, count: number): Promise<number[]> {
  const client = connect(url);
  bench.defer(() => client.destroy());
  let onAssigned: (jobId: string) => void = () => {};
  let onAborted: (at: number) => void = () => {};
  await WorkerClient.connect(bench, url, slots, {
    onAssign: ({ job_id: jobId }) => onAssigned(jobId),
    onAbort: (_, at) => onAborted(at),
  });
  const timesMs: number[] = [];
  for (const body of numbered(count)) {
    const assigned = within(new Promise<string>((resolve) => (onAssigned = resolve)));
    await post(client, '/api/jobs', body, 201);
    const jobId = await assigned;
    const aborted = within(new Promise<number>((resolve) => (onAborted = resolve)));
    const startedAt = performance.now();
    await post(client, `/api/jobs/${jobId}/cancel`, '', 200);
    timesMs.push((await aborted) - startedAt);
  }
  return timesMs;
}

async function within<T>(promise: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error('the worker was assigned nothing')), assignMsMax);
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

function figures(peer: LoadResult, { answers, pickupsMs }: Picked, cancelledMs: readonly number[]): Figure[] {
  const compared = (name: string, of: readonly number[], share: number, bound?: number): Figure => {
    const value = percentile(of, share);
    const ratio = value / percentile(peer.latenciesMs, share);
    const target = bound === undefined ? null : ({ of: 'value', is: 'at most', bound } as const);
    return { name, value, unit: 'ms', ratio, against: 'echo app', target };
  };
  return [
    compared('pick-up by an idle worker p50', pickupsMs, 0.5, pickUpMsMax.p50),
    compared('pick-up by an idle worker p99', pickupsMs, 0.99, pickUpMsMax.p99),
    compared('answer of the same dispatch p50', answers.latenciesMs, 0.5),
    figureOf('answer of the echo app p50', median(peer.latenciesMs), 'ms'),
    compared('cancel to abort frame p50', cancelledMs, 0.5),
    compared('cancel to abort frame p99', cancelledMs, 0.99, cancelP99MsMax),
  ];
}
