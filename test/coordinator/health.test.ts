import test from 'ava';
import type { ReportedFailure } from '../../src/domain/failure.ts';
import { nextTurn } from '../../src/lib/nextTurn.ts';
import { type Bundle, type HandWorker, request, setup } from '../support/coordinator.ts';
import { textParts } from '../support/textParts.ts';

const down = { class: 'network', message: 'connect ECONNREFUSED 127.0.0.1:8000' } as const;

/** A worker reports a failure of its `nth` job. */
async function fail(hand: HandWorker, nth: number, reported: Partial<ReportedFailure>): Promise<void> {
  const { job_id: jobId, lease } = await hand.job(nth);
  const failure: ReportedFailure = {
    class: 'server_error',
    message: 'no',
    status: null,
    code: null,
    retryAfterMs: null,
    ...reported,
  };
  await hand.connection.conclude({ jobId, lease }, { type: 'fail', failure, usage: null });
}

/** Turns in which a job could be handed out. */
async function aWhile(): Promise<void> {
  for (let turn = 0; turn < 100; turn += 1) await nextTurn();
}

async function pass({ clock }: Bundle, seconds: number, ...hands: HandWorker[]): Promise<void> {
  for (let second = 0; second < seconds; second += 1) {
    clock.advance(1_000);
    for (const hand of hands) hand.connection.heard();
    await aWhile();
  }
}

/** Answer every job that a worker has and gets, until it has had so many. */
async function serve(hand: HandWorker, from: number, to: number): Promise<void> {
  for (let nth = from; nth <= to; nth += 1) await hand.complete(await hand.job(nth));
}

for (const [what, reported] of [
  ['cannot reach its server', down],
  ['has a key that is refused', { class: 'auth', status: 401 }],
  ['does not have the model', { class: 'model_not_found', status: 404 }],
  ['waits for its model', { class: 'model_not_loaded', code: 'model_loading', status: 503 }],
] as const) {
  test(`a worker that ${what} gets one job, which another worker does, and no attempt counts`, async (t) => {
    const { coordinator, worker, jobAs } = await setup(t, { jobs: { maxAttempts: 1 } });
    const bad = await worker({ name: 'bad', concurrency: 4 });
    const { job } = await coordinator.dispatch(request());
    await bad.job();
    const good = await worker({ name: 'good' });
    await fail(bad, 1, reported);
    for (let count = 0; count < 20; count += 1) await coordinator.dispatch(request());
    await serve(good, 1, 21);
    t.is(good.jobs[0]?.job_id, job.id, 'the job keeps its place');
    t.is(bad.jobs.length, 1);
    const done = await jobAs(job.id, 'completed');
    t.deepEqual(done.life.tallies, { echo: { transient: 0, rateLimited: 0 } });
    t.like(done.life.attempts[0], { outcome: 'failed', cost: { status: 'none' } });
  });
}

test('a worker that answers 500 three times in a row is passed over, and its jobs are done by the other', async (t) => {
  const bundle = await setup(t);
  const { coordinator, worker, jobAs } = bundle;
  const bad = await worker({ name: 'bad', concurrency: 3 });
  const jobs = [];
  for (let count = 0; count < 3; count += 1) jobs.push((await coordinator.dispatch(request())).job);
  await bad.job(3);
  const good = await worker({ name: 'good', concurrency: 3 });
  for (let nth = 1; nth <= 3; nth += 1) await fail(bad, nth, { status: 500 });
  t.like((await coordinator.worker(bad.id)).refusals, [{ fault: 'failing', inRow: 3 }]);
  await pass(bundle, 1, bad, good);
  await serve(good, 1, 3);
  for (const { id } of jobs) await jobAs(id, 'completed');
  t.is(coordinator.providers().find(({ name }) => name === 'echo')?.status, 'available');
});

test('a job that failed on one worker only is not failed for good while another one is well', async (t) => {
  const bundle = await setup(t, { jobs: { maxAttempts: 2 } });
  const { coordinator, worker, jobAs } = bundle;
  const good = await worker({ name: 'good' });
  await coordinator.dispatch(request());
  const busy = await good.job();
  const bad = await worker({ name: 'bad', concurrency: 2 });
  const { job } = await coordinator.dispatch(request());
  for (let nth = 1; nth <= 2; nth += 1) {
    await fail(bad, nth, { status: 500 });
    t.is((await coordinator.job(job.id)).job.state, 'pending.delayed');
    await pass(bundle, 2, bad, good);
  }
  await fail(bad, 3, { status: 500 });
  await good.complete(busy);
  await pass(bundle, 5, bad, good);
  await good.complete(await good.job(2));
  await jobAs(job.id, 'completed');
});

test('a request that breaks its connection ends after max_attempts, on whatever workers', async (t) => {
  const bundle = await setup(t);
  const { coordinator, worker, jobAs } = bundle;
  const first = await worker({ name: 'first' });
  const second = await worker({ name: 'second' });
  const { job } = await coordinator.dispatch(request());
  for (let attempt = 0; attempt < 3; attempt += 1) {
    await pass(bundle, 5, first, second);
    await jobAs(job.id, 'running');
    const runs = [first, second].find(({ jobs }) => jobs.at(-1)?.lease === attempt + 1) as HandWorker;
    await fail(runs, runs.jobs.length, { class: 'network', message: 'broke off', code: 'ECONNRESET' });
  }
  const failed = await jobAs(job.id, 'failed');
  t.is(failed.life.attempts.length, 3);
  t.is(new Set(failed.life.attempts.map(({ workerId }) => workerId)).size, 2, 'the other one is preferred');
});

test('jobs wait for the only server while it is down, say so, and one at a time tries it again', async (t) => {
  const bundle = await setup(t, { jobs: { maxAttempts: 1, timeoutSeconds: 0 } });
  const { coordinator, worker, clock, jobAs } = bundle;
  const hand = await worker({ name: 'box', concurrency: 4 });
  const ids: string[] = [];
  for (let count = 0; count < 8; count += 1) ids.push((await coordinator.dispatch(request())).job.id);
  for (let nth = 1; nth <= 4; nth += 1) await fail(hand, nth, down);
  await aWhile();
  t.is(hand.jobs.length, 4);
  for (const id of ids) {
    const { waiting } = await coordinator.job(id);
    t.is(waiting?.reason, 'workers_unhealthy');
    t.regex(
      waiting?.detail ?? '',
      /^box cannot reach echo: connect ECONNREFUSED \S+ \(network\); one job tries/,
    );
    t.true((waiting?.until ?? 0) > clock.now());
  }
  await pass(bundle, 1, hand);
  await hand.job(5);
  await aWhile();
  t.is(hand.jobs.length, 5, 'one trial');
  t.regex((await coordinator.job(ids[7] ?? '')).waiting?.detail ?? '', /one job is sent to see/);
  await fail(hand, 5, down);
  await pass(bundle, 1, hand);
  t.is(hand.jobs.length, 5, 'the pause is longer each time');
  await pass(bundle, 1, hand);
  const { job_id: jobId, lease } = await hand.job(6);
  hand.connection.chunk({ jobId, lease }, 0, textParts('back'));
  await hand.job(9);
  t.deepEqual((await coordinator.worker(hand.id)).refusals, []);
  for (let nth = 6; nth <= 13; nth += 1) await hand.complete(await hand.job(nth));
  for (const id of ids) await jobAs(id, 'completed');
});

test('a job that waits for months for a server that is down stays small', async (t) => {
  const bundle = await setup(t, { jobs: { timeoutSeconds: 0 } });
  const { coordinator, worker } = bundle;
  const hand = await worker();
  const { job } = await coordinator.dispatch(request());
  for (let nth = 1; nth <= 60; nth += 1) {
    await fail(hand, nth, down);
    await coordinator.setWorkerPaused(hand.id, false);
  }
  const waiting = (await coordinator.job(job.id)).job;
  t.is(waiting.life.attempts.length, 50);
  await hand.complete(await hand.job(61));
  const { life } = await bundle.jobAs(job.id, 'completed');
  t.deepEqual(
    life.attempts.map(({ number }) => number),
    Array.from({ length: 50 }, (_, index) => index + 1),
  );
  const counted = await coordinator.costSummary('day', 'UTC');
  t.is(counted.amounts.attempts, 50);
});

test('a trial that comes back without a verdict is sent again', async (t) => {
  const bundle = await setup(t);
  const { coordinator, worker } = bundle;
  const hand = await worker({ concurrency: 2 });
  await coordinator.dispatch(request());
  await fail(hand, 1, down);
  await coordinator.dispatch(request());
  await pass(bundle, 1, hand);
  const trial = await hand.job(2);
  await coordinator.cancel(trial.job_id);
  await hand.connection.conclude(
    { jobId: trial.job_id, lease: trial.lease },
    { type: 'aborted', usage: null },
  );
  await hand.complete(await hand.job(3));
  t.deepEqual((await coordinator.worker(hand.id)).refusals, []);
});

test('a model that one worker lacks keeps it from no other model, and its new list of models ends that', async (t) => {
  const bundle = await setup(t);
  const { coordinator, worker } = bundle;
  const box = await worker({ name: 'box', concurrency: 4 });
  const model = (name: string) => request({ model: name });
  await coordinator.dispatch(model('big'));
  const busy = await worker({ name: 'busy', concurrency: 1 });
  await fail(box, 1, { class: 'model_not_found', status: 404 });
  await busy.job();
  t.like((await coordinator.worker(box.id)).refusals, [{ fault: 'missing', model: 'big' }]);
  await coordinator.dispatch(model('small'));
  t.is((await box.job(2)).model, 'small');
  await coordinator.dispatch(model('big'));
  await aWhile();
  t.is(box.jobs.length, 2);
  box.connection.heartbeat([{ jobId: box.jobs[1]?.job_id ?? '', lease: 1 }], { echo: ['big', 'small'] });
  t.is((await box.job(3)).model, 'big');
});

test('a model that every worker lacks fails its jobs in the words of the spec, one attempt for each worker', async (t) => {
  const { coordinator, worker, jobAs } = await setup(t);
  const hands = [await worker({ name: 'a' }), await worker({ name: 'b' })];
  const missing = { class: 'model_not_found', message: 'no such model', status: 404 } as const;
  const { job } = await coordinator.dispatch(request({ model: 'none' }));
  const first = hands.find(({ jobs }) => jobs.length === 1) ?? hands[0];
  const second = hands.find((hand) => hand !== first);
  await fail(first as HandWorker, 1, missing);
  await fail(second as HandWorker, 1, missing);
  t.regex((await jobAs(job.id, 'failed')).life.error?.message ?? '', /^Model not found/);
  const next = (await coordinator.dispatch(request({ model: 'none' }))).job;
  await jobAs(next.id, 'running');
  const runs = hands.find(({ jobs }) => jobs.length === 2) as HandWorker;
  await fail(runs, 2, missing);
  t.is((await jobAs(next.id, 'failed')).life.attempts.length, 1);
});

test('a model that one worker lacks is waited for while the other one, which may have it, is away from its server', async (t) => {
  const bundle = await setup(t);
  const { coordinator, worker, jobAs } = bundle;
  const away = await worker({ name: 'away' });
  const { job } = await coordinator.dispatch(request({ model: 'big' }));
  await fail(away, 1, down);
  const lacking = await worker({ name: 'lacking' });
  await fail(lacking, 1, { class: 'model_not_found', status: 404 });
  await aWhile();
  t.is(lacking.jobs.length, 1);
  t.is((await coordinator.job(job.id)).waiting?.reason, 'workers_unhealthy');
  await pass(bundle, 2, away, lacking);
  await away.complete(await away.job(2));
  await jobAs(job.id, 'completed');
});

test('a member of a chain whose workers cannot reach it is skipped, and taken again when they can', async (t) => {
  const routing = {
    strategy: 'fallback' as const,
    chain: ['first', 'second'],
    rules: [],
    fallbackOnTimeout: true,
  };
  const bundle = await setup(t, { routing });
  const { coordinator, worker, jobAs } = bundle;
  const first = await worker({ providers: ['first'] });
  const second = await worker({ providers: ['second'], concurrency: 2 });
  const { job } = await coordinator.dispatch(request({ provider: null }));
  await fail(first, 1, down);
  await second.complete(await second.job());
  const done = await jobAs(job.id, 'completed');
  t.deepEqual(
    done.life.route.map(({ provider, outcome }) => `${provider} ${outcome}`),
    ['first chosen', 'first failed', 'first skipped', 'second chosen'],
  );
  await pass(bundle, 1, first, second);
  await coordinator.dispatch(request({ provider: null }));
  await first.complete(await first.job(2));
});

test('a breaker that opened lets a worker that comes then have a job at once', async (t) => {
  const bundle = await setup(t, { jobs: { maxAttempts: 1 } });
  const { coordinator, worker } = bundle;
  const bad = await worker({ name: 'bad', concurrency: 10 });
  for (let count = 0; count < 10; count += 1) await coordinator.dispatch(request());
  for (let nth = 1; nth <= 10; nth += 1) await fail(bad, nth, { status: 500 });
  const { job } = await coordinator.dispatch(request());
  t.is((await coordinator.job(job.id)).waiting?.reason, 'provider_open');
  const fresh = await worker({ name: 'fresh' });
  t.is((await fresh.job()).job_id, job.id);
});

test('a hostile client that names many models costs a worker 200 faults at most', async (t) => {
  const { coordinator, worker } = await setup(t);
  const hand = await worker();
  for (let nth = 1; nth <= 220; nth += 1) {
    await coordinator.dispatch(request({ model: `m${nth}` }));
    await fail(hand, nth, { class: 'model_not_found', status: 404 });
  }
  t.is((await coordinator.worker(hand.id)).refusals.length, 200);
});
