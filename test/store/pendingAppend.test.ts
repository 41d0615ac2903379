import test, { type ExecutionContext } from 'ava';
import { laneKey } from '../../src/domain/job.ts';
import { LogFailed } from '../../src/store/durableLog.ts';
import { MemoryStore } from '../../src/store/memory/memoryStore.ts';
import type { Store } from '../../src/store/store.ts';
import { FakeClock } from '../support/fakeClock.ts';
import { stateOf } from './folders.ts';
import { creation, epoch, headStart, queryOf, targetOf, transition } from './jobs.ts';
import { LogPlace, MemoryLog } from './memoryLog.ts';

const lane = laneKey(targetOf('anthropic'));

function storeOver(log: MemoryLog): MemoryStore {
  return new MemoryStore(log, { clock: new FakeClock(epoch), headStart, auditKeptMs: () => 86_400_000 });
}

async function opened(
  t: ExecutionContext,
  place = new LogPlace(),
): Promise<{ store: Store; log: MemoryLog }> {
  const log = new MemoryLog(place);
  const store = storeOver(log);
  await store.open();
  t.teardown(() => store.close());
  return { store, log };
}

/** Wait until something holds; ava's timeout ends a test in which it never does. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}

/** Note when a promise settles, and how. */
function watched(name: string, promise: Promise<unknown>, into: string[]): Promise<void> {
  return promise.then(
    () => void into.push(`${name} kept`),
    (error: Error) => void into.push(`${name} ${error.name}`),
  );
}

/** Time in which whatever could happen has happened. */
async function someTurns(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

test('a commit whose outcome is not known is not answered, and no read shows it, until it is', async (t) => {
  const { store, log } = await opened(t);
  log.outcome = 'pending';
  const ends: string[] = [];
  const commit = watched('a', store.commit([creation('a')]), ends);
  await until(() => log.held.length === 1);
  await someTurns();
  t.deepEqual(ends, []);
  t.is(await store.job('a'), undefined);
  t.like(store.health(), { status: 'failing' });
  t.regex(store.health().detail ?? '', /not known whether .* durable: the connection was lost/);
  log.held[0]?.keep();
  await commit;
  t.deepEqual(ends, ['a kept']);
  t.like(await store.job('a'), { id: 'a', version: 1 });
  t.like(store.health(), { status: 'ok', detail: null });
});

test('later commits wait behind one that is pending, and are answered in order', async (t) => {
  const { store, log } = await opened(t);
  log.outcome = 'pending';
  const ends: string[] = [];
  const first = watched('a', store.commit([creation('a')]), ends);
  await until(() => log.held.length === 1);
  log.outcome = 'done';
  const later = ['b', 'c', 'd'].map((id) => watched(id, store.commit([creation(id)]), ends));
  await someTurns();
  t.deepEqual(ends, []);
  t.is(log.place.records.length, 0, 'nothing was appended meanwhile');
  log.held[0]?.keep();
  await Promise.all([first, ...later]);
  t.deepEqual(ends, ['a kept', 'b kept', 'c kept', 'd kept']);
  const { jobs } = await store.jobs(queryOf());
  t.deepEqual(
    jobs.map(({ id, ordinal }) => [id, ordinal]),
    [
      ['d', 4],
      ['c', 3],
      ['b', 2],
      ['a', 1],
    ],
  );
  t.deepEqual(
    log.place.records.map(([text = '']) => JSON.parse(text).id),
    ['a', 'b', 'c', 'd'],
  );
});

test('a refusal after the wait leaves memory as it was, and what waited behind it goes on', async (t) => {
  const { store, log } = await opened(t);
  await store.commit([creation('a'), creation('b')]);
  const before = await stateOf(store);
  log.outcome = 'pending';
  const ends: string[] = [];
  const claim = watched(
    'claim',
    store.claim({ lanes: [lane], limit: 1 }, (job) => transition(job, 'running.active', { lease: 1 })),
    ends,
  );
  await until(() => log.held.length === 1);
  t.is((await store.lanes())[0]?.ready, 1, 'the job that is claimed is held');
  log.outcome = 'done';
  const later = watched('c', store.commit([creation('c')]), ends);
  log.held[0]?.refuse();
  await claim;
  t.deepEqual(ends, ['claim StoreUnavailable']);
  t.is(await store.position('a'), 1);
  await later;
  t.deepEqual(ends, ['claim StoreUnavailable', 'c kept']);
  const job = await store.job('c');
  if (job === undefined) return t.fail();
  t.is(job.ordinal, 3);
  t.like(store.health(), { status: 'ok' });
  const claimed = await store.claim({ lanes: [lane], limit: 1 }, (offered) =>
    transition(offered, 'running.active', { lease: 1 }),
  );
  t.deepEqual(
    claimed.map(({ id }) => id),
    ['a'],
  );
  await store.close();
  const again = await opened(t, log.place);
  t.is((await again.store.counts()).byStatus.running, 1);
  t.notDeepEqual(await stateOf(again.store), before);
});

test('after a refusal that is final nothing is acknowledged any more', async (t) => {
  const { store, log } = await opened(t);
  log.outcome = 'pending';
  const commit = t.throwsAsync(store.commit([creation('a')]), {
    name: 'StoreUnavailable',
    message: /overtaken/,
  });
  await until(() => log.held.length === 1);
  const behind = t.throwsAsync(store.commit([creation('b')]), { name: 'StoreUnavailable' });
  log.held[0]?.refuse(new LogFailed('another node has overtaken this one'));
  await commit;
  await behind;
  t.regex((await store.failed).message, /overtaken/);
  t.is(store.health().status, 'failed');
  t.is(log.place.records.length, 0);
});

test('a store that is closed while a commit is pending says in plain words that its outcome is not known', async (t) => {
  const { store, log } = await opened(t);
  log.outcome = 'pending';
  const commit = store.commit([creation('a')]);
  await until(() => log.held.length === 1);
  const behind = store.commit([creation('b')]);
  await Promise.all([
    t.throwsAsync(commit, { name: 'OutcomeUnknown', message: /not known .* durable: the store was closed/ }),
    t.throwsAsync(behind, { name: 'StoreUnavailable', message: /closed before it could be written/ }),
    store.close(),
  ]);
  // The database had it after all: the next start shows it, and nothing that came after it.
  log.held[0]?.keep();
  const again = await opened(t, log.place);
  t.like(await again.store.counts(), { total: 1 });
  t.like(await again.store.job('a'), { version: 1 });
});

test('a store that is closed before its log says that a commit is pending does not wait either', async (t) => {
  const { store, log } = await opened(t);
  log.outcome = 'pending';
  const commit = t.throwsAsync(store.commit([creation('a')]), { name: 'OutcomeUnknown' });
  await store.close();
  await commit;
  log.held[0]?.refuse();
  await someTurns();
  t.is((await (await opened(t, log.place)).store.counts()).total, 0);
});

test('a log that fails while a commit is pending ends the wait', async (t) => {
  const { store, log } = await opened(t);
  log.outcome = 'pending';
  const commit = store.commit([creation('a')]);
  await until(() => log.held.length === 1);
  const behind = store.commit([creation('b')]);
  log.fail(new Error('the lease was lost'));
  await t.throwsAsync(commit, {
    name: 'OutcomeUnknown',
    message: /the store has failed: the lease was lost/,
  });
  await t.throwsAsync(behind, { name: 'StoreUnavailable', message: /the lease was lost/ });
  t.is(store.health().status, 'failed');
  t.is(log.held.length, 1);
});

test('no job is moved to the archive while a commit is pending', async (t) => {
  const { store, log } = await opened(t);
  await store.commit([creation('a', { state: 'completed', life: { finishedAt: 1 } })]);
  log.outcome = 'pending';
  const commit = store.commit([creation('b')]);
  await until(() => log.held.length === 1);
  const rule = { endedBefore: Number.POSITIVE_INFINITY, keep: 0, limit: 10 };
  await t.throwsAsync(
    store.archive(rule, () => true),
    { name: 'StoreUnavailable', message: /not known/ },
  );
  log.held[0]?.keep();
  await commit;
  log.outcome = 'done';
  t.is(await store.archive(rule, () => true), 1);
  t.like(await store.archivedJob('a'), { state: 'completed' });
});
