import test from 'ava';
import { InvalidTransition } from '../../src/domain/errors.ts';
import { lastAttempt } from '../../src/domain/job.ts';
import { request, setup } from '../support/coordinator.ts';

test('a job is handed to a worker, and its result, usage and cost come back', async (t) => {
  const { coordinator, worker, jobAs } = await setup(t);
  const { job } = await coordinator.dispatch(request({ input: 'in', params: { temperature: 0 } }));
  t.is(job.state, 'pending.ready');
  const hand = await worker();
  const assigned = await hand.job();
  t.like(assigned, {
    job_id: job.id,
    lease: 1,
    attempt: 1,
    input: 'in',
    provider: 'echo',
    timeout_seconds: 600,
  });
  await hand.complete(assigned, 'the answer');
  t.like(hand.ack, { job_id: job.id, accepted: true });
  const done = await jobAs(job.id, 'completed');
  t.is(done.life.result?.output, 'the answer');
  t.deepEqual(lastAttempt(done.life)?.cost, { nanoDollars: 0, status: 'known' });
});

test('a pending job is cancelled and never runs', async (t) => {
  const { coordinator, worker } = await setup(t);
  const { job } = await coordinator.dispatch(request());
  t.is((await coordinator.cancel(job.id)).job.state, 'cancelled');
  const next = (await coordinator.dispatch(request())).job;
  const hand = await worker();
  t.is((await hand.job()).job_id, next.id);
  await t.throwsAsync(coordinator.cancel(job.id), { instanceOf: InvalidTransition });
  await t.throwsAsync(coordinator.retry(job.id), { instanceOf: InvalidTransition });
});

test('a cancelled running job keeps its slot until the worker answers, and what it cost is recorded', async (t) => {
  const { coordinator, worker, jobWhen } = await setup(t);
  const hand = await worker();
  const { job } = await coordinator.dispatch(request());
  const assigned = await hand.job();
  await coordinator.cancel(job.id);
  t.like(hand.frames.at(-1), { type: 'abort', job_id: job.id, lease: 1, reason: 'cancelled' });
  const next = (await coordinator.dispatch(request())).job;
  t.is((await coordinator.job(next.id)).waiting?.reason, 'workers_busy');
  const usage = { inputTokens: 7, outputTokens: 2, cachedInputTokens: 0, reasoningTokens: 0, totalTokens: 9 };
  await hand.connection.conclude({ jobId: job.id, lease: assigned.lease }, { type: 'aborted', usage });
  t.is((await hand.job(2)).job_id, next.id);
  const ended = await jobWhen(job.id, ({ life }) => lastAttempt(life)?.usage !== null);
  t.is(ended.state, 'cancelled');
  t.deepEqual(lastAttempt(ended.life)?.usage, usage);
});

test('the slot of a cancelled job is free after two heartbeat intervals when the worker says nothing', async (t) => {
  const { coordinator, worker, clock, config } = await setup(t);
  const hand = await worker();
  const { job } = await coordinator.dispatch(request());
  await hand.job();
  await coordinator.cancel(job.id);
  const next = (await coordinator.dispatch(request())).job;
  const beats = 2 * config.jobs.heartbeatIntervalSeconds;
  for (let second = 0; second < beats; second += 5) {
    clock.advance(5_000);
    hand.connection.heard();
  }
  t.is((await hand.job(2)).job_id, next.id);
});

test('the result of a cancelled job is refused, and its usage is kept', async (t) => {
  const { coordinator, worker, jobWhen } = await setup(t);
  const hand = await worker();
  const { job } = await coordinator.dispatch(request());
  const assigned = await hand.job();
  await coordinator.cancel(job.id);
  await hand.complete(assigned);
  t.like(hand.ack, { accepted: false, reason: 'lease_lost' });
  const ended = await jobWhen(job.id, ({ life }) => lastAttempt(life)?.usage !== null);
  t.is(ended.life.result, null);
});

test('a result that is said twice is acked twice and counted once', async (t) => {
  const { coordinator, worker, jobAs } = await setup(t);
  const hand = await worker();
  const { job } = await coordinator.dispatch(request());
  const assigned = await hand.job();
  await hand.complete(assigned, 'once');
  await hand.complete(assigned, 'twice');
  t.is(hand.frames.filter((frame) => frame.type === 'ack' && frame.accepted).length, 2);
  t.is((await jobAs(job.id, 'completed')).life.result?.output, 'once');
  t.is((await coordinator.worker(hand.id)).completed, 1);
});

test('a frame for another worker’s job, an unknown job or an old lease is refused by name', async (t) => {
  const { coordinator, worker } = await setup(t);
  const holder = await worker();
  const stranger = await worker({ providers: ['other'] });
  const { job } = await coordinator.dispatch(request());
  const assigned = await holder.job();
  await stranger.complete(assigned);
  t.like(stranger.ack, { accepted: false, reason: 'not_yours' });
  await stranger.complete({ ...assigned, job_id: 'nobody' });
  t.like(stranger.ack, { accepted: false, reason: 'unknown_job' });
  await holder.complete({ ...assigned, lease: 9 });
  t.like(holder.ack, { accepted: false, reason: 'lease_lost' });
  t.is((await coordinator.job(job.id)).job.state, 'running.active');
});

test('a job over its timeout fails, and the worker is told', async (t) => {
  const { coordinator, worker, clock, jobAs } = await setup(t);
  const hand = await worker();
  const { job } = await coordinator.dispatch(request({ timeoutSeconds: 1 }));
  await hand.job();
  clock.advance(1_001);
  const failed = await jobAs(job.id, 'failed');
  t.is(failed.life.error?.code, 'job_timeout');
  t.like(hand.frames.at(-1), { type: 'abort', reason: 'timed_out' });
});

test('a transient failure is tried again after a back-off, at most max_attempts times, in its place of the queue', async (t) => {
  const { coordinator, worker, clock, jobAs } = await setup(t);
  const hand = await worker();
  const { job } = await coordinator.dispatch(request());
  const failure = {
    class: 'server_error',
    message: 'oops',
    status: 500,
    code: null,
    retryAfterMs: null,
  } as const;
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    const assigned = await hand.job(attempt);
    await hand.connection.conclude(
      { jobId: job.id, lease: assigned.lease },
      { type: 'fail', failure, usage: null },
    );
    if (attempt === 3) break;
    const waiting = await coordinator.job(job.id);
    t.is(waiting.job.state, 'pending.delayed');
    t.is(waiting.waiting?.reason, 'delayed');
    t.is(waiting.waiting?.detail, 'Its last attempt failed, and there is a pause before the next');
    t.is(waiting.job.life.enqueuedAt, job.life.enqueuedAt);
    for (let second = 0; second < 3; second += 1) {
      clock.advance(1_000);
      hand.connection.heard();
    }
  }
  const failed = await jobAs(job.id, 'failed');
  t.is(failed.life.attempts.length, 3);
  t.is(failed.life.error?.class, 'server_error');
});

test('a job that is not due waits until then', async (t) => {
  const { coordinator, worker, clock } = await setup(t);
  const hand = await worker();
  const notBefore = clock.now() + 5_000;
  const { job, waiting } = await coordinator.dispatch(request({ notBefore }));
  t.is(job.state, 'pending.delayed');
  const detail = 'It was asked to start no earlier (not_before)';
  t.like(waiting, { reason: 'delayed', until: notBefore, detail });
  clock.advance(5_000);
  hand.connection.heard();
  t.is((await hand.job()).job_id, job.id);
});

test('a draining coordinator accepts no job and takes the results of those that run', async (t) => {
  const { coordinator, worker, jobAs } = await setup(t);
  const hand = await worker();
  const { job } = await coordinator.dispatch(request());
  const assigned = await hand.job();
  const drained = coordinator.drain(60_000);
  await t.throwsAsync(coordinator.dispatch(request()), { code: 'draining' });
  await hand.complete(assigned);
  await drained;
  t.is((await jobAs(job.id, 'completed')).life.attempts.length, 1);
});

test('a queue at max_pending refuses with queue_full and takes jobs again when one has left', async (t) => {
  const { coordinator } = await setup(t, { jobs: { maxPending: 2 } });
  const { job } = await coordinator.dispatch(request());
  await coordinator.dispatch(request());
  await t.throwsAsync(coordinator.dispatch(request()), { code: 'queue_full' });
  await coordinator.cancel(job.id);
  await t.notThrowsAsync(coordinator.dispatch(request()));
});

test('a drain ends when the last worker with a lease leaves, or the last aborted job is answered', async (t) => {
  const { coordinator, worker } = await setup(t);
  const leaves = await worker();
  const answers = await worker();
  await coordinator.dispatch(request());
  await coordinator.dispatch(request());
  await leaves.job();
  const aborted = await answers.job();
  await coordinator.cancel(aborted.job_id);
  const drained = coordinator.drain(60_000);
  leaves.drop();
  await answers.connection.conclude(
    { jobId: aborted.job_id, lease: aborted.lease },
    { type: 'aborted', usage: null },
  );
  await t.notThrowsAsync(drained);
});
