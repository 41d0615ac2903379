import test from 'ava';
import { pino } from 'pino';
import { FakeClock } from '../support/fakeClock.ts';
import { answer, job, setup, usage } from './support/setup.ts';

test('a drain says so, finishes what runs, waits for the acknowledgement and closes 1001', async (t) => {
  const { coordinator, worker, provider } = await setup(t);
  await worker.start();
  const session = await coordinator.session();
  session.assign(job('a'));
  const run = await provider.next();
  const drained = worker.drain(60_000);
  await session.take('drain');
  run.end(answer('in time'));
  const complete = await session.take('complete');
  session.ack(complete);
  t.deepEqual(await drained, { undelivered: 0 });
  t.is((await session.closed).code, 1001);
});

test('work that arrives during a drain is given back unrun', async (t) => {
  const { coordinator, worker, provider } = await setup(t);
  await worker.start();
  const session = await coordinator.session();
  session.assign(job('a'));
  const run = await provider.next();
  const drained = worker.drain(60_000);
  session.assign(job('b'));
  const released = await session.take('release');
  t.deepEqual(released, { type: 'release', job_id: 'b', lease: 1 });
  session.ack(released);
  run.end(answer('x'));
  session.ack(await session.take('complete'));
  await drained;
  t.is(provider.runs.length, 1);
});

test('what is not finished within the grace is stopped and given back, with what it had used told after', async (t) => {
  const clock = new FakeClock();
  const log: string[] = [];
  const logger = pino({ level: 'info' }, { write: (line: string) => void log.push(line) });
  const { coordinator, worker, provider } = await setup(t, { clock, logger });
  await worker.start();
  const session = await coordinator.session();
  session.assign(job('a'));
  const run = await provider.next();
  const drained = worker.drain(30_000);
  await session.take('drain');
  clock.advance(20_000);
  t.false(run.context.signal.aborted);
  session.send({ type: 'heartbeat_ack', lost: [] });
  await session.settled();
  clock.advance(10_000);
  const released = await session.take('release');
  t.true(run.context.signal.aborted);
  session.ack(released);
  const told = await session.take('aborted');
  t.deepEqual(told, { type: 'aborted', job_id: 'a', lease: 1, usage });
  session.ack(told, false);
  t.deepEqual(await drained, { undelivered: 0 });
  t.deepEqual(
    log.filter((line) => line.includes('refused')),
    [],
    'nothing is wrong',
  );
});

test('a drain of an idle worker is over at once, also when it never connected', async (t) => {
  const { worker, coordinator } = await setup(t);
  coordinator.admit = () => 503;
  await worker.start();
  t.deepEqual(await worker.drain(60_000), { undelivered: 0 });
});

test('a drain goes on over a reconnect and is told again', async (t) => {
  const { coordinator, worker, provider } = await setup(t);
  await worker.start();
  const first = await coordinator.session();
  first.assign(job('a'));
  const run = await provider.next();
  const drained = worker.drain(60_000);
  await first.take('drain');
  first.socket.terminate();
  const second = await coordinator.session();
  await second.take('drain');
  run.end(answer('x'));
  second.ack(await second.take('complete'));
  t.deepEqual(await drained, { undelivered: 0 });
});

test('an acknowledgement that does not come ends the drain five seconds after its grace', async (t) => {
  const clock = new FakeClock();
  const { coordinator, worker, provider } = await setup(t, { clock });
  await worker.start();
  const session = await coordinator.session();
  session.assign(job('a'));
  (await provider.next()).end(answer('x'));
  await session.take('complete');
  const drained = worker.drain(1000);
  await session.take('drain');
  await clock.timerWithin(6000);
  clock.advance(6000);
  t.deepEqual(await drained, { undelivered: 1 });
  // Not 1001: the coordinator would give the job to others at once, as one that had not reached this worker.
  t.is((await session.closed).code, 1000);
});

test('two calls drain once, and stop cuts a drain short', async (t) => {
  const { coordinator, worker, provider } = await setup(t);
  await worker.start();
  const session = await coordinator.session();
  session.assign(job('a'));
  const run = await provider.next();
  const drained = worker.drain(60_000);
  t.is(worker.drain(1), drained);
  await worker.stop();
  t.deepEqual(await drained, { undelivered: 0 });
  t.true(run.context.signal.aborted);
  t.is((await session.closed).code, 1000);
  t.deepEqual(
    session.frames.map(({ type }) => type),
    ['hello', 'drain'],
  );
});

test('stop ends at once, tells nothing and does not connect again', async (t) => {
  const { coordinator, worker, provider, event } = await setup(t);
  await worker.start();
  const session = await coordinator.session();
  session.assign(job('a'));
  const run = await provider.next();
  const stopped = event('stopped');
  await worker.stop();
  await stopped;
  t.true(run.context.signal.aborted);
  t.is((await session.closed).code, 1000);
  t.is(session.of('aborted').length, 0);
  t.is(coordinator.attempts, 1);
  await t.throwsAsync(worker.start(), { message: /started before/ });
});
