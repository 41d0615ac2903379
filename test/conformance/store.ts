import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { type Annotation, annotationCharactersMax, annotationsMax } from '../../src/domain/annotation.ts';
import type { Clock } from '../../src/domain/clock.ts';
import { addAmounts, bucketMs, type CostDimension, noAmounts } from '../../src/domain/cost.ts';
import type { StoreUnavailable } from '../../src/domain/errors.ts';
import type { FileRecord } from '../../src/domain/file.ts';
import { laneKey } from '../../src/domain/job.ts';
import type { ProviderHold } from '../../src/domain/provider.ts';
import type { JobState } from '../../src/domain/states.ts';
import type { Delivery, WebhookRecord } from '../../src/domain/webhook.ts';
import type { Change, JobChange, LedgerEntry, Store } from '../../src/store/store.ts';
import { KeyTaken, VersionConflict } from '../../src/store/storeErrors.ts';
import {
  creation,
  epoch,
  headStart,
  ledgerEntry,
  lifeOf,
  queryOf,
  requestOf,
  targetOf,
  transition,
  workerLife,
} from '../store/jobs.ts';
import { FakeClock } from '../support/fakeClock.ts';

/** A place for one store's data, for the time of one test. */
export interface StorePlace {
  /** A store over this place's data, not open yet. Priorities have the head starts of `test/store/jobs.ts`. */
  create(clock: Clock): Store;
  /** From here on every commit fails with `StoreUnavailable` and nothing of it stays. */
  breakWrites(): void;
  /** Writes succeed again. */
  mendWrites(): void;
}

/** What one test works with. */
export interface StoreBundle {
  place: StorePlace;
  store: Store;
  clock: FakeClock;
  /** Close the store and open another one over the same data. */
  reopen(): Promise<Store>;
}

/** An open store over a place of its own; it is closed with the test. */
export async function openBundle(
  t: ExecutionContext,
  placeOf: (t: ExecutionContext) => Promise<StorePlace>,
): Promise<StoreBundle> {
  const place = await placeOf(t);
  const clock = new FakeClock(epoch);
  let store = place.create(clock);
  await store.open();
  t.teardown(() => store.close());
  return {
    place,
    store,
    clock,
    async reopen() {
      await store.close();
      store = place.create(clock);
      await store.open();
      return store;
    },
  };
}

/**
 * Register the tests that every store has to pass.
 * @param name of the store, at the head of the titles. @param placeOf makes a place that is removed with the test.
 */
export function storeConformance(name: string, placeOf: (t: ExecutionContext) => Promise<StorePlace>): void {
  const test = anyTest as TestFn;

  const setup = (t: ExecutionContext): Promise<StoreBundle> => openBundle(t, placeOf);

  const claimAs =
    (state: JobState) =>
    (job: Parameters<typeof transition>[0]): JobChange =>
      transition(job, state, { lease: 1 });
  const anthropic = laneKey(targetOf('anthropic'));
  const openai = laneKey(targetOf('openai'));
  const idsOf = (jobs: readonly { id: string }[]) => jobs.map(({ id }) => id);

  test(`${name}: a commit is shown by every read once it has resolved, and by none before`, async (t) => {
    const { store } = await setup(t);
    const commit = store.commit([creation('a')]);
    t.is(await store.job('a'), undefined);
    await commit;
    const job = await store.job('a');
    t.like(job, { id: 'a', version: 1, ordinal: 1, createdAt: epoch, state: 'pending.ready' });
    t.deepEqual(job?.request, requestOf());
    t.deepEqual(job?.life, lifeOf());
    t.deepEqual(idsOf((await store.jobs(queryOf())).jobs), ['a']);
    t.is((await store.counts()).byStatus.pending, 1);
    t.is((await store.lanes())[0]?.ready, 1);
    t.is(await store.position('a'), 1);
  });

  test(`${name}: what was committed is there after it was closed and opened again`, async (t) => {
    const { store, reopen } = await setup(t);
    const idempotency = { key: 'k', jobId: 'a', bodyHash: 'h', expiresAt: epoch + 1_000 };
    const first = creation('a', { request: { prompt: 'Grüße, 世界 \u2028 \ud83d\ude00', tags: ['x', 'y'] } });
    await store.commit([
      { ...first, created: { at: epoch, request: requestOf(first.created?.request), idempotency } },
      { kind: 'worker', life: workerLife('w') },
    ]);
    await store.commit([creation('b', { state: 'pending.delayed', life: { delayedUntil: epoch + 5 } })]);
    await store.commit([creation('c', { request: { provider: null } })]);
    const [running] = await store.claim({ lanes: [anthropic], limit: 1 }, claimAs('running.active'));
    t.is(running?.id, 'a');
    const key = { id: 'k1', role: 'client', name: null, secretHash: 's', previous: null } as const;
    await store.commit([{ kind: 'key', key: { ...key, createdAt: epoch, expiresAt: null } }]);
    const see = async (seen: Store) => ({
      jobs: await seen.jobs(queryOf()),
      lanes: await seen.lanes(),
      backlog: await seen.backlog(),
      counts: await seen.counts(),
      running: await seen.runningJobs(),
      delayed: await seen.delayedJobs(),
      workers: await seen.workers(),
      keys: await seen.keys(),
      idempotent: await seen.idempotent('k'),
      position: await seen.position('c'),
    });
    const before = await see(store);
    t.deepEqual(idsOf(before.jobs.jobs), ['c', 'b', 'a']);
    t.deepEqual(await see(await reopen()), before);
  });

  test(`${name}: several changes are committed together or not at all`, async (t) => {
    const { store } = await setup(t);
    await store.commit([creation('a')]);
    const changes: Change[] = [creation('b'), { kind: 'worker', life: workerLife('w') }, creation('a')];
    await t.throwsAsync(store.commit(changes), { instanceOf: VersionConflict });
    t.is(await store.job('b'), undefined);
    t.deepEqual(await store.workers(), []);
    await store.commit([creation('b'), { kind: 'worker', life: workerLife('w') }]);
    t.is((await store.job('b'))?.ordinal, 2);
    t.is((await store.workers()).length, 1);
    await store.commit([]);
  });

  test(`${name}: a change that expects another version is refused and leaves no trace`, async (t) => {
    const { store } = await setup(t);
    const conflict = { instanceOf: VersionConflict };
    await store.commit([creation('a')]);
    const job = await store.job('a');
    if (job === undefined) return t.fail();
    await t.throwsAsync(store.commit([transition({ ...job, version: 2 }, 'cancelled')]), conflict);
    await t.throwsAsync(store.commit([transition({ ...job, id: 'nobody' }, 'cancelled')]), conflict);
    await t.throwsAsync(store.commit([creation('a')]), conflict);
    t.deepEqual(await store.job('a'), job);
    await store.commit([transition(job, 'cancelled')]);
    t.like(await store.job('a'), { version: 2, state: 'cancelled' });
    await t.throwsAsync(store.commit([transition(job, 'failed')]), conflict);
  });

  test(`${name}: of two commits of one job at the same time one is refused`, async (t) => {
    const { store } = await setup(t);
    const created = await Promise.allSettled([store.commit([creation('a')]), store.commit([creation('a')])]);
    t.deepEqual(created.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
    const job = await store.job('a');
    if (job === undefined) return t.fail();
    const moved = await Promise.allSettled([
      store.commit([transition(job, 'running.active')]),
      store.commit([transition(job, 'cancelled')]),
    ]);
    t.deepEqual(moved.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
    t.is((await store.job('a'))?.version, 2);
  });

  test(`${name}: a commit that fails leaves everything as it was, reads go on, and a later one succeeds`, async (t) => {
    const { store, place, reopen } = await setup(t);
    await store.commit([creation('a')]);
    const before = await store.job('a');
    if (before === undefined) return t.fail();
    place.breakWrites();
    const refused = { name: 'StoreUnavailable', message: /durable/ };
    const error = await t.throwsAsync<StoreUnavailable>(
      store.commit([transition(before, 'cancelled')]),
      refused,
    );
    t.is(error?.code, 'store_unavailable');
    t.true(error?.retryable);
    await t.throwsAsync(store.commit([creation('b')]), refused);
    await t.throwsAsync(store.claim({ lanes: [anthropic], limit: 5 }, claimAs('running.active')), refused);
    t.is(store.health().status, 'failing');
    t.is(await store.job('a'), before);
    t.is(await store.job('b'), undefined);
    t.deepEqual(idsOf((await store.jobs(queryOf())).jobs), ['a']);
    t.is((await store.counts()).byStatus.running, 0);
    t.is(await store.position('a'), 1);
    place.mendWrites();
    await store.commit([creation('b')]);
    t.is(store.health().status, 'ok');
    t.is((await store.job('b'))?.ordinal, 2);
    const claimed = await store.claim({ lanes: [anthropic], limit: 5 }, claimAs('running.active'));
    t.deepEqual(idsOf(claimed), ['a', 'b']);
    const again = await reopen();
    t.deepEqual(idsOf((await again.jobs(queryOf())).jobs), ['b', 'a']);
    t.is((await again.job('a'))?.version, 2);
  });

  test(`${name}: a store that fails finds out by itself that writes succeed again`, async (t) => {
    const { store, place, clock } = await setup(t);
    place.breakWrites();
    await t.throwsAsync(store.commit([creation('a')]));
    place.mendWrites();
    clock.advance(60_000);
    // Nothing is committed by the test; ava's timeout ends a store that never finds out.
    while (store.health().status !== 'ok') await new Promise((resolve) => setImmediate(resolve));
    t.is(store.health().status, 'ok');
    t.is(await store.job('a'), undefined);
  });

  test(`${name}: what a reader holds never changes, nor does the store when a caller edits what it gave`, async (t) => {
    const { store } = await setup(t);
    const change = creation('a', { request: { metadata: { of: 'caller' } } });
    const commit = store.commit([change]);
    if (change.created !== undefined) change.created.request.metadata.of = 'edited';
    change.life.enqueuedAt = 0;
    await commit;
    const held = await store.job('a');
    if (held === undefined) return t.fail();
    t.is(held.request.metadata.of, 'caller');
    t.is(held.life.enqueuedAt, epoch);
    const copy = structuredClone(held);
    await store.commit([transition(held, 'running.active', { lease: 1, startedAt: epoch })]);
    t.deepEqual(held, copy);
    t.is((await store.job('a'))?.life.lease, 1);
  });

  test(`${name}: jobs are offered by head start and age, then in order of creation, across lanes`, async (t) => {
    const { store } = await setup(t);
    const hour = 3_600_000;
    const put = (id: string, priority: string, at: number, provider = 'anthropic') =>
      creation(id, { request: { priority, provider }, at });
    await store.commit([
      put('low, old', 'low', epoch - hour - 1),
      put('normal', 'normal', epoch),
      put('normal, same time', 'normal', epoch, 'openai'),
      put('high', 'high', epoch + 10),
      put('high, as old as the normal ones', 'high', epoch + hour, 'openai'),
      put('background', 'background', epoch),
      put('critical', 'critical', epoch + 23 * hour),
    ]);
    const order = idsOf(
      await store.claim({ lanes: [anthropic, openai], limit: 10 }, claimAs('running.active')),
    );
    t.deepEqual(order, [
      'critical',
      'high',
      'low, old',
      'normal',
      'normal, same time',
      'high, as old as the normal ones',
      'background',
    ]);
    t.true(headStart('critical') > headStart('high'));
    t.deepEqual(await store.lanes(), []);
    t.deepEqual(idsOf(await store.runningJobs()).sort(), [...order].sort());
  });

  test(`${name}: a claim looks at the wanted lanes only and stops at its limit`, async (t) => {
    const { store } = await setup(t);
    for (const [id, provider] of [
      ['a', 'anthropic'],
      ['b', 'openai'],
      ['c', 'openai'],
      ['d', 'openai'],
    ] as const) {
      await store.commit([creation(id, { request: { provider } })]);
    }
    const take = claimAs('running.active');
    t.deepEqual(idsOf(await store.claim({ lanes: [openai, 'none'], limit: 2 }, take)), ['b', 'c']);
    t.deepEqual(idsOf(await store.claim({ lanes: [openai], limit: 0 }, take)), []);
    t.deepEqual(idsOf(await store.claim({ lanes: [], limit: 9 }, take)), []);
    const lanes = await store.lanes();
    t.deepEqual(lanes.map(({ key, ready }) => [key, ready]).sort(), [
      [anthropic, 1],
      [openai, 1],
    ]);
    t.deepEqual(lanes.find(({ key }) => key === openai)?.candidates, [targetOf('openai')]);
    t.is(lanes[0]?.headEnqueuedAt, epoch);
  });

  test(`${name}: the backlog tells ready jobs by provider and priority, and since when the oldest waits`, async (t) => {
    const { store } = await setup(t);
    const add = (
      id: string,
      at: number,
      provider: string,
      priority = 'normal',
      state: JobState = 'pending.ready',
    ) => store.commit([creation(id, { at: epoch + at, request: { provider, priority }, state })]);
    await add('a', 3, 'anthropic');
    await add('b', 1, 'anthropic');
    await add('c', 2, 'anthropic', 'high');
    await add('d', 4, 'openai');
    await add('e', 0, 'openai', 'normal', 'pending.delayed');
    const backlog = async () => {
      const groups = await store.backlog();
      return groups
        .map((group) => [group.provider, group.priority, group.ready, group.oldestEnqueuedAt - epoch])
        .sort();
    };
    t.deepEqual(await backlog(), [
      ['anthropic', 'high', 1, 2],
      ['anthropic', 'normal', 2, 1],
      ['openai', 'normal', 1, 4],
    ]);
    await store.claim({ lanes: [anthropic], limit: 2 }, claimAs('running.active'));
    const e = await store.job('e');
    if (e === undefined) return t.fail();
    await store.commit([transition(e, 'pending.ready')]);
    t.deepEqual(await backlog(), [
      ['anthropic', 'normal', 1, 3],
      ['openai', 'normal', 2, 0],
    ]);
  });

  test(`${name}: a skipped job stays, a closed lane gives no more in this claim`, async (t) => {
    const { store } = await setup(t);
    await store.commit(['a', 'b', 'c'].map((id) => creation(id)));
    await store.commit(
      ['d', 'e'].map((id) => creation(id, { request: { provider: 'openai' }, at: epoch + 1 })),
    );
    const offered: string[] = [];
    const claimed = await store.claim({ lanes: [anthropic, openai], limit: 10 }, (job, lane) => {
      offered.push(job.id);
      t.is(lane, laneKey(job.life.target));
      if (job.id === 'a') return 'skip';
      return job.id === 'd' ? 'close' : transition(job, 'running.active');
    });
    t.deepEqual(offered, ['a', 'b', 'c', 'd']);
    t.deepEqual(idsOf(claimed), ['b', 'c']);
    t.is(await store.position('a'), 1);
    t.is(await store.position('d'), 1);
    t.is(await store.position('b'), null);
  });

  test(`${name}: a job is offered to one claim at a time, and not while a commit of it is under way`, async (t) => {
    const { store } = await setup(t);
    await store.commit(['a', 'b', 'c'].map((id) => creation(id)));
    const cancelled = await store.job('b');
    if (cancelled === undefined) return t.fail();
    const commit = store.commit([transition(cancelled, 'cancelled')]);
    const offered: string[] = [];
    const take = (job: Parameters<typeof transition>[0]) => {
      offered.push(job.id);
      return transition(job, 'running.active');
    };
    const demand = { lanes: [anthropic], limit: 5 };
    await Promise.all([store.claim(demand, take), store.claim(demand, take), commit]);
    t.deepEqual(offered, ['a', 'c']);
  });

  test(`${name}: a claim whose decision throws claims nothing`, async (t) => {
    const { store } = await setup(t);
    await store.commit(['a', 'b'].map((id) => creation(id)));
    const claim = store.claim({ lanes: [anthropic], limit: 5 }, (job) => {
      if (job.id === 'b') throw new Error('no');
      return transition(job, 'running.active');
    });
    await t.throwsAsync(claim, { message: 'no' });
    t.is(await store.position('a'), 1);
    t.is(await store.position('b'), 2);
  });

  test(`${name}: the place in a lane counts the jobs that go first`, async (t) => {
    const { store } = await setup(t);
    await store.commit([
      creation('second', { at: epoch + 1 }),
      creation('first', { at: epoch }),
      creation('third', { at: epoch + 1 }),
      creation('elsewhere', { request: { provider: 'openai' } }),
      creation('delayed', { state: 'pending.delayed' }),
    ]);
    const ids = ['first', 'second', 'third', 'elsewhere', 'delayed', 'nobody'];
    t.deepEqual(await Promise.all(ids.map((id) => store.position(id))), [1, 2, 3, 1, null, null]);
    const first = await store.job('first');
    if (first === undefined) return t.fail();
    await store.commit([transition(first, 'cancelled')]);
    t.deepEqual(await Promise.all(ids.map((id) => store.position(id))), [null, 1, 2, 1, null, null]);
  });

  test(`${name}: a job that comes back to its lane gets its old place, in another lane its place by age`, async (t) => {
    const { store } = await setup(t);
    await store.commit(['a', 'b', 'c'].map((id, i) => creation(id, { at: epoch + i })));
    await store.commit([creation('d', { at: epoch + 5, request: { provider: 'openai' } })]);
    await store.claim({ lanes: [anthropic], limit: 2 }, claimAs('running.active'));
    const [a, b] = [await store.job('a'), await store.job('b')];
    if (a === undefined || b === undefined) return t.fail();
    await store.commit([
      transition(b, 'pending.ready'),
      transition(a, 'pending.ready', { target: targetOf('openai') }),
    ]);
    t.deepEqual(await Promise.all(['a', 'b', 'c', 'd'].map((id) => store.position(id))), [1, 1, 2, 2]);
  });

  test(`${name}: lists are newest first, with totals for every filter`, async (t) => {
    const { store } = await setup(t);
    const states: JobState[] = ['pending.ready', 'pending.delayed', 'running.active', 'completed', 'failed'];
    for (let i = 0; i < 20; i += 1) {
      const provider = [null, 'anthropic', 'openai'][i % 3] ?? null;
      const tags = i % 2 === 0 ? ['even'] : ['odd', 'tagged'];
      const request = { provider, tags, prompt: `Prompt ${i} Straße`, tier: i < 5 ? 'gold' : null };
      await store.commit([
        creation(`job-${i}`, {
          request: { ...request, model: i === 7 ? 'm' : null, priority: i === 3 ? 'high' : 'normal' },
          state: states[i % 5] ?? 'pending.ready',
          at: epoch + i,
        }),
      ]);
    }
    const see = async (overrides: Parameters<typeof queryOf>[0]) => {
      const { jobs, total, totalCapped } = await store.jobs(queryOf(overrides));
      t.false(totalCapped);
      return [total, jobs.map(({ id }) => Number(id.slice(4)))] as const;
    };
    t.deepEqual(await see({ limit: 3 }), [20, [19, 18, 17]]);
    t.deepEqual(await see({ limit: 3, offset: 18 }), [20, [1, 0]]);
    t.deepEqual(await see({ limit: 3, offset: 25 }), [20, []]);
    t.deepEqual(await see({ statuses: ['pending'], limit: 3 }), [8, [16, 15, 11]]);
    t.deepEqual(await see({ statuses: ['failed', 'completed'], limit: 3, offset: 1 }), [8, [18, 14, 13]]);
    t.deepEqual(await see({ states: ['pending.delayed'] }), [4, [16, 11, 6, 1]]);
    t.deepEqual(await see({ states: ['pending.delayed', 'failed'], statuses: ['pending'] }), [
      4,
      [16, 11, 6, 1],
    ]);
    t.deepEqual(await see({ states: ['pending.delayed'], statuses: ['running'] }), [0, []]);
    t.deepEqual(await see({ states: ['pending.ready'], provider: 'openai' }), [1, [5]]);
    t.deepEqual(await see({ states: ['pending.ready'], tags: ['odd'] }), [2, [15, 5]]);
    t.deepEqual(await see({ provider: 'openai' }), [6, [17, 14, 11, 8, 5, 2]]);
    t.deepEqual(await see({ provider: 'openai', offset: 4 }), [6, [5, 2]]);
    t.deepEqual(await see({ provider: 'nobody' }), [0, []]);
    t.deepEqual(await see({ provider: 'anthropic', statuses: ['pending', 'running'] }), [4, [16, 10, 7, 1]]);
    t.deepEqual(await see({ model: 'm' }), [1, [7]]);
    t.deepEqual(await see({ tags: ['tagged', 'odd'], limit: 2 }), [10, [19, 17]]);
    t.deepEqual(await see({ tags: ['even', 'odd'] }), [0, []]);
    t.deepEqual(await see({ priority: 'high' }), [1, [3]]);
    t.deepEqual(await see({ tier: 'gold', statuses: ['pending'] }), [2, [1, 0]]);
    t.deepEqual(await see({ createdAfter: epoch + 17, createdBefore: epoch + 19 }), [2, [18, 17]]);
    t.deepEqual(await see({ newest: 'job-16', limit: 2, offset: 1 }), [17, [15, 14]]);
    t.deepEqual(await see({ newest: 'job-16', statuses: ['pending'], limit: 2 }), [8, [16, 15]]);
    t.deepEqual(await see({ newest: 'job-10', tags: ['odd'], limit: 2 }), [5, [9, 7]]);
    const unknown = await t.throwsAsync(see({ newest: 'nobody' }));
    t.like(unknown, { code: 'invalid_request' });
    t.deepEqual(await see({ text: 'PROMPT 1 S' }), [1, [1]]);
    t.deepEqual(await see({ text: 'JOB-19' }), [1, [19]]);
    t.deepEqual(await see({ text: '.*' }), [0, []]);
    t.deepEqual(await see({ text: 'prompt', limit: 2, offset: 17 }), [20, [2, 1]]);
    t.deepEqual(await store.counts(), {
      total: 20,
      byStatus: { pending: 8, running: 4, completed: 4, failed: 4, cancelled: 0 },
      byState: {
        'pending.ready': 4,
        'pending.delayed': 4,
        'running.active': 4,
        'running.stuck': 0,
        completed: 4,
        failed: 4,
        cancelled: 0,
      },
    });
    t.deepEqual(idsOf(await store.delayedJobs()).sort(), ['job-1', 'job-11', 'job-16', 'job-6']);
  });

  test(`${name}: jobs say which key made them, are listed by it, and the pending ones are counted`, async (t) => {
    const { store, reopen } = await setup(t);
    const by = (i: number) =>
      i % 3 === 0 ? {} : { by: { keyId: `k${i % 3}`, name: i % 3 === 1 ? 'one' : null } };
    for (let i = 0; i < 9; i += 1) await store.commit([creation(`job-${i}`, by(i))]);
    const moves: [string, JobState][] = [
      ['job-1', 'running.active'],
      ['job-2', 'completed'],
      ['job-4', 'pending.delayed'],
    ];
    for (const [id, state] of moves) {
      const job = await store.job(id);
      if (job === undefined) return t.fail();
      await store.commit([transition(job, state)]);
    }
    for (const each of [store, await reopen()]) {
      t.deepEqual((await each.job('job-1'))?.createdBy, { keyId: 'k1', name: 'one' });
      t.is((await each.job('job-0'))?.createdBy, null);
      const page = await each.jobs(queryOf({ createdBy: 'k2', limit: 2 }));
      t.deepEqual([page.total, idsOf(page.jobs)], [3, ['job-8', 'job-5']]);
      t.is((await each.jobs(queryOf({ createdBy: 'k1', statuses: ['pending'] }))).total, 2);
      t.is((await each.jobs(queryOf({ createdBy: 'nobody' }))).total, 0);
      t.deepEqual([...(await each.pendingByKey())].sort(), [
        ['k1', 2],
        ['k2', 2],
      ]);
    }
  });

  test(`${name}: a list by worker goes by the last attempt`, async (t) => {
    const { store } = await setup(t);
    await store.commit(['a', 'b'].map((id) => creation(id)));
    const attempt = (number: number, workerId: string) => ({
      number,
      lease: number,
      workerId,
      provider: 'anthropic',
      model: null,
      startedAt: epoch,
      finishedAt: null,
      outcome: null,
      error: null,
      usage: null,
      cost: { nanoDollars: null, status: 'none' as const },
    });
    const [a, b] = [await store.job('a'), await store.job('b')];
    if (a === undefined || b === undefined) return t.fail();
    await store.commit([
      transition(a, 'running.active', { attempts: [attempt(1, 'w1'), attempt(2, 'w2')] }),
      transition(b, 'running.active', { attempts: [attempt(1, 'w1')] }),
    ]);
    t.deepEqual(idsOf((await store.jobs(queryOf({ worker: 'w1' }))).jobs), ['b']);
    t.deepEqual(idsOf((await store.jobs(queryOf({ worker: 'w2' }))).jobs), ['a']);
  });

  test(`${name}: counting by a filter that has no total of its own stops at 10,000`, async (t) => {
    const { store } = await setup(t);
    const tagged = { request: { tags: ['many'] } };
    for (let batch = 0; batch < 11; batch += 1) {
      await store.commit(Array.from({ length: 1_000 }, (_, i) => creation(`${batch}-${i}`, tagged)));
    }
    const page = await store.jobs(queryOf({ tags: ['many'] }));
    t.is(page.total, 10_000);
    t.true(page.totalCapped);
    const deep = await store.jobs(queryOf({ tags: ['many'], offset: 10_990 }));
    t.is(deep.jobs.length, 10);
    const all = await store.jobs(queryOf({ provider: 'anthropic', statuses: ['pending'] }));
    t.deepEqual([all.total, all.totalCapped], [11_000, false]);
  });

  test(`${name}: the ends of attempts are counted for their worker, once`, async (t) => {
    const { store, reopen } = await setup(t);
    await store.commit([{ kind: 'worker', life: workerLife('w') }, creation('a'), creation('b')]);
    const [a, b] = [await store.job('a'), await store.job('b')];
    if (a === undefined || b === undefined) return t.fail();
    await store.commit([
      transition(a, 'completed', {}, [ledgerEntry('w', 'completed'), ledgerEntry('w', 'failed')]),
    ]);
    const others = (['timed_out', 'cancelled', 'released', 'reaped', null] as const).map((o) =>
      ledgerEntry('w', o),
    );
    await store.commit([transition(b, 'failed', {}, [...others, ledgerEntry('nobody', 'completed')])]);
    t.like((await store.workers())[0], { completed: 1, failed: 2 });
    await store.commit([{ kind: 'worker', life: workerLife('w', { concurrency: 7 }) }]);
    const workers = await (await reopen()).workers();
    t.deepEqual(workers, [{ life: workerLife('w', { concurrency: 7 }), completed: 1, failed: 2 }]);
  });

  test(`${name}: the ledger is summed up by quarter-hours, in every dimension`, async (t) => {
    const { store, reopen } = await setup(t);
    await store.commit([creation('a'), creation('b'), creation('c')]);
    const [a, b, c] = [await store.job('a'), await store.job('b'), await store.job('c')];
    if (a === undefined || b === undefined || c === undefined) return t.fail();
    const quarter = Math.floor(epoch / bucketMs) * bucketMs;
    const gold = { model: 'm', tier: 'gold', tags: ['x', 'y'] };
    await store.commit([
      transition(a, 'completed', {}, [
        ledgerEntry('v', 'failed', { at: quarter, ...gold, amounts: { nanoDollars: 5 } }),
        ledgerEntry('w', 'completed', {
          at: quarter + bucketMs - 1,
          ...gold,
          amounts: { jobs: 1, inputTokens: 7 },
        }),
      ]),
      transition(b, 'failed', {}, [ledgerEntry('w', 'failed', { at: quarter + bucketMs, tags: ['x'] })]),
    ]);
    await store.commit([
      transition(c, 'failed', {}, [ledgerEntry('w', 'failed', { at: quarter - 1, provider: 'openai' })]),
    ]);
    const seeIn = async (
      seen: Store,
      dimension: CostDimension,
      from = quarter - bucketMs,
      to = quarter + 2 * bucketMs,
    ) => {
      const buckets = await seen.costBuckets(from, to, dimension);
      const lines = buckets.map(({ from: at, key, amounts }) => {
        const { attempts, nanoDollars, jobs, inputTokens } = amounts;
        return [(at - quarter) / bucketMs, ...key, attempts, nanoDollars, jobs, inputTokens].join(' ');
      });
      return lines.sort();
    };
    const check = async (seen: Store) => {
      const see = (...what: [CostDimension, number?, number?]) => seeIn(seen, ...what);
      t.deepEqual(await see('total'), ['-1 1 0 0 0', '0 2 5 1 7', '1 1 0 0 0']);
      t.deepEqual(await see('model'), [
        '-1 openai  1 0 0 0',
        '0 anthropic m 2 5 1 7',
        '1 anthropic  1 0 0 0',
      ]);
      t.deepEqual(await see('worker'), ['-1 w 1 0 0 0', '0 v 1 5 0 0', '0 w 1 0 1 7', '1 w 1 0 0 0']);
      t.deepEqual(await see('tier'), ['-1  1 0 0 0', '0 gold 2 5 1 7', '1  1 0 0 0']);
      t.deepEqual(await see('tag'), ['-1  1 0 0 0', '0 x 2 5 1 7', '0 y 2 5 1 7', '1 x 1 0 0 0']);
      t.deepEqual(await see('total', quarter, quarter + 1), ['0 2 5 1 7']);
      t.deepEqual(await see('total', quarter, quarter), []);
      t.deepEqual(await see('total', quarter + 2 * bucketMs, quarter + 9 * bucketMs), []);
    };
    await check(store);
    const again = await reopen();
    await check(again);
    t.deepEqual(await again.costBuckets(0, quarter - bucketMs, 'total'), []);
  });

  test(`${name}: what the ledger takes back is taken from where it was, and what a reader holds stays`, async (t) => {
    const { store, reopen } = await setup(t);
    await store.commit([creation('a')]);
    const move = async (seen: Store, state: JobState, ...entries: LedgerEntry[]) => {
      const job = await seen.job('a');
      if (job !== undefined) await seen.commit([transition(job, state, {}, entries)]);
    };
    const reaped = { amounts: { nanoDollars: 0, unknown: 1 } };
    await move(store, 'pending.ready', ledgerEntry('w', 'reaped', reaped));
    const held = await store.costBuckets(0, epoch + 1, 'worker');
    const copy = structuredClone(held);
    const again = await reopen();
    await move(
      again,
      'completed',
      ledgerEntry('w', 'reaped', { amounts: { attempts: -1, unknown: -1 } }),
      ledgerEntry('w', 'completed', { at: epoch + bucketMs, amounts: { nanoDollars: 9, unknown: 0 } }),
    );
    t.deepEqual(held, copy);
    for (const seen of [again, await reopen()]) {
      const buckets = await seen.costBuckets(0, epoch + 2 * bucketMs, 'worker');
      const sums = buckets
        .map(({ amounts }) => amounts)
        .reduce((sum, each) => addAmounts(sum, each), noAmounts);
      t.deepEqual(sums, { ...noAmounts, attempts: 1, nanoDollars: 9 });
    }
  });

  test(`${name}: a commit that fails adds nothing to the ledger`, async (t) => {
    const { place, store } = await setup(t);
    await store.commit([creation('a')]);
    const a = await store.job('a');
    if (a === undefined) return t.fail();
    place.breakWrites();
    await t.throwsAsync(store.commit([transition(a, 'failed', {}, [ledgerEntry('w', 'failed')])]));
    place.mendWrites();
    t.deepEqual(await store.costBuckets(0, epoch + bucketMs, 'total'), []);
  });

  test(`${name}: workers and keys that are removed are gone, also after it was opened again`, async (t) => {
    const { store, reopen } = await setup(t);
    const key = {
      id: 'k',
      role: 'admin' as const,
      name: 'first',
      secretHash: 's',
      previous: null,
      createdAt: epoch,
      expiresAt: null,
    };
    await store.commit([
      { kind: 'worker', life: workerLife('w') },
      { kind: 'worker', life: workerLife('v') },
    ]);
    await store.commit([
      { kind: 'key', key },
      { kind: 'key', key: { ...key, id: 'l' } },
    ]);
    await store.commit([{ kind: 'key', key: { ...key, name: 'renamed' } }]);
    t.deepEqual((await store.keys()).map(({ name }) => name).sort(), ['first', 'renamed']);
    await store.commit([
      { kind: 'workerRemoved', id: 'w' },
      { kind: 'keyRemoved', id: 'l' },
    ]);
    const again = await reopen();
    t.deepEqual(
      (await again.workers()).map(({ life }) => life.id),
      ['v'],
    );
    t.deepEqual(
      (await again.keys()).map(({ name }) => name),
      ['renamed'],
    );
  });

  test(`${name}: the state of the queue is the last one that was committed, also after it was opened again`, async (t) => {
    const { store, place, reopen } = await setup(t);
    t.deepEqual(await store.queue(), { paused: false, since: null, by: null, reason: null });
    const paused = { paused: true, since: epoch, by: { keyId: 'k', name: 'Grüße' }, reason: 'maintenance' };
    await store.commit([{ kind: 'queue', queue: paused }]);
    t.deepEqual(await store.queue(), paused);
    place.breakWrites();
    const resumed = { paused: false, since: epoch + 1, by: null, reason: null };
    await t.throwsAsync(store.commit([{ kind: 'queue', queue: resumed }]));
    t.deepEqual(await store.queue(), paused);
    place.mendWrites();
    const again = await reopen();
    t.deepEqual(await again.queue(), paused);
    await again.commit([{ kind: 'queue', queue: resumed }]);
    t.deepEqual(await (await reopen()).queue(), resumed);
  });

  test(`${name}: what holds providers back is kept until it is removed, also after it was opened again`, async (t) => {
    const { store, reopen } = await setup(t);
    const hold = (provider: string, until: number): ProviderHold => ({
      name: provider,
      status: 'limited',
      until,
      changedAt: epoch,
      limitsInRow: 1,
      opensInRow: 0,
      cause: null,
    });
    t.deepEqual(await store.providers(), []);
    const open: ProviderHold = {
      ...hold('b', epoch + 1),
      status: 'open',
      cause: { class: 'server_error', code: 'server_error', message: 'Broken', status: 500 },
    };
    await store.commit([
      { kind: 'provider', hold: hold('a', epoch) },
      { kind: 'provider', hold: open },
    ]);
    await store.commit([{ kind: 'provider', hold: hold('a', epoch + 5) }]);
    await store.commit([{ kind: 'provider', hold: hold('c', epoch) }]);
    await store.commit([
      { kind: 'providerRemoved', name: 'c' },
      { kind: 'providerRemoved', name: 'unknown' },
    ]);
    const seen = async (from: Store) => (await from.providers()).sort((x, y) => (x.name < y.name ? -1 : 1));
    t.deepEqual(await seen(store), [hold('a', epoch + 5), open]);
    t.deepEqual(await seen(await reopen()), [hold('a', epoch + 5), open]);
  });

  test(`${name}: files are kept until they are removed, also after it was opened again`, async (t) => {
    const { store, reopen } = await setup(t);
    const file = (id: string): FileRecord => ({
      id,
      name: 'requests.jsonl',
      purpose: 'batch',
      bytes: 7,
      createdAt: epoch,
      createdBy: { keyId: 'k', name: 'app' },
      expiresAt: epoch + 5,
    });
    await store.commit([
      { kind: 'file', file: file('a') },
      { kind: 'file', file: file('b') },
    ]);
    await store.commit([
      { kind: 'fileRemoved', id: 'a' },
      { kind: 'fileRemoved', id: 'unknown' },
    ]);
    t.deepEqual(await store.files(), [file('b')]);
    t.deepEqual(await (await reopen()).files(), [file('b')]);
  });

  test(`${name}: of what is noted about an answer the last counts, also after it was opened again`, async (t) => {
    const { store, reopen } = await setup(t);
    const first: Annotation = { jobId: 'a', isDeleted: false, metadata: { a: 'b' }, at: epoch };
    const last = { ...first, isDeleted: true, at: epoch + 1 };
    await store.commit([{ kind: 'annotation', annotation: first }]);
    t.deepEqual(await store.annotation('a'), first);
    await store.commit([{ kind: 'annotation', annotation: last }]);
    const again = await reopen();
    t.deepEqual(await again.annotation('a'), last);
    t.is(await again.annotation('b'), undefined);
  });

  test(`${name}: as many notes about answers as there may be are kept, the newest`, async (t) => {
    const { store, reopen } = await setup(t);
    const note = (place: number): Annotation => {
      return { jobId: `j${place}`, isDeleted: true, metadata: null, at: epoch };
    };
    const notes = Array.from({ length: annotationsMax }, (_, place) => note(place));
    await store.commit(notes.map((annotation) => ({ kind: 'annotation', annotation })));
    await store.commit([{ kind: 'annotation', annotation: note(0) }]);
    await store.commit([{ kind: 'annotation', annotation: note(annotationsMax) }]);
    const again = await reopen();
    t.truthy(await again.annotation('j0'));
    t.is(await again.annotation('j1'), undefined);
    t.truthy(await again.annotation(`j${annotationsMax}`));
  });

  test(`${name}: deliveries are kept with what they follow from, until they or their endpoint are removed`, async (t) => {
    const { store, reopen } = await setup(t);
    const webhook = (id: string): WebhookRecord => ({
      id,
      name: id,
      url: 'https://example.com/hook',
      description: null,
      secret: 'whsec_c2VjcmV0',
      previous: [],
      events: null,
      tags: null,
      createdAt: epoch,
      stopped: null,
      dropped: 0,
    });
    const delivery = (id: string, webhookId: string): Delivery => ({
      id,
      webhookId,
      event: { id: `evt_${id}`, type: 'job.completed', at: epoch, data: { id: 'j' } },
      state: 'pending',
      createdAt: epoch,
      tries: 0,
      nextAt: epoch,
      last: null,
    });
    await store.commit([
      { kind: 'webhook', webhook: webhook('a') },
      { kind: 'webhook', webhook: webhook('b') },
      { ...creation('j'), deliveries: [delivery('1', 'a'), delivery('2', 'b'), delivery('3', 'unknown')] },
    ]);
    const tried = { ...delivery('1', 'a'), tries: 1 };
    await store.commit([
      { kind: 'delivery', delivery: tried },
      { kind: 'delivery', delivery: delivery('4', 'a') },
      { kind: 'delivery', delivery: delivery('5', 'unknown') },
      { kind: 'deliveriesRemoved', ids: ['4', 'unknown'] },
    ]);
    const all = { webhooks: [webhook('a'), webhook('b')], deliveries: [tried, delivery('2', 'b')] };
    t.deepEqual(await store.webhooks(), all);
    const again = await reopen();
    t.deepEqual(await again.webhooks(), all);
    await again.commit([{ kind: 'webhookRemoved', id: 'a' }]);
    t.deepEqual(await again.webhooks(), { webhooks: [webhook('b')], deliveries: [delivery('2', 'b')] });
  });

  test(`${name}: of long notes about answers as many are kept as have room, the newest`, async (t) => {
    const { store, reopen } = await setup(t);
    const metadata = { a: 'x'.repeat(annotationCharactersMax / 4) };
    for (const jobId of ['a', 'b', 'c', 'd'])
      await store.commit([
        { kind: 'annotation', annotation: { jobId, isDeleted: false, metadata, at: epoch } },
      ]);
    const again = await reopen();
    t.is(await again.annotation('a'), undefined);
    t.truthy(await again.annotation('b'));
    await again.commit([
      { kind: 'annotation', annotation: { jobId: 'b', isDeleted: true, metadata: null, at: epoch } },
      { kind: 'annotation', annotation: { jobId: 'e', isDeleted: false, metadata, at: epoch } },
    ]);
    for (const jobId of ['b', 'c', 'd', 'e']) t.truthy(await again.annotation(jobId), jobId);
  });

  const withKey = (id: string, key: string, expiresAt: number): JobChange => {
    const change = creation(id);
    const idempotency = { key, jobId: id, bodyHash: `hash of ${id}`, expiresAt };
    return { ...change, created: { at: epoch, request: requestOf(), idempotency } };
  };

  test(`${name}: an idempotency key is remembered until it expires`, async (t) => {
    const { store, clock, reopen } = await setup(t);
    await store.commit([withKey('a', 'k', epoch + 100), withKey('b', 'l', epoch + 200)]);
    t.like(await store.idempotent('k'), { jobId: 'a', bodyHash: 'hash of a' });
    clock.advance(100);
    t.is(await store.idempotent('k'), undefined);
    await store.commit([withKey('c', 'k', epoch + 300)]);
    const again = await reopen();
    t.like(await again.idempotent('k'), { jobId: 'c' });
    t.like(await again.idempotent('l'), { jobId: 'b' });
    t.is(await again.idempotent('m'), undefined);
  });

  test(`${name}: a second job with an idempotency key that is remembered or on its way is refused`, async (t) => {
    const { store, place, reopen, clock } = await setup(t);
    const taken = { instanceOf: KeyTaken, message: /job a/ };
    const until = epoch + 100;
    const first = store.commit([withKey('a', 'k', until)]);
    await t.throwsAsync(store.commit([withKey('b', 'k', until)]), taken);
    await first;
    await t.throwsAsync(store.commit([creation('c'), withKey('b', 'k', until)]), taken);
    await t.throwsAsync(store.commit([withKey('d', 'l', until), withKey('e', 'l', until)]), {
      instanceOf: KeyTaken,
      message: /job d/,
    });
    t.is((await store.counts()).total, 1);
    place.breakWrites();
    await t.throwsAsync(store.commit([withKey('f', 'm', until)]), { name: 'StoreUnavailable' });
    place.mendWrites();
    await store.commit([withKey('f', 'm', until), withKey('g', 'l', until)]);
    const again = await reopen();
    await t.throwsAsync(again.commit([withKey('b', 'k', until)]), taken);
    clock.advance(100);
    await again.commit([withKey('b', 'k', until + 100)]);
    t.is((await again.idempotent('k'))?.jobId, 'b');
  });

  test(`${name}: a change that no store could keep is a bug of its caller, and is refused before anything is written`, async (t) => {
    const { store, reopen } = await setup(t);
    const { created: _, ...withoutRequest } = creation('a');
    await t.throwsAsync(store.commit([creation('b'), withoutRequest]), { instanceOf: TypeError });
    await t.throwsAsync(store.commit([creation('a', { life: { enqueuedAt: Number.NaN } })]), {
      instanceOf: TypeError,
    });
    t.is((await store.counts()).total, 0);
    t.is(store.health().status, 'ok');
    await store.commit([creation('a')]);
    t.is((await (await reopen()).counts()).total, 1);
  });

  test(`${name}: after close commits are refused and closing again does nothing`, async (t) => {
    const { store } = await setup(t);
    t.is(store.health().status, 'ok');
    const commit = store.commit([creation('a')]);
    await Promise.all([store.close(), store.close()]);
    await commit;
    t.is(store.health().status, 'closed');
    await t.throwsAsync(store.commit([creation('b')]), { name: 'StoreUnavailable' });
    await t.throwsAsync(
      store.claim({ lanes: [anthropic], limit: 1 }, () => 'skip'),
      { name: 'StoreUnavailable' },
    );
  });
}
