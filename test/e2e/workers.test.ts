import test, { type ExecutionContext } from 'ava';
import type { WireJob } from '../../src/domain/wire/job.ts';
import type { WireWorker } from '../../src/domain/wire/worker.ts';
import { answerTo } from '../support/e2eHttp.ts';
import {
  type Running,
  type SvcProcess,
  startCoordinator,
  startWorker,
  until,
  within,
} from '../support/process.ts';

/** Half a second of heartbeat: 1.25 s of silence and a worker counts as gone. */
const heartbeat = { heartbeat_interval_seconds: 0.5 };

async function connected(
  t: ExecutionContext,
  coordinator: Running,
  name: string,
  concurrency = 1,
): Promise<SvcProcess> {
  const worker = startWorker(t, coordinator, ['--name', name, '--concurrency', String(concurrency)]);
  await until(
    () => `${name} is connected: ${worker.said()}`,
    async () => (await find(coordinator, name))?.connected,
  );
  return worker;
}

async function find({ client }: Running, name: string): Promise<WireWorker | undefined> {
  return (await client.workers()).workers.find((worker) => worker.name === name);
}

async function workerCalled(coordinator: Running, name: string): Promise<WireWorker> {
  const worker = await find(coordinator, name);
  if (worker === undefined) throw new Error(`no worker is called ${name}`);
  return worker;
}

/** Dispatch a job that takes `ms`, and wait until it runs. */
async function runningJob(coordinator: Running, ms: number): Promise<WireJob> {
  const { id } = await coordinator.client.dispatch({
    prompt: 'Take your time',
    provider: 'echo',
    params: { echo_delay_ms: ms, echo_output: 'done' },
  });
  return jobWhen(coordinator, id, ({ status }) => status === 'running');
}

/** One that its worker has begun, which its heartbeat tells: an assignment alone may still lie unread in the socket. */
async function begunJob(coordinator: Running, ms: number): Promise<WireJob> {
  const { id } = await runningJob(coordinator, ms);
  return jobWhen(coordinator, id, ({ heartbeat_at: heartbeatAt }) => heartbeatAt !== null);
}

/** A worker that has tried in vain for a while comes back after up to 30 s. */
const jobMsMax = 60_000;

function jobWhen({ client }: Running, id: string, isReached: (job: WireJob) => boolean): Promise<WireJob> {
  let last: WireJob | null = null;
  return until(
    () => `job ${id} gets there; it is ${JSON.stringify(last)}`,
    async () => {
      last = await client.job(id);
      return isReached(last) ? last : null;
    },
    jobMsMax,
  );
}

const isCompleted = ({ status }: WireJob) => status === 'completed';

test.serial(
  'a worker that dies of SIGKILL leaves a stuck job, which is reaped and done by another',
  async (t) => {
    const coordinator = await startCoordinator(t, {
      config: { jobs: { ...heartbeat, reap_stale_after_seconds: 2 } },
    });
    const first = await connected(t, coordinator, 'first');
    const { id } = await runningJob(coordinator, 1_500);
    await first.kill();
    t.like(await jobWhen(coordinator, id, ({ stuck }) => stuck), { status: 'running', attempt_count: 1 });
    await connected(t, coordinator, 'second');
    const job = await jobWhen(coordinator, id, isCompleted);
    t.like(job, { reap_count: 1, retry_count: 0, error: null });
    t.is(job.result?.output, 'done');
    t.deepEqual(
      job.attempts.map(({ lease, outcome }) => ({ lease, outcome })),
      [
        { lease: 1, outcome: 'reaped' },
        { lease: 2, outcome: 'completed' },
      ],
    );
    t.not(job.attempts[0]?.worker_id, job.attempts[1]?.worker_id);
    t.is(job.worker_id, (await workerCalled(coordinator, 'second')).id);
    t.like(await workerCalled(coordinator, 'first'), { connected: false, running: 0 });
  },
);

test.serial(
  'a worker that stands still and comes back before it is reaped goes on with its job',
  async (t) => {
    const coordinator = await startCoordinator(t, {
      config: { jobs: { ...heartbeat, reap_stale_after_seconds: 60 } },
    });
    const worker = await connected(t, coordinator, 'sleeper');
    const { id } = await runningJob(coordinator, 2_500);
    worker.signal('SIGSTOP');
    await jobWhen(coordinator, id, ({ stuck }) => stuck);
    t.false((await workerCalled(coordinator, 'sleeper')).connected);
    worker.signal('SIGCONT');
    const job = await jobWhen(coordinator, id, isCompleted);
    t.like(job, { attempt_count: 1, reap_count: 0, stuck: false });
    t.is(job.result?.output, 'done');
  },
);

test.serial(
  'the late result of a worker that stood still is refused when another has overtaken it',
  async (t) => {
    const coordinator = await startCoordinator(t, {
      config: { jobs: { ...heartbeat, reap_stale_after_seconds: 2 } },
    });
    const sleeper = await connected(t, coordinator, 'sleeper');
    const { id } = await begunJob(coordinator, 1_500);
    sleeper.signal('SIGSTOP');
    await connected(t, coordinator, 'other');
    const done = await jobWhen(coordinator, id, isCompleted);
    t.deepEqual(
      done.attempts.map(({ outcome }) => outcome),
      ['reaped', 'completed'],
    );
    t.is(done.result?.worker_id, (await workerCalled(coordinator, 'other')).id);
    sleeper.signal('SIGCONT');
    await until('the sleeper is back', async () => (await workerCalled(coordinator, 'sleeper')).connected);
    await sleeper.says(/an outcome was refused/);
    const after = await coordinator.client.job(id);
    t.deepEqual(after.result, done.result);
    t.is(after.attempt_count, 2);
  },
);

test.serial(
  'the late result of a worker that stood still is taken when nobody has overtaken it',
  async (t) => {
    const coordinator = await startCoordinator(t, {
      config: { jobs: { ...heartbeat, reap_stale_after_seconds: 2 } },
    });
    const sleeper = await connected(t, coordinator, 'sleeper');
    const { id } = await begunJob(coordinator, 1_500);
    // Paused: it is not given its own job again before it has said that it did it.
    await coordinator.client.pauseWorker((await workerCalled(coordinator, 'sleeper')).id);
    sleeper.signal('SIGSTOP');
    t.like(await jobWhen(coordinator, id, ({ status }) => status === 'pending'), {
      attempt_count: 1,
      reap_count: 1,
    });
    sleeper.signal('SIGCONT');
    const job = await jobWhen(coordinator, id, isCompleted);
    t.like(job, { attempt_count: 1, reap_count: 1 });
    t.is(job.attempts[0]?.outcome, 'completed');
    t.is(job.result?.output, 'done');
  },
);

// The welcome sets off a pass of the dispatcher; the worker sends its result after the welcome.
test.serial('a reaped job is not run again on the very worker that comes back with its result', async (t) => {
  const coordinator = await startCoordinator(t, {
    config: { jobs: { ...heartbeat, reap_stale_after_seconds: 2 } },
  });
  const sleeper = await connected(t, coordinator, 'sleeper');
  const { id } = await begunJob(coordinator, 1_500);
  sleeper.signal('SIGSTOP');
  await jobWhen(coordinator, id, ({ status }) => status === 'pending');
  sleeper.signal('SIGCONT');
  t.is((await jobWhen(coordinator, id, isCompleted)).attempt_count, 1);
});

test.serial(
  'SIGTERM drains a worker: what runs is finished, nothing new is begun, and it ends with 0',
  async (t) => {
    const coordinator = await startCoordinator(t, { config: { jobs: heartbeat } });
    const worker = await connected(t, coordinator, 'leaving');
    const { id } = await runningJob(coordinator, 1_200);
    const next = await coordinator.client.dispatch({ prompt: 'Me next', provider: 'echo' });
    worker.signal('SIGTERM');
    t.deepEqual(await within('the worker ends', worker.exited), { code: 0, signal: null });
    t.like(await coordinator.client.job(id), { status: 'completed', attempt_count: 1 });
    t.like(await coordinator.client.job(next.id), { status: 'pending', attempt_count: 0 });
    const left = await until('it is disconnected', async () => {
      const seen = await workerCalled(coordinator, 'leaving');
      return seen.connected === false ? seen : null;
    });
    t.like(left, { running: 0, completed: 1 });
  },
);

test.serial(
  'SIGTERM with a grace that is too short gives the job back, and no attempt is burnt',
  async (t) => {
    const coordinator = await startCoordinator(t, {
      config: { jobs: { ...heartbeat, max_attempts: 1, max_reaps: 0 } },
    });
    const worker = startWorker(t, coordinator, ['--name', 'hasty', '--concurrency', '1', '--grace', '0.2']);
    const { id } = await runningJob(coordinator, 60_000);
    worker.signal('SIGTERM');
    t.deepEqual(await within('the worker ends', worker.exited), { code: 0, signal: null });
    const job = await coordinator.client.job(id);
    t.like(job, { status: 'pending', reap_count: 0, retry_count: 0 });
    t.is(job.attempts[0]?.outcome, 'released');
  },
);

for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
  test.serial(
    `a coordinator that ends by ${signal} and starts again re-runs nothing that still runs`,
    async (t) => {
      // A busy machine may need many seconds for the start, and the worker for its next attempt to connect.
      const jobs = { ...heartbeat, reap_stale_after_seconds: 60 };
      const config = { jobs, shutdown: { grace_seconds: 0.1 } };
      const coordinator = await startCoordinator(t, { config });
      await connected(t, coordinator, 'steady', 4);
      // The last ends while the coordinator is away.
      const begun = await Promise.all([2_500, 3_000, 1_000].map((ms) => begunJob(coordinator, ms)));
      coordinator.process.signal(signal);
      await within('the coordinator ends', coordinator.process.exited);
      const again = await coordinator.again();
      for (const { id } of begun) {
        const job = await jobWhen(again, id, isCompleted);
        t.like(job, { attempt_count: 1, reap_count: 0 });
        t.is(job.result?.output, 'done');
      }
      t.is((await answerTo(again.port, { path: '/api/workers' })).status, 200);
      t.like(await workerCalled(again, 'steady'), { connected: true, completed: 3 });
    },
  );
}
