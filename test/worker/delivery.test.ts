import test from 'ava';
import { closeCodes } from '../../src/domain/workerProtocol.ts';
import { FakeClock } from '../support/fakeClock.ts';
import { answer, job, setup, usage } from './support/setup.ts';

test('an outcome is sent again after every reconnect until it is acknowledged', async (t) => {
  const { coordinator, worker, provider, event } = await setup(t);
  await worker.start();
  let session = await coordinator.session();
  session.assign(job('a', { lease: 3 }));
  (await provider.next()).end(answer('paid for'));
  const sent = await session.take('complete');
  for (let again = 0; again < 2; again++) {
    session.socket.terminate();
    session = await coordinator.connection();
    t.deepEqual((await session.take('hello')).running, [{ job_id: 'a', lease: 3 }]);
    session.welcome();
    t.deepEqual(await session.take('complete'), sent);
  }
  const acknowledged = event('acknowledged');
  session.ack(sent);
  await acknowledged;
  t.is(worker.undelivered, 0);
  session.socket.terminate();
  session = await coordinator.connection();
  t.deepEqual((await session.take('hello')).running, []);
  session.welcome();
  await session.settled();
  t.is(session.of('complete').length, 0);
});

test('a refused outcome is dropped like an accepted one', async (t) => {
  const { coordinator, worker, provider, event } = await setup(t);
  await worker.start();
  const session = await coordinator.session();
  session.assign(job('a'));
  (await provider.next()).end(answer('late'));
  const acknowledged = event('acknowledged');
  session.ack(await session.take('complete'), false);
  t.deepEqual(await acknowledged, { jobId: 'a', lease: 1, accepted: false, reason: 'lease_lost' });
  t.is(worker.undelivered, 0);
});

test('a refusal of a lease that still runs stops it', async (t) => {
  const { coordinator, worker, provider } = await setup(t);
  await worker.start();
  const session = await coordinator.session();
  session.assign(job('a'));
  const run = await provider.next();
  session.ack({ job_id: 'a', lease: 1 }, false);
  session.ack(await session.take('aborted'), false);
  await session.settled();
  t.true(run.context.signal.aborted);
  t.is(worker.undelivered, 0);
});

test('work goes on while the coordinator is away, and its result is delivered after', async (t) => {
  const { coordinator, worker, provider, event } = await setup(t);
  await worker.start();
  const first = await coordinator.session();
  first.assign(job('a'), job('b'));
  const [a, b] = [await provider.next(), await provider.next()];
  const gone = event('disconnected');
  coordinator.admit = () => 503;
  first.socket.terminate();
  await gone;
  const finished = event('finished');
  a.end(answer('made alone'));
  await finished;
  t.is(worker.undelivered, 1);
  t.false(b.context.signal.aborted);
  coordinator.admit = () => null;
  const second = await coordinator.connection();
  t.deepEqual((await second.take('hello')).running, [
    { job_id: 'b', lease: 1 },
    { job_id: 'a', lease: 1 },
  ]);
  second.welcome();
  t.is((await second.take('complete')).result.output, 'made alone');
  t.is(worker.running, 1);
});

test('leases that the welcome calls lost are stopped and say what they had used; the rest goes on', async (t) => {
  const { coordinator, worker, provider } = await setup(t);
  await worker.start();
  const first = await coordinator.session();
  first.assign(job('a'), job('b'));
  const [a, b] = [await provider.next(), await provider.next()];
  first.socket.terminate();
  const second = await coordinator.session({ lost: [{ job_id: 'a', lease: 1 }] });
  const told = await second.take('aborted');
  t.deepEqual(told, { type: 'aborted', job_id: 'a', lease: 1, usage });
  t.true(a.context.signal.aborted);
  t.false(b.context.signal.aborted);
  second.ack(told, false);
  await second.settled();
  t.is(worker.undelivered, 0);
  t.is(worker.running, 1);
});

test('leases that a heartbeat answer calls lost are stopped', async (t) => {
  const { coordinator, worker, provider } = await setup(t);
  await worker.start();
  const session = await coordinator.session();
  session.assign(job('a'), job('b', { lease: 5 }));
  const [a, b] = [await provider.next(), await provider.next()];
  session.send({
    type: 'heartbeat_ack',
    lost: [
      { job_id: 'a', lease: 1 },
      { job_id: 'b', lease: 4 },
    ],
  });
  await session.take('aborted');
  t.true(a.context.signal.aborted);
  t.false(b.context.signal.aborted);
});

test('a finished outcome is offered even for a lost lease: the coordinator decides', async (t) => {
  const { coordinator, worker, provider } = await setup(t);
  await worker.start();
  const first = await coordinator.session();
  first.assign(job('a'));
  (await provider.next()).end(answer('late but whole'));
  await first.take('complete');
  first.socket.terminate();
  const second = await coordinator.session({ lost: [{ job_id: 'a', lease: 1 }] });
  const late = await second.take('complete');
  second.ack(late, false);
  await second.settled();
  t.is(worker.undelivered, 0);
});

test('without an answered heartbeat for the stale time the worker stops its runs itself and keeps its outcomes', async (t) => {
  const clock = new FakeClock();
  const { coordinator, worker, provider, event } = await setup(t, { clock, staleSeconds: 120 });
  await worker.start();
  const first = await coordinator.session();
  first.assign(job('done'), job('runs'));
  (await provider.next()).end(answer('kept'));
  const runs = await provider.next();
  await first.take('complete');
  clock.advance(10_000);
  await first.take('heartbeat');
  first.send({ type: 'heartbeat_ack', lost: [] });
  await first.settled();
  const gone = event('disconnected');
  coordinator.admit = () => 503;
  first.socket.terminate();
  await gone;
  clock.advance(119_999);
  t.false(runs.context.signal.aborted);
  const fenced = event('fenced');
  clock.advance(1);
  t.deepEqual(await fenced, { stopped: 1 });
  t.true(runs.context.signal.aborted);
  coordinator.admit = () => null;
  await clock.timerWithin(60_000);
  clock.advance(60_000);
  const second = await coordinator.session();
  t.is((await second.take('complete')).job_id, 'done');
  const released = await second.take('release');
  t.is(released.job_id, 'runs');
  second.ack(released, false);
  t.deepEqual(await second.take('aborted'), { type: 'aborted', job_id: 'runs', lease: 1, usage });
});

test('answered heartbeats keep the runs going for as long as it takes', async (t) => {
  const clock = new FakeClock();
  const { coordinator, worker, provider } = await setup(t, { clock, staleSeconds: 25 });
  await worker.start();
  const session = await coordinator.session();
  session.assign(job('a'));
  const run = await provider.next();
  for (let beat = 0; beat < 30; beat++) {
    clock.advance(10_000);
    await session.take('heartbeat');
    session.send({ type: 'heartbeat_ack', lost: [] });
    await session.settled();
  }
  t.false(run.context.signal.aborted);
});

test('streamed text that could not be sent is sent after the reconnect', async (t) => {
  const { coordinator, worker, provider, event } = await setup(t);
  await worker.start();
  const first = await coordinator.session();
  first.assign(job('a'));
  const run = await provider.next();
  const gone = event('disconnected');
  first.socket.terminate();
  await gone;
  run.context.onText('said in between');
  const second = await coordinator.session();
  t.deepEqual(await second.take('chunk'), {
    type: 'chunk',
    job_id: 'a',
    lease: 1,
    seq: 1,
    text: 'said in between',
  });
});

test('a key that was revoked (4401) takes the runs with it, and what they had used is told after the reconnect', async (t) => {
  const { coordinator, worker, provider, event } = await setup(t);
  await worker.start();
  const first = await coordinator.session();
  first.assign(job('a'));
  const run = await provider.next();
  const refused = event('unauthorized');
  first.socket.close(closeCodes.keyRefused, 'revoked');
  await refused;
  t.true(run.context.signal.aborted);
  worker.retryNow();
  const second = await coordinator.session();
  t.like(await second.take('aborted'), { job_id: 'a', lease: 1, usage });
});
