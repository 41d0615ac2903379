import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import type { JobRecord } from '../../src/domain/job.ts';
import type { JobState } from '../../src/domain/states.ts';
import type { ArchiveRule, JobChange } from '../../src/store/store.ts';
import { KeyTaken, VersionConflict } from '../../src/store/storeErrors.ts';
import { creation, epoch, ledgerEntry, queryOf, requestOf, transition, workerLife } from '../store/jobs.ts';
import { openBundle, type StorePlace } from './store.ts';

/**
 * Register the tests of archiving that every store has to pass.
 * @param name of the store, at the head of the titles. @param placeOf makes a place that is removed with the test.
 */
export function archiveConformance(
  name: string,
  placeOf: (t: ExecutionContext) => Promise<StorePlace>,
): void {
  const test = anyTest as TestFn;
  const setup = (t: ExecutionContext) => openBundle(t, placeOf);

  /** A job that ended `ms` after the epoch. */
  const endedJob = (id: string, ms: number, state: JobState = 'completed', provider = 'anthropic') =>
    creation(id, {
      state,
      life: { finishedAt: epoch + ms },
      request: { provider, prompt: `Prompt of ${id}` },
    });
  const rule = (overrides: Partial<ArchiveRule>): ArchiveRule => ({
    endedBefore: 0,
    keep: 1_000_000,
    limit: 1_000,
    ...overrides,
  });
  const all = rule({ keep: 0 });
  const everyJob = () => true;
  const idsOf = (jobs: readonly { id: string }[]) => jobs.map(({ id }) => id);

  test(`${name}: jobs that ended before a time leave, and are found by id as they were`, async (t) => {
    const { store, reopen } = await setup(t);
    await store.commit([
      endedJob('a', 10),
      endedJob('b', 30, 'failed'),
      endedJob('c', 20, 'cancelled', 'openai'),
      creation('d', { request: { prompt: 'Grüße, 世界 \u2028 \ud83d\ude00' } }),
    ]);
    const [a, c] = [await store.job('a'), await store.job('c')];
    t.is(await store.archive(rule({ endedBefore: epoch + 30 }), everyJob), 2);
    t.is(await store.archive(rule({ endedBefore: epoch + 30 }), everyJob), 0);
    for (const each of [store, await reopen()]) {
      t.is(await each.job('a'), undefined);
      t.deepEqual(await each.archivedJob('a'), a);
      t.deepEqual(await each.archivedJob('c'), c);
      t.is(await each.archivedJob('b'), undefined);
      t.is(await each.archivedJob('d'), undefined);
      t.is(await each.archivedJob('nobody'), undefined);
      t.deepEqual(idsOf((await each.jobs(queryOf())).jobs), ['d', 'b']);
      t.is((await each.jobs(queryOf())).total, 2);
      t.is((await each.jobs(queryOf({ provider: 'openai' }))).total, 0);
      t.like(await each.counts(), {
        total: 2,
        byStatus: { completed: 0, failed: 1, cancelled: 0, pending: 1 },
      });
      t.is((await each.counts()).byState.completed, 0);
      t.is(await each.position('d'), 1);
    }
  });

  test(`${name}: of more ended jobs than are to stay the first that ended leave, so many a call`, async (t) => {
    const { store } = await setup(t);
    const ends = [70, 20, 50, 10, 60, 30, 40];
    for (const end of ends) await store.commit([endedJob(`at-${end}`, end), creation(`pending-${end}`)]);
    await store.commit([creation('running', { state: 'running.active' })]);
    const byCount = rule({ keep: 2, limit: 3 });
    t.is(await store.archive(byCount, everyJob), 3);
    const ended = async () => {
      const { jobs } = await store.jobs(queryOf({ statuses: ['completed'] }));
      return idsOf(jobs).sort();
    };
    t.deepEqual(await ended(), ['at-40', 'at-50', 'at-60', 'at-70']);
    t.is(await store.archive(byCount, everyJob), 2);
    t.is(await store.archive(byCount, everyJob), 0);
    t.deepEqual(await ended(), ['at-60', 'at-70']);
    t.like(await store.counts(), { total: 10, byStatus: { pending: 7, running: 1, completed: 2 } });
    const page = await store.jobs(queryOf({ limit: 3, offset: 4 }));
    t.deepEqual([page.total, idsOf(page.jobs)], [10, ['at-60', 'pending-10', 'pending-50']]);
  });

  test(`${name}: a job that may not leave yet stays, and the next one leaves`, async (t) => {
    const { store } = await setup(t);
    await store.commit(['a', 'b', 'c'].map((id, i) => endedJob(id, i)));
    const offered: string[] = [];
    const moved = await store.archive(rule({ keep: 1 }), (job) => {
      offered.push(job.id);
      return job.id !== 'a';
    });
    t.is(moved, 2);
    t.deepEqual(offered, ['a', 'b', 'c']);
    t.deepEqual(idsOf((await store.jobs(queryOf())).jobs), ['a']);
  });

  test(`${name}: a job that stays until a time leaves then, and is not asked about before`, async (t) => {
    const { store, clock, reopen } = await setup(t);
    const stayMs = 60_000;
    const held = Array.from({ length: 50 }, (_, n) => `held-${n}`);
    const free = Array.from({ length: 50 }, (_, n) => `free-${n}`);
    await store.commit([...held, ...free].map((id, n) => endedJob(id, n)));
    const asked: string[] = [];
    const staysUntil = ({ id, life }: JobRecord): number => {
      asked.push(id);
      return id.startsWith('held') && life.reapCount === 0 ? epoch + stayMs : 0;
    };
    const bySlices = { ...rule({ keep: 60, limit: 10 }), staysUntil };
    for (const left of [10, 10, 10, 10, 0]) t.is(await store.archive(bySlices, everyJob), left);
    t.deepEqual(asked, [...held, ...free.slice(0, 40)]);
    t.is((await store.counts()).total, 60);

    asked.length = 0;
    const known = await store.job('held-7');
    if (known === undefined) return t.fail();
    await store.commit([transition(known, 'failed', { ...known.life, reapCount: 1 })]);
    t.is(
      await store.archive({ ...bySlices, keep: 59 }, everyJob),
      1,
      'one that changes is asked about again',
    );
    t.deepEqual(asked, ['held-7']);

    asked.length = 0;
    clock.advance(stayMs - 1);
    t.is(await store.archive({ ...bySlices, keep: 49 }, everyJob), 10);
    t.deepEqual(asked, free.slice(40));
    clock.advance(1);
    asked.length = 0;
    t.is(await store.archive({ ...bySlices, keep: 45 }, everyJob), 4);
    t.deepEqual(asked, held.slice(0, 4));
    const again = await reopen();
    t.is(await again.archive({ ...bySlices, keep: 0, limit: 100 }, everyJob), 45);
    t.is((await again.counts()).total, 0);
  });

  test(`${name}: a decision that throws moves nothing`, async (t) => {
    const { store } = await setup(t);
    await store.commit(['a', 'b'].map((id, i) => endedJob(id, i)));
    const archive = store.archive(all, ({ id }) => {
      if (id === 'b') throw new Error('no');
      return true;
    });
    await t.throwsAsync(archive, { message: 'no' });
    t.is((await store.counts()).total, 2);
    t.is(await store.archive(all, everyJob), 2);
  });

  test(`${name}: an archived job does not change, and its place in the order is not given again`, async (t) => {
    const { store, reopen } = await setup(t);
    await store.commit([endedJob('a', 1, 'failed'), endedJob('b', 2)]);
    const a = await store.job('a');
    if (a === undefined) return t.fail();
    await store.archive(all, everyJob);
    await t.throwsAsync(store.commit([transition(a, 'pending.ready')]), { instanceOf: VersionConflict });
    t.deepEqual(await store.archivedJob('a'), a);
    t.is((await store.counts()).total, 0);
    const again = await reopen();
    await again.commit([creation('c')]);
    t.is((await again.job('c'))?.ordinal, 3);
  });

  test(`${name}: a job with a commit under way stays, and one that is leaving takes no commit`, async (t) => {
    const { store } = await setup(t);
    await store.commit([endedJob('a', 1, 'failed'), endedJob('b', 2, 'failed')]);
    const [a, b] = [await store.job('a'), await store.job('b')];
    if (a === undefined || b === undefined) return t.fail();
    const retried = store.commit([transition(a, 'pending.ready')]);
    let late: Promise<unknown> | undefined;
    const moved = store.archive(all, (job) => {
      late = Promise.resolve().then(() => store.commit([transition(job, 'pending.ready')]));
      return true;
    });
    t.is(await moved, 1);
    await retried;
    await t.throwsAsync(late ?? Promise.resolve(), { instanceOf: VersionConflict });
    t.is((await store.job('a'))?.state, 'pending.ready');
    t.deepEqual(await store.archivedJob('b'), b);
  });

  test(`${name}: of two calls at the same time each moves its own jobs`, async (t) => {
    const { store } = await setup(t);
    await store.commit(Array.from({ length: 10 }, (_, i) => endedJob(`job-${i}`, i)));
    const five = rule({ keep: 0, limit: 5 });
    t.deepEqual(
      await Promise.all([
        store.archive(five, everyJob),
        store.archive(five, everyJob),
        store.archive(five, everyJob),
      ]),
      [5, 5, 0],
    );
  });

  test(`${name}: when nothing can be written all stay, and leave later`, async (t) => {
    const { store, place, reopen } = await setup(t);
    await store.commit([endedJob('a', 1), endedJob('b', 2), creation('c')]);
    const a = await store.job('a');
    place.breakWrites();
    await t.throwsAsync(store.archive(all, everyJob), { name: 'StoreUnavailable' });
    t.is(await store.job('a'), a);
    t.is((await store.counts()).total, 3);
    place.mendWrites();
    // The first commit that succeeds says that writes do again.
    await store.commit([creation('d')]);
    t.is(await store.archive(all, everyJob), 2);
    const again = await reopen();
    t.deepEqual(await again.archivedJob('a'), a);
    t.deepEqual(idsOf((await again.jobs(queryOf())).jobs), ['d', 'c']);
  });

  test(`${name}: the idempotency key of an archived job is remembered until it expires`, async (t) => {
    const { store, reopen, clock } = await setup(t);
    const withKey = (id: string, key: string, ms: number): JobChange => {
      const idempotency = { key, jobId: id, bodyHash: 'h', expiresAt: epoch + ms };
      return { ...endedJob(id, 1), created: { at: epoch, request: requestOf(), idempotency } };
    };
    await store.commit([withKey('a', 'k', 100), withKey('b', 'l', 200)]);
    t.is(await store.archive(all, everyJob), 2);
    for (const each of [store, await reopen(), await reopen()]) {
      t.like(await each.idempotent('k'), { jobId: 'a' });
      t.like(await each.idempotent('l'), { jobId: 'b' });
    }
    const again = await reopen();
    await t.throwsAsync(again.commit([withKey('c', 'k', 300)]), { instanceOf: KeyTaken, message: /job a/ });
    clock.advance(100);
    await again.commit([withKey('c', 'k', 300)]);
    const last = await reopen();
    t.like(await last.idempotent('k'), { jobId: 'c' });
    t.like(await last.idempotent('l'), { jobId: 'b' });
    t.is((await last.counts()).total, 1);
  });

  test(`${name}: what archived jobs have cost, and what their workers have done, stays counted`, async (t) => {
    const { store, reopen } = await setup(t);
    await store.commit([{ kind: 'worker', life: workerLife('w') }, creation('a')]);
    const a = await store.job('a');
    if (a === undefined) return t.fail();
    await store.commit([transition(a, 'completed', { finishedAt: epoch }, [ledgerEntry('w', 'completed')])]);
    const see = async (seen: typeof store) => ({
      workers: await seen.workers(),
      costs: await seen.costBuckets(epoch - 3_600_000, epoch + 3_600_000, 'model'),
    });
    const before = await see(store);
    t.like(before.workers[0], { completed: 1 });
    t.is(before.costs.length, 1);
    await store.archive(all, everyJob);
    t.deepEqual(await see(store), before);
    t.deepEqual(await see(await reopen()), before);
  });

  /** Ids in the order in which a scan gives them; `between` is called after each batch. */
  async function scanned(
    batches: AsyncIterable<readonly { id: string }[]>,
    between: () => Promise<unknown> = async () => {},
  ): Promise<string[]> {
    const ids: string[] = [];
    for await (const batch of batches) {
      ids.push(...idsOf(batch));
      await between();
    }
    return ids;
  }

  test(`${name}: a scan gives every job once, hot ones first, with the filters of a list`, async (t) => {
    const { store } = await setup(t);
    const day = 86_400_000;
    await store.commit([
      endedJob('a', 0),
      endedJob('b', day, 'failed'),
      endedJob('c', 2 * day, 'completed', 'openai'),
      endedJob('d', 2 * day + 1),
      creation('e', { at: epoch + 3 * day, request: { prompt: 'Prompt of somebody' } }),
      creation('f', { state: 'running.active', at: epoch + 4 * day }),
    ]);
    t.is(await store.archive(rule({ keep: 1 }), everyJob), 3);
    const see = (overrides: Parameters<typeof queryOf>[0], isArchivedToo = true) =>
      scanned(store.scan(queryOf(overrides), isArchivedToo));
    t.deepEqual(await see({}, false), ['f', 'e', 'd']);
    t.deepEqual(await see({}), ['f', 'e', 'd', 'c', 'b', 'a']);
    t.deepEqual(await see({ statuses: ['completed'] }), ['d', 'c', 'a']);
    t.deepEqual(await see({ statuses: ['failed', 'pending'] }), ['e', 'b']);
    t.deepEqual(await see({ provider: 'openai' }), ['c']);
    t.deepEqual(await see({ text: 'PROMPT of' }), ['e', 'd', 'c', 'b', 'a']);
    t.deepEqual(await see({ createdAfter: epoch + 3 * day }), ['f', 'e']);
    t.deepEqual(await see({ createdBefore: epoch }), []);
  });

  test(`${name}: a scan gives each job once, also when jobs are archived and created meanwhile`, async (t) => {
    const { store } = await setup(t);
    const count = 5_000;
    await store.commit(Array.from({ length: count }, (_, n) => endedJob(`job-${n}`, n % 7)));
    let n = 0;
    const archiveSome = async () => {
      n += 1;
      await store.commit([endedJob(`new-${n}`, 0)]);
      await store.archive(rule({ keep: 0, limit: 400 }), everyJob);
    };
    const ids = await scanned(store.scan(queryOf(), true), archiveSome);
    t.true(n >= 5, `${n} batches`);
    t.is(ids.length, count);
    t.is(new Set(ids).size, count);
    t.true(ids.every((id) => id.startsWith('job-')));
  });

  test(`${name}: a scan may end early and costs nothing then`, async (t) => {
    const { store } = await setup(t);
    await store.commit([endedJob('a', 0), endedJob('b', 1), endedJob('c', 2)]);
    await store.archive(rule({ keep: 0, limit: 2 }), everyJob);
    for await (const batch of store.scan(queryOf(), true)) {
      t.deepEqual(idsOf(batch), ['c']);
      break;
    }
    t.is(await store.archive(all, everyJob), 1);
    t.is((await scanned(store.scan(queryOf(), true))).length, 3);
  });
}
