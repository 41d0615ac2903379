import test, { type ExecutionContext } from 'ava';
import { FakeClock } from '../support/fakeClock.ts';
import { answer, job, setup } from './support/setup.ts';

const features = ['holds_ahead'];

/** A worker of one slot that runs `a`, while `b` and `c` wait for it. */
async function withWaiting(t: ExecutionContext, clock = new FakeClock()) {
  const bundle = await setup(t, { clock, concurrency: 1 });
  await bundle.worker.start();
  const session = await bundle.coordinator.session({ features, concurrency: 1 });
  session.assign(job('a'), job('b'), job('c'));
  const first = await bundle.provider.next();
  await session.settled();
  return { ...bundle, clock, session, first };
}

test('a job beyond the slots begins when one is free, in the order of assignment, and is listed as held', async (t) => {
  const { coordinator, worker, provider, session, first, notices, clock } = await withWaiting(t);
  t.is(worker.running, 1);
  worker.renewKey();
  await session.closed;
  const connected = setInterval(() => clock.advance(1), 5);
  t.teardown(() => clearInterval(connected));
  const again = await coordinator.connection();
  const { running = [] } = await again.take('hello');
  t.deepEqual(running.map(({ job_id }) => job_id).sort(), ['a', 'b', 'c']);
  again.welcome({ features, concurrency: 1 });
  first.end(answer('done'));
  const second = await provider.next();
  t.is(second.assignment.job_id, 'b');
  t.like(await again.take('complete'), { job_id: 'a' });
  t.notRegex(notices.join(), /slots/);
});

test('a job that waits for a second is given back, unbegun', async (t) => {
  const { worker, session, clock } = await withWaiting(t);
  clock.advance(999);
  await session.settled();
  t.is(session.of('release').length, 0);
  clock.advance(1);
  for (const id of ['b', 'c']) t.like(await session.take('release'), { job_id: id });
  t.is(worker.running, 1);
});

test('what waits is given back when the coordinator recalls it, pauses the worker, or it drains', async (t) => {
  for (const how of ['recall', 'pause', 'drain'] as const) {
    const { worker, session, first } = await withWaiting(t);
    if (how === 'recall') session.send({ type: 'recall' });
    else if (how === 'pause') session.send({ type: 'settings', paused: true });
    else void worker.drain(60_000);
    for (const id of ['b', 'c']) t.like(await session.take('release'), { job_id: id }, how);
    first.end(answer('done'));
    t.like(await session.take('complete'), { job_id: 'a' }, how);
    for (const id of ['a', 'b', 'c']) session.ack({ job_id: id, lease: 1 });
  }
});

test('a job that is aborted while it waits never runs, and is answered', async (t) => {
  const { provider, session, first } = await withWaiting(t);
  session.abort({ job_id: 'b', lease: 1 });
  t.deepEqual(await session.take('aborted'), { type: 'aborted', job_id: 'b', lease: 1 });
  first.end(answer('done'));
  t.is((await provider.next()).assignment.job_id, 'c');
});

test('what waits begins at once when the worker gets more slots', async (t) => {
  const { worker, provider, session } = await withWaiting(t);
  session.send({ type: 'settings', concurrency: 3 });
  await provider.next();
  await provider.next();
  t.is(worker.running, 3);
});
