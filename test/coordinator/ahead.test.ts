import test, { type ExecutionContext } from 'ava';
import type { WorkerHello } from '../../src/domain/worker.ts';
import { features } from '../../src/domain/workerProtocol.ts';
import { type Bundle, HandWorker, request, setup } from '../support/coordinator.ts';

const hello: WorkerHello = {
  name: 'w-1',
  kind: 'cloud',
  providers: ['echo'],
  models: {},
  tags: [],
  concurrency: 2,
  version: null,
  host: null,
  instance: null,
};

/** A worker of two slots that takes jobs beyond them. */
async function joined({ coordinator }: Bundle, more: Partial<WorkerHello> = {}): Promise<HandWorker> {
  const worker = new HandWorker(coordinator);
  await worker.connection.hello({ ...hello, ...more }, [], { features: [features.holdsAhead] });
  return worker;
}

async function dispatch({ coordinator }: Bundle, count: number): Promise<void> {
  for (let made = 0; made < count; made += 1) await coordinator.dispatch(request());
}

let fences = 0;

/** Resolves once a worker has been given so many jobs in all, and the passes that could have given it more have been made. */
async function given(t: ExecutionContext, bundle: Bundle, worker: HandWorker, count: number): Promise<void> {
  await worker.until(() => worker.jobs.length >= count);
  // A job for somebody else, which only a later pass can give away.
  fences += 1;
  const name = `fence-${fences}`;
  const fence = await bundle.worker({ name, providers: [name] });
  await bundle.coordinator.dispatch(request({ provider: name }));
  await fence.job();
  t.is(worker.jobs.length, count);
}

/** A worker that has completed a job in so many ms, and has its slots taken; eight jobs wait for it. */
async function busy(t: ExecutionContext, latencyMs: number, overrides: Parameters<typeof setup>[1] = {}) {
  const bundle = await setup(t, overrides);
  const worker = await joined(bundle);
  await dispatch(bundle, 1);
  await worker.complete(await worker.job(1), 'hello', undefined, { latencyMs });
  await dispatch(bundle, 10);
  return { bundle, worker, coordinator: bundle.coordinator };
}

test('a worker of short jobs gets as many beyond its slots as end while others are on their way', async (t) => {
  const { bundle, worker, coordinator } = await busy(t, 50);
  // One is done, two run, two wait.
  await given(t, bundle, worker, 1 + 2 + 2);
  const [waiting] = worker.jobs.slice(-1);
  const { job } = await coordinator.job(waiting?.job_id ?? '');
  t.is(job.state, 'running.active');
  t.regex(job.life.route.at(-1)?.why ?? '', /has a slot for it soon/);
  // Each that ends brings another one.
  await worker.complete(await worker.job(2), 'hello', undefined, { latencyMs: 50 });
  await given(t, bundle, worker, 6);
});

test('a worker of long jobs, and one of which nothing is known, gets no more than its slots', async (t) => {
  const { bundle, worker } = await busy(t, 3_000);
  await given(t, bundle, worker, 1 + 2);
  const unknown = await setup(t);
  const other = await joined(unknown);
  await dispatch(unknown, 6);
  await given(t, unknown, other, 2);
});

test('nobody holds jobs ahead while another worker has a free slot', async (t) => {
  const { bundle, worker } = await busy(t, 50);
  await given(t, bundle, worker, 5);
  const other = await joined(bundle, { name: 'w-2', concurrency: 20 });
  await dispatch(bundle, 5);
  // All that waited, and the five.
  await given(t, bundle, other, 6 + 5);
  await given(t, bundle, worker, 5);
});

test('what is held ahead counts for the limits of its provider', async (t) => {
  const rateLimit = { maxConcurrent: 3, retryAfterSeconds: 1, maxRetries: 3, retryAfterMaxSeconds: 300 };
  const breaker = { ratio: 0.5, minimum: 10, windowSeconds: 60, openSeconds: 30 };
  const provider = { rateLimit, baseUrl: null, apiKeyEnv: null, breaker, model: null };
  const { bundle, worker } = await busy(t, 50, { providers: { echo: provider } });
  await given(t, bundle, worker, 1 + 3);
});

test('a job that is given back goes to the front again, and nothing is held ahead until the next one has ended', async (t) => {
  const { bundle, worker, coordinator } = await busy(t, 50);
  await given(t, bundle, worker, 5);
  const last = worker.jobs.at(-1);
  if (last === undefined) throw new Error('there is none');
  await worker.connection.conclude({ jobId: last.job_id, lease: last.lease }, { type: 'release' });
  await given(t, bundle, worker, 5);
  const { job } = await coordinator.job(last.job_id);
  t.like(job, { state: 'pending.ready', life: { retryCount: 0, reapCount: 0 } });
  await worker.complete(await worker.job(2), 'hello', undefined, { latencyMs: 50 });
  t.is((await worker.job(6)).job_id, last.job_id);
});

test('the timeout of a job that is held ahead leaves it the second that it may wait', async (t) => {
  const bundle = await setup(t);
  const worker = await joined(bundle);
  await dispatch(bundle, 1);
  await worker.complete(await worker.job(1), 'hello', undefined, { latencyMs: 50 });
  for (let made = 0; made < 4; made += 1) await bundle.coordinator.dispatch(request({ timeoutSeconds: 5 }));
  await given(t, bundle, worker, 1 + 4);
  const [first, , held] = worker.jobs.slice(1);
  bundle.clock.advance(5_500);
  await bundle.jobAs(first?.job_id ?? '', 'failed');
  t.is((await bundle.coordinator.job(held?.job_id ?? '')).job.state, 'running.active');
  bundle.clock.advance(600);
  await bundle.jobAs(held?.job_id ?? '', 'failed');
});

test('a job that has failed on a worker is held by another one rather than run there again', async (t) => {
  const { bundle, worker, coordinator } = await busy(t, 50);
  await given(t, bundle, worker, 5);
  const other = await joined(bundle, { name: 'w-2', concurrency: 20 });
  await given(t, bundle, other, 6);
  const [job] = other.jobs;
  if (job === undefined) throw new Error('there is none');
  const failure = {
    class: 'server_error',
    message: 'no',
    status: 500,
    code: null,
    retryAfterMs: null,
  } as const;
  const { job_id: jobId, lease } = job;
  await other.connection.conclude({ jobId, lease }, { type: 'fail', failure, usage: null });
  await worker.complete(await worker.job(2), 'hello', undefined, { latencyMs: 50 });
  for (let second = 0; second < 3; second += 1) bundle.clock.advance(1_000);
  t.is((await worker.job(6)).job_id, jobId);
  t.is((await coordinator.job(jobId)).job.state, 'running.active');
});

test('a pause of the queue, and a drain, recall what has not begun', async (t) => {
  const { bundle, worker, coordinator } = await busy(t, 50);
  await given(t, bundle, worker, 5);
  const recalls = () => worker.frames.filter(({ type }) => type === 'recall').length;
  await coordinator.pauseQueue(null, null);
  t.is(recalls(), 1);
  void coordinator.drain(0);
  t.is(recalls(), 2);
});
