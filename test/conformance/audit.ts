import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import type { AuditRecord } from '../../src/domain/audit.ts';
import type { StoreUnavailable } from '../../src/domain/errors.ts';
import type { AuditChange, AuditQuery } from '../../src/store/store.ts';
import { creation, epoch, workerLife } from '../store/jobs.ts';
import { openBundle, type StorePlace } from './store.ts';

const dayMs = 86_400_000;

/** An entry that `root` made, for the store. */
export function auditOf(overrides: Partial<AuditRecord> = {}): AuditChange {
  const record: AuditRecord = {
    at: epoch,
    by: { actor: { keyId: 'k', name: 'root', role: 'admin' }, address: '127.0.0.1' },
    action: 'key.created',
    target: { kind: 'key', id: 'l', name: 'Grüße, 世界\n' },
    details: { role: 'client', expires_at: null, names: ['a', 'b'], count: 2 },
    outcome: 'done',
    ...overrides,
  };
  return { kind: 'audit', record };
}

/** A query for everything. */
export function auditQueryOf(overrides: Partial<AuditQuery> = {}): AuditQuery {
  return { since: null, until: null, actor: null, actions: [], limit: 1_000, offset: 0, ...overrides };
}

/**
 * Register the tests of the audit log that every store has to pass.
 * @param name of the store, at the head of the titles. @param placeOf makes a place that is removed with the test; its
 * stores keep entries for 400 days.
 */
export function auditConformance(name: string, placeOf: (t: ExecutionContext) => Promise<StorePlace>): void {
  const test = anyTest as TestFn;
  const setup = (t: ExecutionContext) => openBundle(t, placeOf);

  test(`${name}: entries are numbered in the order of their commits, and are there after it was opened again`, async (t) => {
    const { store, reopen } = await setup(t);
    t.deepEqual(await store.audit(auditQueryOf()), { entries: [], total: 0, totalCapped: false });
    await store.commit([auditOf()]);
    await store.commit([
      { kind: 'worker', life: workerLife('w') },
      auditOf({ action: 'worker.paused' }),
      auditOf({ action: 'role.refused', outcome: 'refused', at: epoch + 1 }),
    ]);
    await store.commit([creation('a'), auditOf({ by: { actor: null, address: null }, details: {} })]);
    const before = await store.audit(auditQueryOf());
    t.deepEqual(
      before.entries.map(({ seq, action }) => [seq, action]),
      [
        [4, 'key.created'],
        [3, 'role.refused'],
        [2, 'worker.paused'],
        [1, 'key.created'],
      ],
    );
    t.deepEqual(before.entries[3], { seq: 1, ...auditOf().record });
    for (let round = 0; round < 2; round += 1) {
      const again = await reopen();
      t.deepEqual(await again.audit(auditQueryOf()), before);
    }
    const again = await reopen();
    await again.commit([auditOf()]);
    t.is((await again.audit(auditQueryOf({ limit: 1 }))).entries[0]?.seq, 5);
  });

  test(`${name}: an entry is committed with the change beside it, or neither is`, async (t) => {
    const { store, place } = await setup(t);
    await store.commit([auditOf()]);
    place.breakWrites();
    const lost = [{ kind: 'worker' as const, life: workerLife('w') }, auditOf()];
    await t.throwsAsync<StoreUnavailable>(store.commit(lost), { code: 'store_unavailable' });
    place.mendWrites();
    t.deepEqual(await store.workers(), []);
    t.is((await store.audit(auditQueryOf())).total, 1);
    await store.commit(lost);
    const { entries } = await store.audit(auditQueryOf());
    t.deepEqual(
      entries.map(({ seq }) => seq),
      [2, 1],
    );
  });

  test(`${name}: entries are found by time, actor and action, a page at a time`, async (t) => {
    const { store, clock, reopen } = await setup(t);
    clock.advance(60 * dayMs);
    const actorOf = (i: number) => ({
      keyId: `k${i % 2}`,
      name: i % 2 === 0 ? 'even' : null,
      role: 'operator' as const,
    });
    // Over three months.
    for (let i = 0; i < 30; i += 1) {
      const by = { actor: actorOf(i), address: null };
      const action = i % 3 === 0 ? 'worker.paused' : 'worker.resumed';
      await store.commit([auditOf({ at: epoch + i * 2 * dayMs, by, action })]);
    }
    for (const each of [store, await reopen()]) {
      const see = async (overrides: Partial<AuditQuery>) => {
        const { entries, total } = await each.audit(auditQueryOf(overrides));
        return [total, entries.map(({ seq }) => seq)] as const;
      };
      t.deepEqual(await see({ limit: 3 }), [30, [30, 29, 28]]);
      t.deepEqual(await see({ limit: 3, offset: 28 }), [30, [2, 1]]);
      t.deepEqual(await see({ limit: 3, offset: 30 }), [30, []]);
      t.deepEqual(await see({ actor: 'k1', limit: 2 }), [15, [30, 28]]);
      t.deepEqual(await see({ actor: 'even', limit: 2 }), [15, [29, 27]]);
      t.deepEqual(await see({ actor: 'nobody' }), [0, []]);
      t.deepEqual(await see({ actions: ['worker.paused'], limit: 2 }), [10, [28, 25]]);
      t.is((await see({ actions: ['worker.paused', 'worker.resumed'] }))[0], 30);
      t.deepEqual(await see({ since: epoch + 2 * dayMs, until: epoch + 8 * dayMs }), [3, [4, 3, 2]]);
      t.deepEqual(await see({ since: epoch + 58 * dayMs }), [1, [30]]);
      t.deepEqual(await see({ until: epoch + 1 }), [1, [1]]);
    }
  });

  test(`${name}: entries that are older than they are kept for are shown no more`, async (t) => {
    const { store, clock, reopen } = await setup(t);
    await store.commit([auditOf(), auditOf({ at: epoch + dayMs })]);
    clock.advance(400 * dayMs);
    const seen = async (each: typeof store) =>
      (await each.audit(auditQueryOf())).entries.map(({ seq }) => seq);
    t.deepEqual(await seen(store), [2, 1]);
    clock.advance(1);
    t.deepEqual(await seen(store), [2]);
    clock.advance(60 * dayMs);
    await store.commit([auditOf({ at: clock.now() })]);
    for (const each of [store, await reopen()]) t.deepEqual(await seen(each), [3]);
  });

  test(`${name}: counting stops at 10,000, or at the end of the page`, async (t) => {
    const { store } = await setup(t);
    for (let batch = 0; batch < 11; batch += 1) {
      await store.commit(Array.from({ length: 1_000 }, () => auditOf()));
    }
    const page = await store.audit(auditQueryOf({ limit: 1 }));
    t.like(page, { total: 10_000, totalCapped: true });
    const last = await store.audit(auditQueryOf({ limit: 1_000, offset: 10_000 }));
    t.like(last, { total: 11_000, totalCapped: false });
    t.deepEqual([last.entries[0]?.seq, last.entries.at(-1)?.seq], [1_000, 1]);
  });
}
