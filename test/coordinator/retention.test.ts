import test from 'ava';
import type { InvalidTransition } from '../../src/domain/errors.ts';
import { nextTurn } from '../../src/lib/nextTurn.ts';
import { creation } from '../store/jobs.ts';
import { type Bundle, request, setup, someUsage } from '../support/coordinator.ts';
import { depth } from '../support/depth.ts';

/** Days are passed by `stall`, in which a timer runs once: every second of a month is some seconds of processor time. */
const day = 86_400_000;

/** Turn the clock on, a second at a time, until so many jobs are left in the hot set. ava's timeout ends what never comes. */
async function sweepTo({ clock, coordinator }: Bundle, left: number): Promise<void> {
  for (let turn = 0; (await coordinator.counts()).total !== left; turn += 1) {
    // What is set for now runs in every turn.
    clock.advance(turn % 1_000 === 0 ? 1_000 : 0);
    await nextTurn();
  }
}

/** Some turns in which a sweep could move jobs, if it wanted to. */
async function sweepNothing({ clock, coordinator }: Bundle): Promise<void> {
  const { total } = await coordinator.counts();
  clock.advance(60_000);
  for (let turn = 0; turn < 200; turn += 1) await nextTurn();
  if ((await coordinator.counts()).total !== total) throw new Error('a job has left');
}

async function completed(bundle: Bundle): Promise<string> {
  const { job } = await bundle.coordinator.dispatch(request());
  const hand = await bundle.worker();
  await hand.complete(await hand.job());
  await bundle.jobAs(job.id, 'completed');
  hand.drop();
  return job.id;
}

test('ended jobs leave after retention.keep_days and are still found by id', async (t) => {
  const bundle = await setup(t);
  const { coordinator, clock } = bundle;
  const id = await completed(bundle);
  const pending = (await coordinator.dispatch(request())).job.id;
  const before = await coordinator.job(id);
  clock.stall(29 * day);
  await sweepNothing(bundle);
  clock.stall(day);
  await sweepTo(bundle, 1);
  t.deepEqual(await coordinator.job(id), before);
  t.is((await coordinator.jobAtEnd(id, 1_000, new AbortController().signal)).job.id, id);
  t.is((await coordinator.job(pending)).job.state, 'pending.ready');
  t.like(await coordinator.counts(), { total: 1, byStatus: { completed: 0, pending: 1 } });
  const again = await bundle.restart();
  t.deepEqual(await again.coordinator.job(id), before);
});

test('the oldest ended jobs leave when there are more than retention.keep_jobs', async (t) => {
  const bundle = await setup(t, { retention: { keepDays: 30, keepJobs: 2, auditDays: 400 } });
  const ids: string[] = [];
  for (let n = 0; n < 5; n += 1) {
    bundle.clock.advance(1_000);
    ids.push(await completed(bundle));
  }
  await sweepTo(bundle, 2);
  for (const [n, id] of ids.entries()) {
    t.is((await bundle.store.job(id)) === undefined, n < 3);
    t.is((await bundle.coordinator.job(id)).job.state, 'completed');
  }
});

test('an archived job is neither cancelled nor retried', async (t) => {
  const bundle = await setup(t, { retention: { keepDays: 0, keepJobs: 0, auditDays: 400 } });
  const { coordinator } = bundle;
  const id = await completed(bundle);
  await sweepTo(bundle, 0);
  const cancelled = await t.throwsAsync<InvalidTransition>(coordinator.cancel(id), {
    name: 'InvalidTransition',
    message: /completed cannot be cancelled/,
  });
  t.is(cancelled?.details.jobStatus, 'completed');
  await t.throwsAsync(coordinator.retry(id), { name: 'InvalidTransition', message: /completed cannot be/ });
  await t.throwsAsync(coordinator.retry('nobody'), { message: /There is no job nobody/ });
});

test('the refusal to retry a failed job that is archived says what to do', async (t) => {
  const bundle = await setup(t, { retention: { keepDays: 0, keepJobs: 0, auditDays: 400 } });
  await bundle.store.commit([
    creation('f', { state: 'failed', life: { finishedAt: bundle.clock.now() - day } }),
  ]);
  await sweepTo(bundle, 0);
  await t.throwsAsync(bundle.coordinator.retry('f'), {
    name: 'InvalidTransition',
    message: 'A job that is archived cannot be retried; send its request again as a new job',
  });
});

test('a job that is retried by hand is not swept away for its first end, and stays its days after the second', async (t) => {
  const bundle = await setup(t, { retention: { keepDays: 2, keepJobs: 100, auditDays: 400 } });
  const { coordinator, clock } = bundle;
  const { job } = await coordinator.dispatch(request());
  const hand = await bundle.worker();
  const { lease } = await hand.job();
  await hand.connection.conclude(
    { jobId: job.id, lease },
    {
      type: 'fail',
      failure: { class: 'auth', message: 'no', status: 401, code: null, retryAfterMs: null },
      usage: null,
    },
  );
  await bundle.jobAs(job.id, 'failed');
  hand.drop();
  clock.stall(1.5 * day);
  await coordinator.retry(job.id);
  clock.stall(day);
  await sweepNothing(bundle);
  const again = await bundle.worker();
  await again.complete(await again.job());
  await bundle.jobAs(job.id, 'completed');
  again.drop();
  clock.stall(1.5 * day);
  await sweepNothing(bundle);
  clock.stall(0.5 * day);
  await sweepTo(bundle, 0);
  t.is((await coordinator.job(job.id)).job.state, 'completed');
});

test('an idempotency key answers with its job also when that is archived', async (t) => {
  const bundle = await setup(t, { retention: { keepDays: 30, keepJobs: 0, auditDays: 400 } });
  const { coordinator } = bundle;
  const first = await coordinator.dispatchOnce('k', request());
  const hand = await bundle.worker();
  await hand.complete(await hand.job());
  await bundle.jobAs(first.view.job.id, 'completed');
  await sweepTo(bundle, 0);
  const second = await coordinator.dispatchOnce('k', request());
  t.false(second.isNew);
  t.is(second.view.job.id, first.view.job.id);
});

test('the key of a batch answers with its jobs also when they are archived', async (t) => {
  const bundle = await setup(t, { retention: { keepDays: 30, keepJobs: 0, auditDays: 400 } });
  const { coordinator } = bundle;
  const planned = ['a', 'b', 'c'].map((prompt) => coordinator.plan({ ...request(), prompt }));
  const first = await coordinator.dispatchAllOnce('k', planned);
  const hand = await bundle.worker();
  for (const [place, { id }] of first.jobs.slice(0, 2).entries()) {
    await hand.complete(await hand.job(place + 1));
    await bundle.jobAs(id, 'completed');
  }
  await sweepTo(bundle, 1);
  const second = await coordinator.dispatchAllOnce('k', planned);
  t.false(second.isNew);
  t.deepEqual(
    second.jobs.map(({ request: { prompt } }) => prompt),
    ['a', 'b', 'c'],
  );
});

test('a job whose worker may still tell what it cost stays for a day', async (t) => {
  const bundle = await setup(t, { retention: { keepDays: 0, keepJobs: 0, auditDays: 400 } });
  const { coordinator, clock } = bundle;
  const { job } = await coordinator.dispatch(request());
  const hand = await bundle.worker();
  await hand.job();
  await coordinator.cancel(job.id);
  hand.drop();
  await sweepNothing(bundle);
  clock.stall(day);
  await sweepTo(bundle, 0);
  t.is((await coordinator.job(job.id)).job.state, 'cancelled');
});

test('a job leaves as soon as its worker has told what it cost', async (t) => {
  const bundle = await setup(t, { retention: { keepDays: 0, keepJobs: 0, auditDays: 400 } });
  const { coordinator } = bundle;
  const { job } = await coordinator.dispatch(request());
  const hand = await bundle.worker();
  const { lease } = await hand.job();
  await coordinator.cancel(job.id);
  await sweepNothing(bundle);
  await hand.connection.conclude({ jobId: job.id, lease }, { type: 'aborted', usage: someUsage });
  await sweepTo(bundle, 0);
  hand.drop();
  t.is((await coordinator.job(job.id)).job.life.attempts[0]?.usage?.inputTokens, someUsage.inputTokens);
});

test('nothing is moved while the coordinator drains', async (t) => {
  const bundle = await setup(t, { retention: { keepDays: 0, keepJobs: 0, auditDays: 400 } });
  await completed(bundle);
  await bundle.coordinator.drain(0);
  await sweepNothing(bundle);
  t.pass();
});

test('from tens of thousands of ended jobs to 1,000 no turn of the event loop takes long', async (t) => {
  t.timeout(120_000);
  const bundle = await setup(t, { retention: { keepDays: 30, keepJobs: 1_000, auditDays: 400 } });
  const { store, clock, coordinator } = bundle;
  const now = clock.now();
  const batches = depth(30, 100);
  const prompt = 'the quick brown fox '.repeat(15);
  for (let batch = 0; batch < batches; batch += 1) {
    await store.commit(
      Array.from({ length: 1_000 }, (_, n) => {
        const finishedAt = now - 5 * day + (batch * 1_000 + n) * 1_000;
        return creation(`job-${batch}-${n}`, {
          state: 'completed',
          life: { finishedAt },
          request: { prompt },
        });
      }),
    );
  }
  await store.checkpoint();
  // Of this thread's own processor time: what else runs on the machine must not count.
  const turns: number[] = [];
  let last = process.threadCpuUsage();
  const sweeping = sweepTo(bundle, 1_000);
  let isOver = false;
  sweeping.finally(() => {
    isOver = true;
  });
  while (!isOver) {
    await nextTurn();
    const usage = process.threadCpuUsage();
    turns.push((usage.user + usage.system - last.user - last.system) / 1_000);
    last = usage;
  }
  await sweeping;
  turns.sort((a, b) => b - a);
  t.log('longest turns, ms:', turns.slice(0, 5).join(' '));
  t.true((turns[0] ?? 0) < 50, `the longest turns took ${turns.slice(0, 5).map(Math.round).join(', ')} ms`);
  t.is((await coordinator.job('job-0-0')).job.state, 'completed');
  t.is((await coordinator.job(`job-${batches - 2}-999`)).job.state, 'completed');
});
