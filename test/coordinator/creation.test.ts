import test from 'ava';
import { StoreUnavailable } from '../../src/domain/errors.ts';
import { nextTurn } from '../../src/lib/nextTurn.ts';
import { FailingFiles, systemError } from '../store/failingFiles.ts';
import { request, setup } from '../support/coordinator.ts';

test('a job that comes alone to a free slot is assigned with the write that creates it, and both are told in order', async (t) => {
  const files = new FailingFiles();
  const { coordinator, worker, restart } = await setup(t, {}, { files });
  const hand = await worker();
  // The worker's arrival is over: no pass looks for jobs.
  await nextTurn();
  const told: string[] = [];
  coordinator.bus.subscribe(({ type }) => {
    if (type.startsWith('job.')) told.push(type);
  });
  const writesBefore = files.counts.get('write') ?? 0;
  const { job } = await coordinator.dispatch(request());
  t.is(job.state, 'pending.ready', 'a client is answered with the job as it was created');
  t.is((await hand.job()).job_id, job.id);
  t.is((files.counts.get('write') ?? 0) - writesBefore, 1);
  t.deepEqual(told, ['job.created', 'job.started']);
  const stored = (await coordinator.job(job.id)).job;
  t.like(stored, { state: 'running.active', version: 2, life: { lease: 1 } });
  t.deepEqual((await (await restart()).coordinator.job(job.id)).job, stored, 'and a restart finds the same');
});

test('a job that could not be stored has taken no slot and reaches no worker', async (t) => {
  const files = new FailingFiles();
  const { coordinator, worker } = await setup(t, {}, { files });
  const hand = await worker();
  await nextTurn();
  files.before = ({ name }) => {
    if (name === 'write') throw systemError('ENOSPC');
  };
  await t.throwsAsync(coordinator.dispatch(request()), { instanceOf: StoreUnavailable });
  t.is((await coordinator.stats()).slots.taken, 0);
  files.before = () => {};
  const { job } = await coordinator.dispatch(request());
  t.is((await hand.job()).job_id, job.id, 'its one slot is free');
  t.is(hand.jobs.length, 1);
});

test('a slot that becomes free while a job is created goes to the one that waits', async (t) => {
  const { coordinator, worker } = await setup(t);
  const hand = await worker();
  await coordinator.dispatch(request());
  const first = await hand.job();
  const waiting = (await coordinator.dispatch(request())).job;
  const last = Promise.withResolvers<string>();
  coordinator.bus.subscribe(({ type }) => {
    // Now the slot is free, and nobody has it yet.
    if (type === 'job.completed') coordinator.dispatch(request()).then(({ job }) => last.resolve(job.id));
  });
  await hand.complete(first);
  const second = await hand.job(2);
  t.is(second.job_id, waiting.id);
  await hand.complete(second);
  t.is((await hand.job(3)).job_id, await last.promise);
});

test('jobs that come together never take more than the free slots', async (t) => {
  const { coordinator, worker } = await setup(t);
  const hand = await worker({ concurrency: 3 });
  const jobs = await Promise.all(Array.from({ length: 10 }, () => coordinator.dispatch(request())));
  await hand.job(3);
  t.is(hand.jobs.length, 3);
  for (let count = 1; count <= 10; count += 1) await hand.complete(await hand.job(count));
  t.deepEqual(
    hand.jobs.map(({ job_id }) => job_id),
    jobs.map(({ job }) => job.id),
  );
});

test('a job that is not due, and one that comes while the coordinator drains, are assigned to nobody', async (t) => {
  const { coordinator, worker, clock } = await setup(t);
  const hand = await worker();
  const { job } = await coordinator.dispatch(request({ notBefore: clock.now() + 60_000 }));
  t.is(job.state, 'pending.delayed');
  await coordinator.drain(0);
  await t.throwsAsync(coordinator.dispatch(request()), { message: /shutting down/ });
  t.is(hand.jobs.length, 0);
});
