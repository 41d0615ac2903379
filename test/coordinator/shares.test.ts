import test from 'ava';
import type { Principal, Role } from '../../src/domain/key.ts';
import { testConfig } from '../support/config.ts';
import { request, setup } from '../support/coordinator.ts';

const keyOf = (keyId: string, role: Role = 'client'): Principal => ({
  keyId,
  role,
  name: `key ${keyId}`,
  bounds: null,
  secretHash: '',
});
const { http } = testConfig();
const shares = { ...http.shares, pending: 0.67 };
const [a, b] = [keyOf('a'), keyOf('b')];

test('one key cannot fill the queue: beyond its share it is refused, and others are not', async (t) => {
  const { coordinator } = await setup(t, { jobs: { maxPending: 10 } });
  for (let count = 0; count < 8; count += 1) await coordinator.dispatch(request(), a);
  const refused = await t.throwsAsync(coordinator.dispatch(request(), a), { code: 'share_exceeded' });
  t.regex(
    refused?.message ?? '',
    /has 8 pending jobs; 1 more would exceed its share of 8 \(http\.shares\.pending/,
  );
  await coordinator.dispatch(request(), b);
  await coordinator.dispatch(request(), b);
  await t.throwsAsync(coordinator.dispatch(request(), b), { code: 'queue_full' });
});

test('jobs that run or have ended leave the share, and those that come back return to it', async (t) => {
  const { coordinator, worker } = await setup(t, { jobs: { maxPending: 3 }, http: { ...http, shares } });
  const { job } = await coordinator.dispatch(request(), a);
  await coordinator.dispatch(request(), a);
  await t.throwsAsync(coordinator.dispatch(request(), a), { code: 'share_exceeded' });
  const hand = await worker();
  await hand.job();
  const { job: third } = await coordinator.dispatch(request(), a);
  await t.throwsAsync(coordinator.dispatch(request(), a), { code: 'share_exceeded' });
  await coordinator.cancel(third.id);
  await coordinator.dispatch(request(), a);
  await t.throwsAsync(coordinator.dispatch(request(), a), { code: 'share_exceeded' });
  t.is((await coordinator.job(job.id)).job.createdBy?.name, 'key a');
});

test('a rush of requests and a batch do not exceed the share; a batch is taken whole or not at all', async (t) => {
  const { coordinator } = await setup(t, { jobs: { maxPending: 100 } });
  const rush = await Promise.allSettled(
    Array.from({ length: 120 }, () => coordinator.dispatch(request(), a)),
  );
  t.is(rush.filter(({ status }) => status === 'fulfilled').length, 80);
  t.is((await coordinator.counts()).byStatus.pending, 80);
  const batchOf = (count: number) => Array.from({ length: count }, () => coordinator.plan(request()));
  await coordinator.dispatchAll(batchOf(10), b);
  await t.throwsAsync(coordinator.dispatchAll(batchOf(71), b), { code: 'share_exceeded' });
  const never = await t.throwsAsync(coordinator.dispatchAll(batchOf(81), b), {
    message: /Send smaller batches/,
  });
  t.like(never, { code: 'share_exceeded', retryable: false });
  t.is((await coordinator.counts()).byStatus.pending, 90);
});

test('operators and admins are held to no share', async (t) => {
  const { coordinator } = await setup(t, { jobs: { maxPending: 5 } });
  for (let count = 0; count < 5; count += 1) {
    await coordinator.dispatch(request(), keyOf('o', count % 2 === 0 ? 'operator' : 'admin'));
  }
  await t.throwsAsync(coordinator.dispatch(request(), keyOf('o', 'operator')), { code: 'queue_full' });
});

test('a restart counts the pending jobs of each key again', async (t) => {
  const bundle = await setup(t, { jobs: { maxPending: 5 } });
  for (let count = 0; count < 3; count += 1) await bundle.coordinator.dispatch(request(), a);
  const { coordinator, clock } = await bundle.restart();
  clock.advance(1);
  const { job } = await coordinator.dispatch(request(), a);
  t.deepEqual(job.createdBy, { keyId: 'a', name: 'key a' });
  await t.throwsAsync(coordinator.dispatch(request(), a), { code: 'share_exceeded' });
});

test('a repeat with an idempotency key, and a retry, keep whose job it is', async (t) => {
  const { coordinator, worker, jobAs } = await setup(t, { jobs: { maxAttempts: 1 } });
  const { view } = await coordinator.dispatchOnce('once', request(), a);
  const repeated = await coordinator.dispatchOnce('once', request(), b);
  t.false(repeated.isNew);
  t.is(repeated.view.job.createdBy?.keyId, 'a');
  const { jobs } = await coordinator.dispatchAllOnce('many', [coordinator.plan(request())], b);
  t.is(jobs[0]?.createdBy?.keyId, 'b');
  const hand = await worker();
  const failure = {
    class: 'invalid_request',
    message: 'no',
    status: 400,
    code: null,
    retryAfterMs: null,
  } as const;
  const { job_id: jobId, lease } = await hand.job();
  await hand.connection.conclude({ jobId, lease }, { type: 'fail', failure, usage: null });
  await jobAs(view.job.id, 'failed');
  t.is((await coordinator.retry(view.job.id)).job.createdBy?.keyId, 'a');
});
