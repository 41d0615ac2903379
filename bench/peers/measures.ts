import { performance } from 'node:perf_hooks';
import { bodiesOf, bodyOf, promptOf, served } from '../support/jobs.ts';
import { dispatchLoad, steadyLoad } from '../support/load.ts';
import { now, type Worked } from '../support/messages.ts';
import type { ServerProcess } from '../support/processes.ts';
import { percentile } from '../support/statistics.ts';
import type { Station, StationWorker } from './station.ts';

const promptBytes = 300;
const pickUpPerSecond = 100;
const pickUpConnections = 16;
/** After the last answer, how long a worker may take to have every job, ms. */
const pickUpMsMax = 10_000;
const connections = 64;

export interface Dispatched {
  perSecond: number;
  latenciesMs: number[];
  /** Processor time of the app's main thread for one request, µs. */
  mainUs: number;
}

/** POST /api/jobs as fast as it is answered. */
export async function dispatched(
  app: ServerProcess,
  until: { ms?: number; requests?: number },
): Promise<Dispatched> {
  const bodies = bodiesOf(served, promptBytes);
  await app.measure();
  const { requests, elapsedMs, latenciesMs } = await dispatchLoad(
    { url: app.url, connections, bodies },
    until,
  );
  const { mainMs } = await app.report();
  return { perSecond: (requests * 1000) / elapsedMs, latenciesMs, mainUs: (mainMs * 1000) / requests };
}

/** Jobs a second that a worker has done between the first one and the last. */
export function rateOf({ jobs, firstAt, lastAt }: Worked): number {
  return (jobs * 1000) / (lastAt - firstAt);
}

/** A new worker takes `jobs` of those that wait. */
export async function drained(station: Station, concurrency: number, jobs: number): Promise<number> {
  const worker = await station.startWorker(concurrency);
  try {
    return rateOf(await (await worker.work(jobs)).worked);
  } finally {
    await worker.stop();
  }
}

/** Jobs a second from the first POST to the last job done, while a worker takes them as they come. */
export async function endToEnd(station: Station, worker: StationWorker, jobs: number): Promise<number> {
  const { worked } = await worker.work(jobs);
  const startedAt = now();
  await dispatched(station.app, { requests: jobs });
  const { lastAt } = await worked;
  return (jobs * 1000) / (lastAt - startedAt);
}

/** From each POST to the start of its job at an idle worker, at a steady rate, ms. */
export async function pickedUp(station: Station, ms: number): Promise<number[]> {
  const jobs = Math.round((pickUpPerSecond * ms) / 1000);
  const bodies = Array.from({ length: jobs }, (_, index) =>
    bodyOf(served, promptOf(`ticket ${index}`, promptBytes), String(index)),
  );
  const sentAt: number[] = [];
  const latenciesMs: number[] = [];
  const all = Promise.withResolvers<void>();
  const stop = await station.pickUp((input) => {
    latenciesMs.push(performance.now() - (sentAt[Number(input)] ?? Number.NaN));
    if (latenciesMs.length === jobs) all.resolve();
  });
  const load = { url: station.app.url, connections: pickUpConnections, bodies };
  await steadyLoad(load, { perSecond: pickUpPerSecond, ms }, (index) => {
    sentAt[index] = performance.now();
  });
  const late = setTimeout(() => {
    all.reject(new Error(`the worker got ${latenciesMs.length} of ${jobs} jobs`));
  }, pickUpMsMax);
  await all.promise;
  clearTimeout(late);
  await stop();
  return latenciesMs;
}

/** What a job costs from dispatch to done with as many pending as there are, µs: its dispatch, then its work. */
export async function costOfJob(station: Station, concurrency: number, jobs: number): Promise<number> {
  const { perSecond } = await dispatched(station.app, { requests: jobs });
  return 1e6 / perSecond + 1e6 / (await drained(station, concurrency, jobs));
}

export const p50 = (values: readonly number[]): number => percentile(values, 0.5);
export const p99 = (values: readonly number[]): number => percentile(values, 0.99);
