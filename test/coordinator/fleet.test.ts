import test from 'ava';
import { closeCodes } from '../../src/domain/workerProtocol.ts';
import { type Bundle, type HandWorker, request, setup } from '../support/coordinator.ts';

const interval = 10_000;

/** Turn the clock in steps while this worker goes on beating. */
function beatFor({ clock }: Bundle, ms: number, ...workers: HandWorker[]): void {
  for (let done = 0; done < ms; done += interval / 2) {
    clock.advance(interval / 2);
    for (const worker of workers) {
      const running = worker.jobs.map(({ job_id, lease }) => ({ jobId: job_id, lease }));
      worker.connection.heard();
      worker.connection.heartbeat(running, undefined);
    }
  }
}

test('a job whose worker vanished is stuck, POST retry requeues it, and the lease rises', async (t) => {
  const { coordinator, worker, jobAs } = await setup(t);
  const first = await worker();
  const { job } = await coordinator.dispatch(request());
  await first.job();
  await t.throwsAsync(coordinator.retry(job.id), { code: 'invalid_transition' });
  first.drop();
  await jobAs(job.id, 'running.stuck');
  t.is((await coordinator.retry(job.id)).job.state, 'pending.ready');
  const second = await worker();
  const again = await second.job();
  t.is(again.lease, 2);
  await second.complete(again);
  const done = await jobAs(job.id, 'completed');
  t.deepEqual(
    done.life.attempts.map(({ outcome }) => outcome),
    ['lost', 'completed'],
  );
});

test('a worker that returns with the lease goes on: nothing is run again', async (t) => {
  const { coordinator, worker, jobAs } = await setup(t);
  const first = await worker({ name: 'box' });
  const { job } = await coordinator.dispatch(request());
  const assigned = await first.job();
  first.drop();
  await jobAs(job.id, 'running.stuck');
  const second = await worker({ name: 'box' }, [{ jobId: job.id, lease: assigned.lease }]);
  t.is(second.id, first.id);
  await jobAs(job.id, 'running.active');
  await second.complete(assigned);
  t.is((await jobAs(job.id, 'completed')).life.attempts.length, 1);
});

test('a worker that returns without the lease gives the job back at once', async (t) => {
  const { coordinator, worker } = await setup(t);
  const first = await worker({ name: 'box' });
  const { job } = await coordinator.dispatch(request());
  await first.job();
  first.drop();
  const second = await worker({ name: 'box' });
  const again = await second.job();
  t.like(again, { job_id: job.id, lease: 2 });
  t.is((await coordinator.job(job.id)).job.life.attempts[0]?.outcome, 'lost');
});

test('a heartbeat that does not list an old enough lease gives the job back; a young one is left alone', async (t) => {
  const bundle = await setup(t);
  const { coordinator, worker, clock, jobWhen } = bundle;
  const hand = await worker();
  const { job } = await coordinator.dispatch(request());
  await hand.job();
  hand.connection.heartbeat([], undefined);
  t.is((await coordinator.job(job.id)).job.state, 'running.active');
  for (let beat = 0; beat < 3; beat += 1) {
    clock.advance(interval);
    hand.connection.heard();
  }
  hand.connection.heartbeat([], undefined);
  t.is((await jobWhen(job.id, ({ life }) => life.attempts.length === 2)).life.attempts[0]?.outcome, 'lost');
});

test('a silent worker gets no new work after 1.5 intervals and is disconnected after 2.5', async (t) => {
  const { coordinator, worker, clock, jobAs } = await setup(t);
  const hand = await worker({ concurrency: 2 });
  const { job } = await coordinator.dispatch(request());
  await hand.job();
  clock.advance(1.6 * interval);
  const late = (await coordinator.dispatch(request())).job;
  t.is((await coordinator.job(late.id)).waiting?.reason, 'workers_paused');
  hand.connection.heard();
  t.is((await hand.job(2)).job_id, late.id);
  clock.advance(2.6 * interval);
  t.is(hand.closed?.code, closeCodes.noHeartbeat);
  await jobAs(job.id, 'running.stuck');
});

test('a lease without heartbeats is reaped and requeued; the zombie is told and its result refused', async (t) => {
  const bundle = await setup(t);
  const { coordinator, worker, clock, jobWhen, jobAs } = bundle;
  const zombie = await worker({ name: 'zombie' });
  const { job } = await coordinator.dispatch(request());
  const assigned = await zombie.job();
  clock.advance(2.6 * interval);
  clock.advance(120_000);
  const back = await jobAs(job.id, 'pending');
  t.is(back.life.reapCount, 1);
  t.is(back.life.attempts[0]?.outcome, 'reaped');
  const healthy = await worker();
  const again = await healthy.job();
  const returned = await worker({ name: 'zombie', concurrency: 0 }, [
    { jobId: job.id, lease: assigned.lease },
  ]);
  t.like(returned.frames[0], { type: 'welcome', lost: [{ job_id: job.id, lease: 1 }] });
  await returned.complete(assigned, 'late');
  t.like(returned.ack, { accepted: false, reason: 'lease_lost' });
  await healthy.complete(again, 'in time');
  t.is((await jobAs(job.id, 'completed')).life.result?.output, 'in time');
  await jobWhen(job.id, ({ life }) => life.attempts[0]?.usage !== null);
});

test('a late result that nobody has overtaken is taken', async (t) => {
  const { coordinator, worker, clock, jobAs } = await setup(t);
  const slow = await worker({ name: 'slow' });
  const { job } = await coordinator.dispatch(request());
  const assigned = await slow.job();
  clock.advance(2.6 * interval);
  clock.advance(120_000);
  await jobAs(job.id, 'pending');
  const back = await worker({ name: 'slow', concurrency: 0 });
  await back.complete(assigned, 'money well spent');
  t.like(back.ack, { accepted: true });
  const done = await jobAs(job.id, 'completed');
  t.is(done.life.result?.output, 'money well spent');
  t.is(done.life.attempts[0]?.outcome, 'completed');
});

test('one heartbeat renews every lease that it lists; one that it leaves out is given back', async (t) => {
  const bundle = await setup(t);
  const { coordinator, worker, clock, jobAs } = bundle;
  const hand = await worker({ concurrency: 3 });
  for (let count = 0; count < 3; count += 1) await coordinator.dispatch(request());
  await hand.job(3);
  beatFor(bundle, 400_000, hand);
  for (const { job_id } of hand.jobs) {
    const view = await coordinator.job(job_id);
    t.is(view.job.state, 'running.active');
    t.is(view.heartbeatAt, clock.now());
    t.is(view.job.life.attempts.length, 1);
  }
  const [forgotten, ...kept] = hand.jobs;
  hand.connection.heartbeat(
    kept.map(({ job_id, lease }) => ({ jobId: job_id, lease })),
    undefined,
  );
  await jobAs(forgotten?.job_id ?? '', 'pending');
  for (const { job_id } of kept) t.is((await coordinator.job(job_id)).job.state, 'running.active');
});

test('a heartbeat that lists leases that are over, of others or of nobody is told that they are lost', async (t) => {
  const { coordinator, worker, jobAs } = await setup(t);
  const hand = await worker({ concurrency: 2 });
  const { job: over } = await coordinator.dispatch(request());
  await hand.complete(await hand.job());
  await jobAs(over.id, 'completed');
  await coordinator.dispatch(request());
  const own = await hand.job(2);
  const other = await worker({ providers: ['other'] });
  const { job: foreign } = await coordinator.dispatch(request({ provider: 'other' }));
  await other.job();
  const lost = [
    { job_id: over.id, lease: 1 },
    { job_id: foreign.id, lease: 1 },
    { job_id: 'nobody', lease: 1 },
    { job_id: own.job_id, lease: 9 },
  ];
  hand.connection.heartbeat(
    [...lost, own].map(({ job_id, lease }) => ({ jobId: job_id, lease })),
    undefined,
  );
  t.deepEqual(hand.frames.at(-1), { type: 'heartbeat_ack', lost });
  t.is((await coordinator.job(foreign.id)).job.state, 'running.active');
  t.is((await coordinator.job(own.job_id)).job.state, 'running.active');
});

test('heartbeats keep a long job running', async (t) => {
  const bundle = await setup(t);
  const hand = await bundle.worker();
  const { job } = await bundle.coordinator.dispatch(request());
  await hand.job();
  beatFor(bundle, 400_000, hand);
  const view = await bundle.coordinator.job(job.id);
  t.is(view.job.state, 'running.active');
  t.is(view.heartbeatAt, bundle.clock.now());
});

test('when the coordinator itself stood still, nobody is reaped for it', async (t) => {
  const bundle = await setup(t);
  const hand = await bundle.worker();
  const { job } = await bundle.coordinator.dispatch(request());
  await hand.job();
  bundle.clock.stall(600_000 - 1);
  t.is(hand.closed, null);
  t.is((await bundle.coordinator.job(job.id)).job.state, 'running.active');
});

test('a heartbeat that lay in the socket while the coordinator stood still gives no job back', async (t) => {
  const bundle = await setup(t);
  const hand = await bundle.worker();
  const { job } = await bundle.coordinator.dispatch(request());
  await hand.job();
  // Sent before the assignment came; read, before any timer runs, when the process goes on.
  bundle.clock.sleep(3 * interval);
  hand.connection.heard();
  hand.connection.heartbeat([], undefined);
  await new Promise<void>((resolve) => setImmediate(resolve));
  t.is((await bundle.coordinator.job(job.id)).job.state, 'running.active');
});

test('a wall clock that jumps a day reaps and times out nothing', async (t) => {
  const bundle = await setup(t);
  const hand = await bundle.worker();
  const { job } = await bundle.coordinator.dispatch(request());
  await hand.job();
  for (const days of [1, -2]) {
    bundle.clock.jump(days * 86_400_000);
    beatFor(bundle, 60_000, hand);
  }
  t.is((await bundle.coordinator.job(job.id)).job.state, 'running.active');
});

test('a paused worker gets no work until it is resumed, stays paused over a reconnect and a restart', async (t) => {
  const bundle = await setup(t);
  const hand = await bundle.worker({ name: 'napper' });
  await bundle.coordinator.setWorkerPaused(hand.id, true);
  t.like(hand.frames.at(-1), { type: 'settings', paused: true });
  const { job } = await bundle.coordinator.dispatch(request());
  t.is((await bundle.coordinator.job(job.id)).waiting?.reason, 'workers_paused');
  hand.drop();
  const restarted = await bundle.restart();
  const back = await restarted.worker({ name: 'napper' });
  t.is(back.id, hand.id);
  t.like(back.frames[0], { type: 'welcome', paused: true });
  await restarted.coordinator.setWorkerPaused(back.id, false);
  t.is((await back.job()).job_id, job.id);
});

test('a second live worker of the same name is refused; the same process takes over its own connection', async (t) => {
  const { worker } = await setup(t);
  const first = await worker({ name: 'only', instance: 'a' });
  const stranger = await worker({ name: 'only', instance: 'b' });
  t.is(stranger.closed?.code, closeCodes.nameTaken);
  t.is(first.closed, null);
  const itself = await worker({ name: 'only', instance: 'a' });
  t.is(itself.closed, null);
  t.is(itself.id, first.id);
  t.is(first.closed?.code, closeCodes.nameTaken);
});

test('a draining worker gives a job back and no attempt is burnt', async (t) => {
  const { coordinator, worker, jobAs } = await setup(t);
  const leaving = await worker();
  const { job } = await coordinator.dispatch(request());
  const assigned = await leaving.job();
  leaving.connection.drain();
  await leaving.connection.conclude({ jobId: job.id, lease: assigned.lease }, { type: 'release' });
  t.like(leaving.ack, { accepted: true });
  const back = await jobAs(job.id, 'pending');
  t.is(back.life.reapCount, 0);
  t.is((await coordinator.worker(leaving.id)).status, 'draining');
  const next = await worker();
  t.is((await next.job()).job_id, job.id);
});

test('an assignment that crosses the last word of a worker that has drained goes to the next, and no attempt is burnt', async (t) => {
  const { coordinator, worker, jobAs } = await setup(t);
  const leaving = await worker();
  const { job } = await coordinator.dispatch(request());
  await leaving.job();
  leaving.connection.drain();
  leaving.drop(closeCodes.goingAway);
  const { life } = await jobAs(job.id, 'pending');
  t.like(life, { reapCount: 0, releaseCount: 1, attempts: [{ outcome: 'released' }] });
  const next = await worker();
  t.is((await next.job()).job_id, job.id);
});

for (const { what, drains, code } of [
  { what: 'drains and loses its connection', drains: true, code: 1006 },
  {
    what: 'drains and goes with an outcome that nobody has acknowledged',
    drains: true,
    code: closeCodes.normal,
  },
  { what: 'goes without a drain', drains: false, code: closeCodes.goingAway },
]) {
  test(`a worker that ${what} may still have its job`, async (t) => {
    const { coordinator, worker, jobAs } = await setup(t);
    const leaving = await worker();
    const { job } = await coordinator.dispatch(request());
    await leaving.job();
    if (drains) leaving.connection.drain();
    leaving.drop(code);
    t.is((await jobAs(job.id, 'running.stuck')).life.releaseCount, undefined);
  });
}

test('a job that outlives its workers max_reaps times ends failed', async (t) => {
  const bundle = await setup(t, { jobs: { maxReaps: 1 } });
  const { coordinator, worker, clock, jobAs } = bundle;
  const { job } = await coordinator.dispatch(request());
  for (const status of ['pending', 'failed']) {
    const victim = await worker();
    await victim.job();
    clock.advance(2.6 * interval);
    clock.advance(120_000);
    await jobAs(job.id, status);
  }
  t.is((await coordinator.job(job.id)).job.life.error?.code, 'worker_lost');
});

test('after a restart a running job goes on; its worker delivers, and nothing is run again', async (t) => {
  const bundle = await setup(t);
  const hand = await bundle.worker({ name: 'keeps-on' });
  const { job } = await bundle.coordinator.dispatch(request());
  const assigned = await hand.job();
  const restarted = await bundle.restart();
  const back = await restarted.worker({ name: 'keeps-on' }, [{ jobId: job.id, lease: assigned.lease }]);
  await back.complete(assigned, 'survived');
  t.like(back.ack, { accepted: true });
  const done = await restarted.jobAs(job.id, 'completed');
  t.is(done.life.attempts.length, 1);
  t.is(done.life.result?.output, 'survived');
});

test('after a restart a job whose worker does not return is stuck, and then reaped', async (t) => {
  const bundle = await setup(t);
  const hand = await bundle.worker();
  const { job } = await bundle.coordinator.dispatch(request());
  await hand.job();
  const restarted = await bundle.restart();
  t.is((await restarted.coordinator.job(job.id)).job.state, 'running.active');
  restarted.clock.advance(2.6 * interval);
  await restarted.jobAs(job.id, 'running.stuck');
  restarted.clock.advance(120_000);
  await restarted.jobAs(job.id, 'pending');
});

test('a job that waits for many workers names the first of them', async (t) => {
  const { coordinator, worker } = await setup(t);
  for (let count = 1; count <= 12; count += 1) await worker({ name: `w-${count}`, concurrency: 0 });
  const { waiting } = await coordinator.dispatch(request());
  t.is(waiting?.reason, 'concurrency_zero');
  t.regex(waiting?.detail ?? '', /: w-1, w-2, .*, w-10 and 2 more$/);
});

test('workers are asked for heartbeats three times within the time to reap, and a healthy one keeps its job', async (t) => {
  const bundle = await setup(t, { jobs: { heartbeatIntervalSeconds: 10, reapStaleAfterSeconds: 4 } });
  const { coordinator, worker, clock } = bundle;
  const hand = await worker();
  t.like(hand.frames[0], { type: 'welcome', heartbeat_interval_seconds: 1.333 });
  const { job } = await coordinator.dispatch(request());
  const { lease } = await hand.job();
  for (let beat = 0; beat < 20; beat += 1) {
    clock.advance(1_333);
    hand.connection.heard();
    hand.connection.heartbeat([{ jobId: job.id, lease }], undefined);
  }
  t.like((await coordinator.job(job.id)).job, { state: 'running.active', life: { reapCount: 0 } });
  t.is(hand.closed, null);
});

test('with reaping off a stuck job outlives its timeout, until it is retried or its worker is back', async (t) => {
  const bundle = await setup(t, { jobs: { reapStaleAfterSeconds: 0, timeoutSeconds: 60 } });
  const { coordinator, worker, clock, jobAs } = bundle;
  const first = await worker({ name: 'box', concurrency: 2 });
  const jobs = [];
  for (let count = 0; count < 2; count += 1) jobs.push((await coordinator.dispatch(request())).job);
  const assigned = await first.job(2);
  first.drop();
  for (const { id } of jobs) await jobAs(id, 'running.stuck');
  clock.advance(120_000);
  for (const { id } of jobs) t.is((await coordinator.job(id)).job.state, 'running.stuck');
  const other = jobs.find(({ id }) => id !== assigned.job_id);
  t.is((await coordinator.retry(other?.id ?? '')).job.state, 'pending.ready');
  await worker({ name: 'box', concurrency: 0 }, [{ jobId: assigned.job_id, lease: assigned.lease }]);
  await jobAs(assigned.job_id, 'running.active');
  clock.advance(1);
  t.is((await jobAs(assigned.job_id, 'failed')).life.error?.code, 'job_timeout');
});
