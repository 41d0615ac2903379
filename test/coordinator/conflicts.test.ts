import test, { type ExecutionContext } from 'ava';
import { batchId } from '../../src/coordinator/jobs/ids.ts';
import type { JobRecord } from '../../src/domain/job.ts';
import { nextTurn } from '../../src/lib/nextTurn.ts';
import type { Change, JobChange, Store } from '../../src/store/store.ts';
import { transition } from '../store/jobs.ts';
import { type Bundle, request, setup } from '../support/coordinator.ts';

const day = 86_400_000;

/**
 * Another writer of the same store, which is faster once: what it does comes after the coordinator has read and before it
 * commits.
 */
function fasterAfter(store: Store, read: 'job' | 'idempotent', write: () => Promise<unknown>): void {
  const ask = store[read].bind(store) as (key: string) => Promise<never>;
  store[read] = async (key: string) => {
    store[read] = ask;
    const found = await ask(key);
    await write();
    return found;
  };
}

/** The job as somebody else makes it, with the same key. */
function creationOf(job: JobRecord, id: string, key: string, bodyHash: string, expiresAt: number): JobChange {
  const { request: wanted, createdAt: at, state, life } = job;
  const idempotency = { key, jobId: id, bodyHash, expiresAt };
  const created = { at, request: wanted, idempotency };
  return { kind: 'job', id, expectedVersion: 0, created, state, life };
}

async function jobIn({ coordinator, store }: Bundle): Promise<JobRecord> {
  const { job } = await coordinator.dispatch(request());
  return (await store.job(job.id)) ?? job;
}

test('an event of a job that somebody else has changed meanwhile is decided again', async (t) => {
  const bundle = await setup(t);
  const { coordinator, store } = bundle;
  const job = await jobIn(bundle);
  fasterAfter(store, 'job', () => store.commit([transition(job, 'pending.ready', { retryCount: 1 })]));
  await coordinator.cancel(job.id);
  t.like(await store.job(job.id), { state: 'cancelled', version: 3, life: { retryCount: 1 } });
});

test('an event that the job accepts no more, as somebody else has ended it, is refused', async (t) => {
  const bundle = await setup(t);
  const { coordinator, store, clock } = bundle;
  const job = await jobIn(bundle);
  const finishedAt = clock.now();
  fasterAfter(store, 'job', () => store.commit([transition(job, 'cancelled', { finishedAt })]));
  await t.throwsAsync(coordinator.cancel(job.id), { name: 'InvalidTransition' });
  t.like(await store.job(job.id), { state: 'cancelled', version: 2 });
});

test('an event that others are always faster than is refused as something to try later', async (t) => {
  const bundle = await setup(t);
  const { coordinator, store, clock } = bundle;
  const first = await jobIn(bundle);
  const ask = store.job.bind(store);
  let reads = 0;
  store.job = async (id) => {
    const found = await ask(id);
    reads += 1;
    if (found !== undefined) await store.commit([transition(found, 'pending.ready')]);
    return found;
  };
  const cancel = t.throwsAsync(coordinator.cancel(first.id), {
    name: 'StoreUnavailable',
    message: /6 times/,
  });
  let isOver = false;
  void cancel.then(() => {
    isOver = true;
  });
  while (!isOver) {
    await nextTurn();
    clock.advance(10);
  }
  await cancel;
  t.is(reads, 6);
  t.like(await ask(first.id), { state: 'pending.ready' });
});

/** Results of three jobs in one turn; before they are committed `spoil` does something to the second of these jobs. */
async function threeResults(
  t: ExecutionContext,
  spoil: (bundle: Bundle, changes: Change[], second: JobRecord) => Promise<Change[]>,
): Promise<JobRecord[]> {
  const bundle = await setup(t);
  const { store } = bundle;
  const hand = await bundle.worker({ concurrency: 3 });
  for (let count = 0; count < 3; count += 1) await bundle.coordinator.dispatch(request());
  await hand.job(3);
  const second = await store.job(hand.jobs[1]?.job_id ?? '');
  if (second === undefined) throw new Error('there is none');
  const commit = store.commit.bind(store);
  let groups = 0;
  store.commit = async (changes) => {
    const all = [...changes];
    if (all.length === 3) groups += 1;
    return commit(all.length === 3 ? await spoil(bundle, all, second) : all);
  };
  await Promise.all(hand.jobs.map((job) => hand.complete(job)));
  t.is(groups, 1);
  const jobs = await Promise.all(hand.jobs.map(({ job_id: id }) => store.job(id)));
  return jobs.filter((job) => job !== undefined);
}

test('results of one turn are one commit, and one of a job that somebody else has changed spoils no other', async (t) => {
  const [first, second, third] = await threeResults(t, async ({ store }, changes, job) => {
    await store.commit([transition(job, 'running.active', { retryCount: 1 })]);
    return changes;
  });
  t.like(first, { state: 'completed', version: 3 });
  t.like(second, { state: 'completed', version: 4, life: { retryCount: 1 } });
  t.like(third, { state: 'completed', version: 3 });
});

test('a result that no store can keep spoils no other of its turn', async (t) => {
  const jobs = await threeResults(t, async (_, changes) => {
    const [, second] = changes;
    if (second?.kind !== 'job') throw new Error('it is no change of a job');
    const life = { ...second.life, updatedAt: Number.NaN };
    return [...changes.slice(0, 1), { ...second, life }, ...changes.slice(2)];
  });
  t.deepEqual(
    jobs.map(({ state }) => state),
    ['completed', 'completed', 'completed'],
  );
});

test('a key that somebody else was faster to use is answered with their job', async (t) => {
  const { coordinator, store, clock } = await setup(t);
  const sample = await coordinator.dispatchOnce('client first', request());
  const known = await store.idempotent('client first');
  if (known === undefined) return t.fail();
  const { bodyHash } = known;
  const theirs = creationOf(sample.view.job, 'theirs', 'client k', bodyHash, clock.now() + day);
  fasterAfter(store, 'idempotent', () => store.commit([theirs]));
  const answer = await coordinator.dispatchOnce('client k', request());
  t.like(answer, { isNew: false, view: { job: { id: 'theirs' } } });
  t.is((await store.counts()).total, 2);
  t.is((await coordinator.stats()).slots.taken, 0);
});

test('a key that somebody else was faster to use for another request is a conflict', async (t) => {
  const { coordinator, store, clock } = await setup(t);
  const { view } = await coordinator.dispatchOnce('client first', request());
  const theirs = creationOf(view.job, 'theirs', 'client k', 'another body', clock.now() + day);
  fasterAfter(store, 'idempotent', () => store.commit([theirs]));
  await t.throwsAsync(coordinator.dispatchOnce('client k', request()), {
    name: 'CoordinatorError',
    message: /was used for another request, which is job theirs/,
  });
  t.is((await store.counts()).total, 2);
});

test('the key of a batch that somebody else was faster to use is answered with their jobs', async (t) => {
  const { coordinator, store } = await setup(t);
  const planned = [coordinator.plan(request()), coordinator.plan(request({ prompt: 'another' }))];
  const { jobs } = await coordinator.dispatchAllOnce('client first', planned);
  const known = await store.idempotent('client first');
  const [first, second] = jobs;
  if (first === undefined || second === undefined || known === undefined) return t.fail();
  const id = '018bcfe5-6800-7000-8000-000000000000';
  const { created: _, ...rest } = creationOf(second, batchId(id, 1), 'unused', '', 0);
  const theirs: JobChange[] = [
    creationOf(first, id, 'client k', known.bodyHash, known.expiresAt),
    { ...rest, created: { at: second.createdAt, request: second.request } },
  ];
  fasterAfter(store, 'idempotent', () => store.commit(theirs));
  const answer = await coordinator.dispatchAllOnce('client k', planned);
  t.false(answer.isNew);
  t.deepEqual(
    answer.jobs.map((job) => job.id),
    [id, batchId(id, 1)],
  );
  t.is((await store.counts()).total, 4);
});

test('a key that had expired before the wall clock was set back is answered with its job', async (t) => {
  const { coordinator, store, clock } = await setup(t);
  const first = await coordinator.dispatchOnce('client k', request());
  clock.jump(day);
  fasterAfter(store, 'idempotent', async () => clock.jump(-day));
  const answer = await coordinator.dispatchOnce('client k', request());
  t.like(answer, { isNew: false, view: { job: { id: first.view.job.id } } });
  t.is((await store.counts()).total, 1);
});
