import test from 'ava';
import type { Doer } from '../../src/domain/audit.ts';
import { untouchedQueue } from '../../src/domain/queue.ts';
import { auditQueryOf } from '../conformance/audit.ts';
import { request, setup } from '../support/coordinator.ts';
import { until } from '../support/process.ts';

const ada: Doer = { actor: { keyId: 'k1', name: 'ada', role: 'operator' }, address: '10.0.0.1' };
const bob: Doer = { actor: { keyId: 'k2', name: null, role: 'admin' }, address: null };

/** Long enough for a job to be handed out, were it to be. */
async function someTurns(): Promise<void> {
  for (let turn = 0; turn < 200; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
}

test('a paused queue accepts jobs and hands none out, what runs goes on, and it hands them out when resumed', async (t) => {
  const { coordinator, worker, clock, jobAs } = await setup(t);
  const hand = await worker({ concurrency: 2 });
  const { job: running } = await coordinator.dispatch(request());
  const assigned = await hand.job();
  const paused = { paused: true, since: clock.now(), by: { keyId: 'k1', name: 'ada' }, reason: 'new prices' };
  t.deepEqual(await coordinator.pauseQueue(ada, 'new prices'), paused);
  t.is(coordinator.status, 'paused');
  t.deepEqual((await coordinator.stats()).queue, paused);

  const { job: alone } = await coordinator.dispatch(request());
  const batch = await coordinator.dispatchAll([coordinator.plan(request()), coordinator.plan(request())]);
  await someTurns();
  t.is(hand.jobs.length, 1);
  for (const { id } of [alone, ...batch]) {
    const { job, waiting } = await coordinator.job(id);
    t.is(job.state, 'pending.ready');
    t.like(waiting, { reason: 'queue_paused', until: null });
    t.regex(waiting?.detail ?? '', /^ada paused the queue \(new prices\)/);
  }
  await hand.complete(assigned);
  await jobAs(running.id, 'completed');
  t.is(hand.jobs.length, 1);

  clock.advance(1_000);
  const resumed = { paused: false, since: clock.now(), by: { keyId: 'k2', name: null }, reason: null };
  t.deepEqual(await coordinator.resumeQueue(bob), resumed);
  t.is(coordinator.status, 'accepting');
  t.is((await hand.job(2)).job_id, alone.id);
  await hand.job(3);
  t.deepEqual((await coordinator.stats()).queue, resumed);
});

test('a second pause and a second resume change nothing and leave no entry', async (t) => {
  const { coordinator, clock, store } = await setup(t);
  t.deepEqual(await coordinator.resumeQueue(ada), untouchedQueue);
  const first = await coordinator.pauseQueue(ada, 'first');
  clock.advance(5_000);
  t.deepEqual(await coordinator.pauseQueue(bob, 'second'), first);
  await coordinator.resumeQueue(bob);
  await coordinator.resumeQueue(ada);
  const { entries } = await store.audit(auditQueryOf());
  t.deepEqual(
    entries.map(({ action, by, target, details }) => [action, by.actor?.keyId, target.kind, details]),
    [
      ['queue.resumed', 'k2', 'queue', {}],
      ['queue.paused', 'k1', 'queue', { reason: 'first' }],
    ],
  );
});

test('a paused queue is paused after a kill, with who paused it and why, and after a checkpoint too', async (t) => {
  const first = await setup(t);
  const { job } = await first.coordinator.dispatch(request());
  const state = await first.coordinator.pauseQueue(ada, 'maintenance');
  const second = await first.restart();
  t.is(second.coordinator.status, 'paused');
  t.deepEqual((await second.coordinator.stats()).queue, state);
  await second.store.checkpoint();
  const third = await second.restart();
  t.is(third.coordinator.status, 'paused');
  const hand = await third.worker();
  await someTurns();
  t.is(hand.jobs.length, 0);
  t.is((await third.coordinator.job(job.id)).waiting?.reason, 'queue_paused');
  await third.coordinator.resumeQueue(ada);
  t.is((await hand.job()).job_id, job.id);
  const fourth = await third.restart();
  t.is(fourth.coordinator.status, 'accepting');
});

test('a pause that the store refuses is none: jobs are handed out as before', async (t) => {
  const { coordinator, store, worker } = await setup(t);
  const hand = await worker();
  const commit = store.commit.bind(store);
  store.commit = async (changes) => {
    const all = [...changes];
    if (all.some(({ kind }) => kind === 'queue')) throw new Error('full');
    return commit(all);
  };
  const refused = t.throwsAsync(coordinator.pauseQueue(ada), { message: 'full' });
  const { job } = await coordinator.dispatch(request());
  await refused;
  t.is(coordinator.status, 'accepting');
  t.deepEqual((await coordinator.stats()).queue, untouchedQueue);
  t.is((await hand.job()).job_id, job.id);
  store.commit = commit;
  await coordinator.pauseQueue(ada);
  store.commit = async () => {
    throw new Error('full');
  };
  await t.throwsAsync(coordinator.resumeQueue(ada), { message: 'full' });
  t.is(coordinator.status, 'paused');
});

test('once a pause is answered nothing is on its way, in the midst of a rush', async (t) => {
  const { coordinator, worker } = await setup(t);
  const hands = await Promise.all(Array.from({ length: 20 }, () => worker({ concurrency: 50 })));
  const rush = Array.from({ length: 2_000 }, () => coordinator.dispatch(request()));
  await rush[100];
  await coordinator.pauseQueue(ada);
  const count = () => hands.reduce((sum, { jobs }) => sum + jobs.length, 0);
  const given = count();
  await Promise.all(rush);
  await someTurns();
  t.is(count(), given);
  t.true(given < 1_000);
  await coordinator.resumeQueue(ada);
  await until('every slot has a job', () => count() === 1_000);
  await someTurns();
  t.is(count(), 1_000);
});

test('pauses and resumes at once are made one after the other, and the last one holds', async (t) => {
  const { coordinator, worker } = await setup(t);
  const hand = await worker();
  const changes = [0, 1, 2, 3, 4].map((n) =>
    n % 2 === 0 ? coordinator.pauseQueue(ada, `${n}`) : coordinator.resumeQueue(bob),
  );
  t.deepEqual(
    (await Promise.all(changes)).map(({ paused, reason }) => [paused, reason]),
    [
      [true, '0'],
      [false, null],
      [true, '2'],
      [false, null],
      [true, '4'],
    ],
  );
  t.is(coordinator.status, 'paused');
  await coordinator.dispatch(request());
  await someTurns();
  t.is(hand.jobs.length, 0);
});

test('a job that is not due says so in a paused queue, and waits for the queue when it is', async (t) => {
  const { coordinator, clock, jobAs } = await setup(t);
  await coordinator.pauseQueue();
  const { job, waiting } = await coordinator.dispatch(request({ notBefore: clock.now() + 5_000 }));
  t.is(waiting?.reason, 'delayed');
  clock.advance(5_000);
  await jobAs(job.id, 'pending.ready');
  const after = (await coordinator.job(job.id)).waiting;
  t.is(after?.reason, 'queue_paused');
  t.regex(after?.detail ?? '', /^The queue is paused;/);
});

test('a paused coordinator drains, and is paused at its next start', async (t) => {
  const { coordinator, worker, restart } = await setup(t);
  const hand = await worker();
  await coordinator.dispatch(request());
  const assigned = await hand.job();
  await coordinator.pauseQueue(ada);
  const drained = coordinator.drain(60_000);
  t.is(coordinator.status, 'draining');
  await hand.complete(assigned);
  await drained;
  t.is((await restart()).coordinator.status, 'paused');
});

test('a queue that is resumed while the coordinator drains is not paused at its next start', async (t) => {
  const { coordinator, restart } = await setup(t);
  await coordinator.pauseQueue(ada);
  await coordinator.drain(0);
  await coordinator.resumeQueue(ada);
  t.is(coordinator.status, 'draining');
  t.is((await restart()).coordinator.status, 'accepting');
});
