import test from 'ava';
import { CoordinatorError, InvalidTransition, StoreUnavailable } from '../../src/domain/errors.ts';
import { FailingFiles, systemError } from '../store/failingFiles.ts';
import { request, setup } from '../support/coordinator.ts';
import { FakeClock } from '../support/fakeClock.ts';
import { temporaryFolder } from '../support/folder.ts';

test('of a result and a cancel that come together the first stands, and the other is told so', async (t) => {
  const { coordinator, worker } = await setup(t);
  const hand = await worker();
  const first = (await coordinator.dispatch(request())).job;
  const result = hand.complete(await hand.job());
  await t.throwsAsync(coordinator.cancel(first.id), { instanceOf: InvalidTransition, message: /completed/ });
  await result;
  t.like(hand.ack, { job_id: first.id, accepted: true });
  t.is((await coordinator.job(first.id)).job.state, 'completed');

  const second = (await coordinator.dispatch(request())).job;
  const assigned = await hand.job(2);
  const cancel = coordinator.cancel(second.id);
  await hand.complete(assigned);
  t.is((await cancel).job.state, 'cancelled');
  t.like(hand.ack, { job_id: second.id, accepted: false, reason: 'lease_lost' });
  t.is((await coordinator.job(second.id)).job.life.result, null);
});

test('of a hundred cancels of one job at once one is carried out, and all others say that it has ended', async (t) => {
  const { coordinator, worker } = await setup(t);
  const hand = await worker();
  const { job } = await coordinator.dispatch(request());
  await hand.job();
  const ends = await Promise.allSettled(Array.from({ length: 100 }, () => coordinator.cancel(job.id)));
  t.is(ends.filter(({ status }) => status === 'fulfilled').length, 1);
  for (const end of ends) if (end.status === 'rejected') t.true(end.reason instanceof InvalidTransition);
  t.is(hand.frames.filter(({ type }) => type === 'abort').length, 1);
  t.is((await coordinator.job(job.id)).job.life.attempts.length, 1);
});

test('the timeout of an attempt that was given back ends none of its successors', async (t) => {
  const jobs = { timeoutSeconds: 60, heartbeatIntervalSeconds: 600, reapStaleAfterSeconds: 0 };
  const { coordinator, worker, clock, jobAs } = await setup(t, { jobs });
  const hand = await worker();
  const { job } = await coordinator.dispatch(request());
  const first = await hand.job();
  clock.advance(40_000);
  await hand.connection.conclude({ jobId: job.id, lease: first.lease }, { type: 'release' });
  t.is((await hand.job(2)).lease, 2);
  // 65 s after the first attempt began, 25 s after the second one did.
  clock.advance(25_000);
  await coordinator.dispatch(request());
  t.is((await coordinator.job(job.id)).job.state, 'running.active');
  clock.advance(36_000);
  const ended = await jobAs(job.id, 'failed');
  t.deepEqual(
    ended.life.attempts.map(({ outcome }) => outcome),
    ['released', 'timed_out'],
  );
});

test('a job that could not be handed out because the disk was full is handed out when there is room again', async (t) => {
  const files = new FailingFiles();
  const { coordinator, worker, clock, store } = await setup(t, {}, { files });
  const { job } = await coordinator.dispatch(request());
  const hand = await worker();
  await hand.complete(await hand.job());
  const waiting = (await coordinator.dispatch(request())).job;
  await hand.job(2);
  const last = (await coordinator.dispatch(request())).job;
  files.before = ({ name }) => {
    if (name === 'write') throw systemError('ENOSPC');
  };
  await t.throwsAsync(coordinator.dispatch(request()), { instanceOf: StoreUnavailable });
  // Its slot becomes free, and nothing can be written about it.
  await hand.connection.conclude({ jobId: waiting.id, lease: 1 }, { type: 'release' });
  t.is(store.health().status, 'failing');
  t.is((await coordinator.job(job.id)).job.state, 'completed');
  t.is((await coordinator.job(last.id)).job.state, 'pending.ready');
  t.is(hand.jobs.length, 2);
  files.before = () => {};
  const ticks = setInterval(() => clock.advance(100), 1);
  t.teardown(() => clearInterval(ticks));
  t.is((await hand.job(3)).job_id, waiting.id);
});

test('a result that could not be written because the disk was full is kept, and acknowledged when there is room again', async (t) => {
  const files = new FailingFiles();
  const { coordinator, worker, clock, store } = await setup(t, {}, { files });
  const { job } = await coordinator.dispatch(request());
  const hand = await worker();
  const assigned = await hand.job();
  files.before = ({ name }) => {
    if (name === 'write') throw systemError('ENOSPC');
  };
  await hand.complete(assigned, 'kept');
  t.is(store.health().status, 'failing');
  t.is(hand.ack, undefined);
  t.is((await coordinator.job(job.id)).job.state, 'running.active');
  files.before = () => {};
  clock.advance(500);
  await hand.until(() => hand.ack !== undefined);
  t.like(hand.ack, { job_id: job.id, lease: 1, accepted: true });
  const { life } = (await coordinator.job(job.id)).job;
  t.is(life.result?.output, 'kept');
  t.is(life.attempts.length, 1);
});

test('a coordinator whose disk has failed can still be stopped, and reads until then', async (t) => {
  const files = new FailingFiles();
  const { coordinator, store } = await setup(t, {}, { files });
  const { job } = await coordinator.dispatch(request());
  files.before = ({ name }) => {
    if (name === 'sync') throw systemError('EIO');
  };
  await t.throwsAsync(coordinator.dispatch(request()), { instanceOf: StoreUnavailable });
  t.is(store.health().status, 'failed');
  t.truthy(await store.failed);
  t.is((await coordinator.job(job.id)).job.state, 'pending.ready');
  await coordinator.drain(0);
  await coordinator.close();
  t.is(coordinator.status, 'stopped');
});

test('a delayed job whose time came while the coordinator was down is ready after the start', async (t) => {
  const bundle = await setup(t);
  const { job } = await bundle.coordinator.dispatch(request({ notBefore: bundle.clock.now() + 60_000 }));
  t.is(job.state, 'pending.delayed');
  await bundle.coordinator.close();
  bundle.clock.advance(3_600_000);
  const later = await bundle.restart();
  later.clock.advance(1);
  await later.jobAs(job.id, 'pending.ready');
  const hand = await later.worker();
  t.is((await hand.job()).job_id, job.id);
});

test('a worker that comes back while it is removed is there afterwards, and gets work', async (t) => {
  const { coordinator, worker } = await setup(t);
  const first = await worker({ name: 'returns' });
  const { id } = first;
  first.drop();
  const removal = coordinator.forgetWorker(id);
  const pausing = coordinator.setWorkerPaused(id, true);
  const back = await worker({ name: 'returns' });
  await removal;
  await t.throwsAsync(pausing, { message: /no worker/ });
  t.not(back.id, id);
  t.deepEqual(
    (await coordinator.workers()).map(({ life, connected }) => ({
      id: life.id,
      connected,
      paused: life.paused,
    })),
    [{ id: back.id, connected: true, paused: false }],
  );
  const { job } = await coordinator.dispatch(request());
  t.is((await back.job()).job_id, job.id);
  await t.throwsAsync(coordinator.forgetWorker(id), { message: /no worker/ });
});

test('a job that was left to the worker that came back for it is handed out, though the timer comes a little early', async (t) => {
  // As those of Node may, measured by the clock that cannot be set.
  class EarlyClock extends FakeClock {
    override after(delayMs: number, task: () => void): () => void {
      return super.after(delayMs - 0.5, task);
    }
  }
  const clock = new EarlyClock();
  const { coordinator, worker, jobAs } = await setup(t, {}, { folder: temporaryFolder(t), clock });
  const slow = await worker({ name: 'slow' });
  const { job } = await coordinator.dispatch(request());
  const { lease } = await slow.job();
  clock.advance(30_000);
  clock.advance(120_000);
  await jobAs(job.id, 'pending');
  const back = await worker({ name: 'slow' }, [{ jobId: job.id, lease }]);
  clock.advance(500);
  t.like(await back.job(), { job_id: job.id, lease: lease + 1 });
});

test('a worker is not forgotten while its jobs wait for its return, and then goes on with them', async (t) => {
  const { coordinator, worker, jobAs } = await setup(t);
  const gone = await worker({ name: 'box' });
  const { job } = await coordinator.dispatch(request());
  const assigned = await gone.job();
  gone.drop();
  await jobAs(job.id, 'running.stuck');
  await t.throwsAsync(coordinator.forgetWorker(gone.id), {
    instanceOf: CoordinatorError,
    message: /1 of its jobs wait/,
  });
  const back = await worker({ name: 'box' }, [{ jobId: job.id, lease: assigned.lease }]);
  await back.complete(assigned);
  t.like(back.ack, { accepted: true });
  back.drop();
  await coordinator.forgetWorker(back.id);
  t.deepEqual(await coordinator.workers(), []);
});
