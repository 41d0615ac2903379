import test from 'ava';
import { type Doer, nobody } from '../../src/domain/audit.ts';
import { StoreUnavailable } from '../../src/domain/errors.ts';
import { noFilter } from '../../src/domain/jobFilter.ts';
import type { Principal } from '../../src/domain/key.ts';
import { addToTotals, noTotals, type RunLimits, type RunRecord } from '../../src/domain/run.ts';
import { usageFromWire } from '../../src/domain/usage.ts';
import type { Assignment } from '../../src/domain/workerProtocol.ts';
import { nextTurn } from '../../src/lib/nextTurn.ts';
import { auditQueryOf } from '../conformance/audit.ts';
import { type Bundle, type HandWorker, request, setup } from '../support/coordinator.ts';

const ann: Principal = { keyId: 'k1', name: 'ann', role: 'client', bounds: null, secretHash: '' };
const doer: Doer = { actor: ann, address: '10.0.0.1' };
const noLimits: RunLimits = { maxCost: null, maxFailures: null, deadline: null };

/** A dollar for 1,000 tokens: a job that uses that many costs a dollar. */
const price = { cachedInputPerMillion: null, cacheWritePerMillion: null, free: false };
const pricing = { echo: { gold: { ...price, inputPerMillion: 1_000, outputPerMillion: 1_000 } } };
const dollar = 1e9;
const aDollarsWorth = usageFromWire({ input_tokens: 500, output_tokens: 500 });

async function makeRun({ coordinator }: Bundle, limits: Partial<RunLimits> = {}, name = 'nightly') {
  const { view } = await coordinator.runs.create(
    { name, limits: { ...noLimits, ...limits }, defaults: {} },
    ann,
  );
  return view.run;
}

/** Lines `l0`, `l1`, … */
function lines({ coordinator }: Bundle, count: number, fields: Parameters<typeof request>[0] = {}, from = 0) {
  return Array.from({ length: count }, (_, index) => ({
    lineId: `l${from + index}`,
    planned: coordinator.plan(request(fields)),
  }));
}

const gold = { model: 'gold', params: { max_tokens: 500 } };

/** The run once `isReached`. */
async function runWhen(
  { coordinator }: Bundle,
  isReached: (run: RunRecord) => boolean,
  name = 'nightly',
): Promise<RunRecord> {
  for (let turn = 0; turn < 200_000; turn += 1) {
    const { run } = coordinator.runs.get(name);
    if (isReached(run)) return run;
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  throw new Error(`the run stays ${JSON.stringify(coordinator.runs.get(name).run)}`);
}

async function someTurns(): Promise<void> {
  for (let turn = 0; turn < 200; turn += 1) await nextTurn();
}

function fail(hand: HandWorker, { job_id: jobId, lease }: Assignment, code = 'bad'): Promise<void> {
  const failure = {
    class: 'invalid_request',
    message: `no ${code}`,
    status: 400,
    code,
    retryAfterMs: null,
  } as const;
  return hand.connection.conclude({ jobId, lease }, { type: 'fail', failure, usage: null });
}

/** Everything of a run, added up from its jobs. */
async function addedUp({ coordinator }: Bundle, name = 'nightly') {
  const sums = { pending: 0, running: 0, completed: 0, failed: 0, cancelled: 0, nanoDollars: 0, reserved: 0 };
  for await (const jobs of coordinator.runs.jobs(name)) {
    for (const { state, life } of jobs) {
      sums[(state.split('.')[0] ?? '') as 'pending'] += 1;
      for (const { cost, outcome, estimate = 0 } of life.attempts) {
        sums.nanoDollars += cost.nanoDollars ?? 0;
        if (outcome === null) sums.reserved += estimate;
      }
    }
  }
  return sums;
}

test('a line is sent once, however often it comes: at once, later, twice in a request, after a kill', async (t) => {
  const first = await setup(t);
  await makeRun(first);
  const [a, b] = await Promise.all([
    first.coordinator.runs.add('nightly', lines(first, 3), ann),
    first.coordinator.runs.add('nightly', lines(first, 4), ann),
  ]);
  t.deepEqual(
    [a, b],
    [
      { created: 3, known: 0 },
      { created: 1, known: 3 },
    ],
  );
  const twice = [...lines(first, 1, {}, 9), ...lines(first, 1, {}, 9)];
  t.deepEqual(await first.coordinator.runs.add('nightly', twice, ann), { created: 1, known: 1 });
  const second = await first.restart();
  t.deepEqual(await second.coordinator.runs.add('nightly', lines(second, 6), ann), { created: 2, known: 4 });
  t.is((await second.coordinator.counts()).total, 7);
  t.is(second.coordinator.runs.get('nightly').run.totals.pending, 7);
  const order: string[] = [];
  for await (const jobs of second.coordinator.runs.jobs('nightly'))
    order.push(...jobs.map(({ run }) => run?.lineId ?? ''));
  t.deepEqual(order, ['l0', 'l1', 'l2', 'l3', 'l9', 'l4', 'l5']);
});

test('a run with the name of another is that one; another run has its own lines', async (t) => {
  const bundle = await setup(t);
  const run = await makeRun(bundle);
  const again = await bundle.coordinator.runs.create(
    { name: 'nightly', limits: { ...noLimits, maxCost: 5 }, defaults: { model: 'x' } },
    ann,
  );
  t.false(again.isNew);
  t.deepEqual(again.view.run, run);
  await makeRun(bundle, {}, 'weekly');
  await bundle.coordinator.runs.add('nightly', lines(bundle, 2), ann);
  t.deepEqual(await bundle.coordinator.runs.add('weekly', lines(bundle, 2), ann), { created: 2, known: 0 });
  const { jobs } = await bundle.store.jobs({
    ...noFilter,
    run: run.id,
    limit: 10,
    offset: 0,
  });
  t.deepEqual(
    jobs.map((job) => job.run),
    ['l1', 'l0'].map((lineId) => ({ runId: run.id, name: 'nightly', lineId })),
  );
});

test('a line whose job is archived is known, its answer is read in its order, and the totals keep it', async (t) => {
  const bundle = await setup(t, { retention: { keepDays: 30, keepJobs: 1, auditDays: 400 } });
  await makeRun(bundle);
  const hand = await bundle.worker({ concurrency: 1 });
  await bundle.coordinator.runs.add('nightly', lines(bundle, 4), ann);
  for (let count = 1; count <= 4; count += 1) {
    bundle.clock.advance(1_000);
    await hand.complete(await hand.job(count), `answer ${count}`);
  }
  await runWhen(bundle, ({ state }) => state === 'completed');
  for (let turn = 0; (await bundle.coordinator.counts()).total > 1; turn += 1) {
    bundle.clock.advance(turn % 500 === 0 ? 1_000 : 0);
    await nextTurn();
  }
  t.deepEqual(await bundle.coordinator.runs.add('nightly', lines(bundle, 5), ann), { created: 1, known: 4 });
  const answers: (string | null)[] = [];
  for await (const jobs of bundle.coordinator.runs.jobs('nightly'))
    answers.push(...jobs.map(({ life }) => life.result?.output ?? null));
  t.deepEqual(answers, ['answer 1', 'answer 2', 'answer 3', 'answer 4', null]);
  t.is((await bundle.coordinator.runs.job('nightly', 'l0'))?.life.result?.output, 'answer 1');
  const again = await bundle.restart();
  t.like(again.coordinator.runs.get('nightly').run.totals, { completed: 4 });
});

test('a run ends with its last job, and goes on when it gets more or one of its jobs is retried', async (t) => {
  const bundle = await setup(t);
  await makeRun(bundle);
  const hand = await bundle.worker({ concurrency: 2 });
  await bundle.coordinator.runs.add('nightly', lines(bundle, 2), ann);
  await hand.complete(await hand.job(1));
  t.is(bundle.coordinator.runs.get('nightly').run.state, 'running');
  bundle.clock.advance(5_000);
  await fail(hand, await hand.job(2));
  const ended = await runWhen(bundle, ({ state }) => state === 'completed');
  t.is(ended.life.finishedAt, bundle.clock.now());
  t.like(ended.totals, { completed: 1, failed: 1 });
  t.like(ended.totals.failures[0], { class: 'invalid_request', code: 'bad', message: 'no bad', count: 1 });
  await bundle.coordinator.runs.add('nightly', lines(bundle, 3), ann);
  await runWhen(bundle, ({ state, totals }) => state === 'running' && totals.running === 1);
  await hand.complete(await hand.job(3));
  await runWhen(bundle, ({ state }) => state === 'completed');
  const { retried, archived } = await bundle.coordinator.runs.retry('nightly', null, doer);
  t.deepEqual([retried, archived], [1, 0]);
  t.deepEqual(bundle.coordinator.runs.get('nightly').run.totals.failures, []);
  await hand.complete(await hand.job(4));
  const whole = await runWhen(bundle, ({ state }) => state === 'completed');
  t.like(whole.totals, { completed: 3, failed: 0, pending: 0, running: 0 });
});

test('retrying by class takes only the jobs that failed so', async (t) => {
  const bundle = await setup(t, { jobs: { maxAttempts: 1 } });
  await makeRun(bundle);
  const hand = await bundle.worker({ concurrency: 4 });
  await bundle.coordinator.runs.add('nightly', lines(bundle, 4), ann);
  for (const count of [1, 2, 3]) await fail(hand, await hand.job(count), count === 3 ? 'worse' : 'bad');
  await hand.complete(await hand.job(4));
  const { totals } = await runWhen(bundle, ({ state }) => state === 'completed');
  t.deepEqual(
    totals.failures.map(({ code, count }) => [code, count]),
    [
      ['bad', 2],
      ['worse', 1],
    ],
  );
  t.is((await bundle.coordinator.runs.retry('nightly', 'timeout', doer)).retried, 0);
  t.is((await bundle.coordinator.runs.retry('nightly', 'invalid_request', doer)).retried, 3);
});

test('the jobs of a paused run wait while those of others start; the pause survives a kill', async (t) => {
  const first = await setup(t);
  await makeRun(first);
  await makeRun(first, {}, 'weekly');
  await first.coordinator.runs.add('nightly', lines(first, 3), ann);
  const paused = await first.coordinator.runs.pause('nightly', doer, 'ann paused it');
  t.like(paused.run, { state: 'paused', life: { pause: { reason: 'operator', detail: 'ann paused it' } } });
  await first.coordinator.runs.add('weekly', lines(first, 1), ann);
  const bundle = await first.restart();
  t.is(bundle.coordinator.runs.get('nightly').run.state, 'paused');
  const hand = await bundle.worker({ concurrency: 5 });
  const job = await hand.job();
  await someTurns();
  t.is(hand.jobs.length, 1);
  t.is((await bundle.coordinator.job(job.job_id)).job.run?.name, 'weekly');
  const waiting = await bundle.coordinator.runs.job('nightly', 'l0');
  const view = await bundle.coordinator.job(waiting?.id ?? '');
  t.deepEqual(
    [view.waiting?.reason, view.waiting?.detail],
    ['run_paused', 'Run nightly is paused: ann paused it'],
  );
  await bundle.coordinator.runs.resume('nightly', {}, doer);
  await hand.job(4);
  const { entries } = await bundle.store.audit(auditQueryOf());
  t.deepEqual(
    entries.map(({ action, target }) => [action, target.kind, target.name]),
    [
      ['run.resumed', 'run', 'nightly'],
      ['run.paused', 'run', 'nightly'],
    ],
  );
});

test('200 slots spend no more than the budget; the run pauses, says so, and goes on with more', async (t) => {
  const bundle = await setup(t, { pricing });
  await makeRun(bundle, { maxCost: 20 * dollar });
  const hand = await bundle.worker({ concurrency: 200 });
  await bundle.coordinator.runs.add('nightly', lines(bundle, 100, gold), ann);
  let done = 0;
  const work = async (): Promise<void> => {
    while (done < hand.jobs.length) {
      await hand.complete(hand.jobs[done] as Assignment, 'x', aDollarsWorth);
      done += 1;
      await someTurns();
    }
  };
  await hand.job();
  await someTurns();
  // Each costs twice its estimate: the first few show that.
  t.is(hand.jobs.length, 5);
  const waits = await bundle.coordinator.runs.job('nightly', 'l99');
  t.is((await bundle.coordinator.job(waits?.id ?? '')).waiting?.reason, 'run_budget');
  t.deepEqual((await addedUp(bundle)).reserved, bundle.coordinator.runs.get('nightly').run.totals.reserved);
  await work();
  const paused = await runWhen(bundle, ({ state }) => state === 'paused');
  t.is(paused.life.pause?.reason, 'max_cost');
  t.regex(paused.life.pause?.detail ?? '', /\$20.00 of \$20.00 are spent.*max_cost_usd/);
  t.is(paused.totals.nanoDollars, 20 * dollar);
  t.is(done, 20);
  await t.throwsAsync(bundle.coordinator.runs.resume('nightly', {}, doer), {
    message: /cannot be resumed: 20 dollars are spent and max_cost_usd is 20/,
  });
  await bundle.coordinator.runs.resume('nightly', { maxCost: 25 * dollar }, doer);
  await hand.job(21);
  await someTurns();
  await work();
  await runWhen(bundle, ({ state }) => state === 'paused');
  t.is(done, 25);
  await bundle.coordinator.runs.resume('nightly', { maxCost: null }, doer);
  await hand.job(26);
  await someTurns();
  await work();
  const ended = await runWhen(bundle, ({ state }) => state === 'completed');
  t.like(ended.totals, { completed: 100, nanoDollars: 100 * dollar, reserved: 0, assumed: 0 });
});

test('what running jobs may cost is set aside also after a kill', async (t) => {
  const first = await setup(t, { pricing });
  await makeRun(first, { maxCost: 3 * dollar });
  const before = await first.worker({ name: 'w', concurrency: 10 });
  await first.coordinator.runs.add('nightly', lines(first, 10, gold), ann);
  await before.job(1);
  await someTurns();
  const running = before.jobs.length;
  const { totals } = first.coordinator.runs.get('nightly').run;
  t.true(running < 10 && totals.reserved > 0);
  const bundle = await first.restart();
  t.deepEqual(bundle.coordinator.runs.get('nightly').run.totals, totals);
  const hand = await bundle.worker(
    { name: 'w', concurrency: 10 },
    before.jobs.map(({ job_id: jobId, lease }) => ({ jobId, lease })),
  );
  await someTurns();
  t.is(hand.jobs.length, 0);
});

test('an unknown cost counts as its estimate until it is reported', async (t) => {
  const bundle = await setup(t, { pricing });
  await makeRun(bundle, { maxCost: 10 * dollar });
  const hand = await bundle.worker();
  await bundle.coordinator.runs.add('nightly', lines(bundle, 2, gold), ann);
  const job = await hand.job();
  const estimate = (await bundle.coordinator.job(job.job_id)).job.life.attempts[0]?.estimate ?? 0;
  t.true(estimate >= 0.5 * dollar && estimate < 0.6 * dollar);
  await hand.complete(job, 'x', null);
  await hand.job(2);
  t.like(bundle.coordinator.runs.get('nightly').run.totals, {
    nanoDollars: 0,
    unknown: 1,
    assumed: estimate,
    reserved: estimate,
  });
});

test('where no price is known one job shows the cost, and when it does not the run pauses', async (t) => {
  const bundle = await setup(t, { pricing });
  await makeRun(bundle, { maxCost: 10 * dollar });
  const hand = await bundle.worker({ concurrency: 5, providers: ['mystery'] });
  await bundle.coordinator.runs.add('nightly', lines(bundle, 5, { provider: 'mystery' }), ann);
  const job = await hand.job();
  await someTurns();
  t.is(hand.jobs.length, 1);
  await hand.complete(job, 'x', aDollarsWorth);
  const paused = await runWhen(bundle, ({ state }) => state === 'paused');
  t.regex(paused.life.pause?.detail ?? '', /The price of mystery is not known/);
  await bundle.coordinator.runs.resume('nightly', { maxCost: null }, doer);
  await hand.job(5);
  t.pass();
});

test('a run pauses when as many jobs have failed as may, and at its deadline', async (t) => {
  const bundle = await setup(t);
  await makeRun(bundle, { maxFailures: 2 });
  const hand = await bundle.worker();
  await bundle.coordinator.runs.add('nightly', lines(bundle, 5), ann);
  await fail(hand, await hand.job(1));
  await fail(hand, await hand.job(2));
  const paused = await runWhen(bundle, ({ state }) => state === 'paused');
  t.is(paused.life.pause?.reason, 'max_failures');
  await t.throwsAsync(bundle.coordinator.runs.resume('nightly', {}, doer), { message: /max_failures is 2/ });

  const deadline = bundle.clock.now() + 3_600_000;
  await makeRun(bundle, { deadline }, 'weekly');
  await bundle.coordinator.runs.add('weekly', lines(bundle, 5), ann);
  bundle.clock.advance(3_599_000);
  await someTurns();
  t.is(bundle.coordinator.runs.get('weekly').run.state, 'running');
  bundle.clock.advance(1_000);
  const late = await runWhen(bundle, ({ state }) => state === 'paused', 'weekly');
  t.is(late.life.pause?.reason, 'deadline');
});

test('a deadline that passes while the coordinator is down pauses the run after the start', async (t) => {
  const first = await setup(t);
  await makeRun(first, { deadline: first.clock.now() + 60_000 });
  await first.coordinator.runs.add('nightly', lines(first, 1), ann);
  await first.coordinator.close();
  first.clock.sleep(120_000);
  const bundle = await first.restart();
  const paused = await runWhen(bundle, ({ state }) => state === 'paused');
  t.is(paused.life.pause?.reason, 'deadline');
});

test('a cancelled run takes its jobs with it, also over a kill, and takes no more', async (t) => {
  const first = await setup(t);
  await makeRun(first);
  const hand = await first.worker();
  await first.coordinator.runs.add('nightly', lines(first, 600), ann);
  await hand.job();
  const { run } = await first.coordinator.runs.cancel('nightly', doer);
  t.is(run.state, 'cancelled');
  const bundle = await first.restart();
  const ended = await runWhen(bundle, ({ totals }) => totals.cancelled === 600);
  t.like(ended.totals, { pending: 0, running: 0, cancelled: 600 });
  for (const task of [
    () => bundle.coordinator.runs.add('nightly', lines(bundle, 1, {}, 700), ann),
    () => bundle.coordinator.runs.resume('nightly', {}, doer),
    () => bundle.coordinator.runs.retry('nightly', null, doer),
    () => bundle.coordinator.runs.pause('nightly', nobody, 'late'),
  ])
    await t.throwsAsync(task, { message: /is cancelled/ });
});

test('the totals of a run are those of its jobs, whatever happens to them, and after a checkpoint', async (t) => {
  const bundle = await setup(t, { pricing });
  await makeRun(bundle);
  await bundle.coordinator.runs.add('nightly', lines(bundle, 40, gold), ann);
  const hand = await bundle.worker({ concurrency: 8 });
  for (let count = 1; count <= 40; count += 1) {
    const job = await hand.job(count);
    if (count % 5 === 0) await bundle.coordinator.cancel(job.job_id);
    else if (count % 3 === 0) await fail(hand, job, `code ${count}`);
    else await hand.complete(job, 'x', aDollarsWorth);
    if (count % 5 === 0)
      await hand.connection.conclude(
        { jobId: job.job_id, lease: job.lease },
        { type: 'aborted', usage: aDollarsWorth },
      );
  }
  const { totals } = await runWhen(bundle, ({ state }) => state === 'completed');
  const { failures, inputTokens, outputTokens, unknown, assumed, ...sums } = totals;
  t.deepEqual(sums, await addedUp(bundle));
  t.is(sums.completed + sums.failed + sums.cancelled, 40);
  t.deepEqual([inputTokens, outputTokens, unknown, assumed], [29 * 500, 29 * 500, 0, 0]);
  t.is(
    failures.reduce((sum, { count }) => sum + count, 0),
    sums.failed,
  );
  const again = await bundle.restart();
  t.deepEqual(again.coordinator.runs.get('nightly').run.totals, totals);
});

test('failures of more causes than are told apart are counted with the last one', (t) => {
  let totals = noTotals;
  for (let n = 0; n < 50; n += 1) {
    const group = { class: 'unknown', code: `c${n}`, message: 'm', jobId: `j${n}`, count: 1 } as const;
    totals = addToTotals(totals, { failed: 1, failures: [group] });
  }
  t.is(totals.failures.length, 20);
  t.is(
    totals.failures.reduce((sum, { count }) => sum + count, 0),
    50,
  );
});

test('an answer that does not match the schema of its run is asked for again, fails with its own class, and costs', async (t) => {
  const bundle = await setup(t, { pricing });
  const schema = { type: 'object', required: ['label'] };
  await t.throwsAsync(
    bundle.coordinator.runs.create(
      { name: 'x', limits: noLimits, defaults: {}, check: { schema: { $ref: '#/none' }, retries: 1 } },
      ann,
    ),
    { message: /output_schema cannot be used/ },
  );
  const check = { schema, retries: 1 };
  await bundle.coordinator.runs.create({ name: 'nightly', limits: noLimits, defaults: {}, check }, ann);
  await bundle.coordinator.runs.add('nightly', lines(bundle, 1, gold), ann);
  const hand = await bundle.worker();
  await hand.complete(await hand.job(1), 'good', aDollarsWorth);
  bundle.clock.advance(1);
  const again = await hand.job(2);
  t.is(again.job_id, hand.jobs[0]?.job_id ?? '');
  await hand.complete(again, '{"label": "good"}', aDollarsWorth);
  await bundle.coordinator.runs.add('nightly', lines(bundle, 1, gold, 1), ann);
  for (const count of [3, 4]) {
    await hand.complete(await hand.job(count), '[]', aDollarsWorth);
    bundle.clock.advance(1);
  }
  const { totals } = await runWhen(bundle, (run) => run.state === 'completed' && run.totals.failed === 1);
  t.like(totals, { completed: 1, failed: 1, nanoDollars: 4 * dollar });
  t.like(totals.failures[0], { class: 'invalid_output', code: 'invalid_output', count: 1 });
  t.regex(totals.failures[0]?.message ?? '', /^The answer does not match the schema at #/);
  t.is((await bundle.coordinator.runs.job('nightly', 'l0'))?.life.result?.output, '{"label": "good"}');
  const { coordinator } = await bundle.restart();
  t.deepEqual(coordinator.runs.get('nightly').run.check, check);
});

test('of 1,000 runs the oldest that has ended is forgotten for a new one, of the key that has most', async (t) => {
  const bundle = await setup(t);
  const make = (name: string, keyId: string) =>
    bundle.coordinator.runs.create({ name, limits: noLimits, defaults: {} }, { ...ann, keyId });
  await make('mine', 'quiet');
  await Promise.all(Array.from({ length: 998 }, (_, n) => make(`r${n}`, 'loud')));
  await bundle.coordinator.runs.add('r0', lines(bundle, 1), ann);
  await make('last', 'loud');
  await Promise.all([make('one more', 'quiet'), make('yet one more', 'quiet')]);
  t.is(bundle.coordinator.runs.list([], 10, 0).total, 1_000);
  for (const name of ['r1', 'r2'])
    t.throws(() => bundle.coordinator.runs.get(name), { message: new RegExp(`no run ${name}`) });
  for (const name of ['mine', 'r0', 'r3', 'last', 'one more', 'yet one more'])
    t.is(bundle.coordinator.runs.get(name).run.name, name);
  const again = await bundle.restart();
  t.is(again.coordinator.runs.list([], 10, 0).total, 1_000);
  t.throws(() => again.coordinator.runs.get('r1'), { message: /no run r1/ });
});

test('a pause that the store refuses is tried again, although nothing else happens', async (t) => {
  const bundle = await setup(t, { pricing });
  await makeRun(bundle, { maxCost: 0.1 * dollar });
  await bundle.coordinator.runs.add('nightly', lines(bundle, 3, gold), ann);
  const commit = bundle.store.commit.bind(bundle.store);
  let refused = 0;
  bundle.store.commit = async (changes) => {
    const all = [...changes];
    if (refused > 0 || !all.some(({ kind }) => kind === 'run')) return commit(all);
    refused += 1;
    throw new StoreUnavailable('the disk is full');
  };
  await bundle.worker();
  await someTurns();
  t.is(refused, 1);
  t.is(bundle.coordinator.runs.get('nightly').run.state, 'running');
  bundle.clock.advance(1_000);
  const paused = await runWhen(bundle, ({ state }) => state === 'paused');
  t.is(paused.life.pause?.reason, 'max_cost');
});
