import test from 'ava';
import type { ReportedFailure } from '../../src/domain/failure.ts';
import { request, setup } from '../support/coordinator.ts';

const hour = 3_600_000;

function failure(errorClass: ReportedFailure['class'], retryAfterMs: number | null): ReportedFailure {
  return { class: errorClass, message: 'not now', status: 503, code: null, retryAfterMs };
}

test('a pause after a failed attempt lasts as long when the wall clock is set back meanwhile', async (t) => {
  const { coordinator, worker, clock, jobAs } = await setup(t);
  const hand = await worker();
  const { job } = await coordinator.dispatch(request());
  const { job_id: jobId, lease } = await hand.job();
  await hand.connection.conclude(
    { jobId, lease },
    { type: 'fail', failure: failure('overloaded', null), usage: null },
  );
  await jobAs(job.id, 'pending.delayed');
  clock.jump(-hour);
  clock.advance(2_000);
  hand.connection.heard();
  t.is((await hand.job(2)).job_id, job.id);
});

test('a job that was asked to start at a time starts at that time, however the wall clock is set', async (t) => {
  const { coordinator, worker, clock } = await setup(t);
  await worker();
  const notBefore = clock.now() + 30_000;
  const { job } = await coordinator.dispatch(request({ notBefore }));
  clock.jump(-hour);
  clock.advance(61_000);
  t.is((await coordinator.job(job.id)).job.state, 'pending.delayed');
});

test('the limit of a provider ends in its time when the wall clock is set back and others still run into it', async (t) => {
  const rateLimit = { maxConcurrent: null, retryAfterSeconds: 1, maxRetries: 5, retryAfterMaxSeconds: 300 };
  const breaker = { ratio: 0.5, minimum: 10, windowSeconds: 60, openSeconds: 30 };
  const echo = { rateLimit, breaker, model: null, baseUrl: null, apiKeyEnv: null };
  const { coordinator, worker, clock } = await setup(t, { providers: { echo } });
  const hand = await worker({ concurrency: 2 });
  await coordinator.dispatch(request());
  await coordinator.dispatch(request());
  const running = [await hand.job(1), await hand.job(2)];
  for (const { job_id: jobId, lease } of running) {
    await hand.connection.conclude(
      { jobId, lease },
      { type: 'fail', failure: failure('rate_limited', 2_000), usage: null },
    );
    clock.jump(-hour);
  }
  clock.advance(2_500);
  t.is(coordinator.providers().find(({ name }) => name === 'echo')?.status, 'probing');
});

test('a job that runs over a restart has no more than its timeout left when the wall clock was set back', async (t) => {
  const before = await setup(t);
  const hand = await before.worker({ name: 'box' });
  const { job } = await before.coordinator.dispatch(request({ timeoutSeconds: 20 }));
  const { lease } = await hand.job();
  before.clock.jump(-hour);
  const after = await before.restart();
  const running = [{ jobId: job.id, lease }];
  const back = await after.worker({ name: 'box' }, running);
  for (let seconds = 0; seconds < 21; seconds += 3) {
    after.clock.advance(3_000);
    back.connection.heard();
    back.connection.heartbeat(running, undefined);
  }
  t.is((await after.jobAs(job.id, 'failed')).life.attempts[0]?.outcome, 'timed_out');
});
