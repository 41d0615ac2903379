import { cp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { untouchedQueue } from '../../src/domain/queue.ts';
import { noTotals } from '../../src/domain/run.ts';
import { createJsonStore } from '../../src/store/json/jsonStore.ts';
import { formatVersion } from '../../src/store/json/layout.ts';
import { StoreLocked } from '../../src/store/storeErrors.ts';
import { auditOf, auditQueryOf } from '../conformance/audit.ts';
import { request } from '../support/coordinator.ts';
import { FakeClock } from '../support/fakeClock.ts';
import { emptyFolder, openStore, stateOf } from './folders.ts';
import { creation, epoch, headStart, queryOf, transition } from './jobs.ts';

/*
 * A folder of each format that a version has written, as it was: a checkpoint, and a journal after it. Never written
 * anew; a new format gets a folder of its own.
 */
const fixtures = fileURLToPath(new URL('../fixtures/store/', import.meta.url));

const idOf = (n: number) => `018bcfe5-6800-7000-8000-${String(n).padStart(12, '0')}`;

test('a folder of format 1 opens with everything in it, and is of the present format from then on', async (t) => {
  const path = await emptyFolder(t);
  await cp(join(fixtures, 'format-1'), path, { recursive: true });
  const store = await openStore(t, path);
  const { jobs } = await store.jobs(queryOf());
  t.deepEqual(
    jobs.map(({ id, ordinal, state }) => [id, ordinal, state]),
    [
      [idOf(7), 7, 'pending.delayed'],
      [idOf(6), 6, 'pending.ready'],
      [idOf(5), 5, 'running.active'],
      [idOf(4), 4, 'cancelled'],
      [idOf(3), 3, 'failed'],
      [idOf(2), 2, 'pending.ready'],
      [idOf(1), 1, 'completed'],
    ],
  );
  t.is(jobs[6]?.life.result?.output, 'Grüße, 世界');
  t.is((await store.idempotent('key-1'))?.jobId, idOf(1));
  t.like((await store.workers())[0], { completed: 1, failed: 1 });
  t.is((await store.keys())[0]?.name, 'first');
  const manifest = async () => JSON.parse(await readFile(join(path, 'coordinator.json'), 'utf8'));
  t.like(await manifest(), { format: formatVersion, lastOrdinal: 6 });

  await store.commit([creation('new', { at: epoch + 8 })]);
  const first = jobs[6];
  if (first === undefined) return t.fail();
  await store.commit([transition(first, 'failed')]);
  await store.checkpoint();
  const state = await stateOf(store);
  await store.close();
  const again = await openStore(t, path);
  t.deepEqual(await stateOf(again), state);
  t.is((await again.job('new'))?.ordinal, 8);
  t.like(await manifest(), { format: formatVersion, lastOrdinal: 8 });
});

test('a folder of format 2 opens with everything in it, and is of the present format from then on', async (t) => {
  const path = await emptyFolder(t);
  await cp(join(fixtures, 'format-2'), path, { recursive: true });
  const store = await openStore(t, path);
  const { jobs } = await store.jobs(queryOf());
  t.deepEqual(
    jobs.map(({ ordinal, state }) => [ordinal, state]),
    [
      [11, 'pending.ready'],
      [10, 'pending.ready'],
      [9, 'pending.ready'],
      [8, 'pending.ready'],
      [7, 'pending.delayed'],
      [6, 'pending.ready'],
      [4, 'cancelled'],
      [3, 'failed'],
      [2, 'pending.ready'],
      [1, 'completed'],
    ],
  );
  t.is((await store.archivedJob(idOf(5)))?.state, 'completed', 'it is archived');
  const [costs] = await store.costBuckets(0, epoch + 86_400_000_000, 'model');
  t.is(costs?.amounts.attempts, 2);
  const manifest = async () => JSON.parse(await readFile(join(path, 'coordinator.json'), 'utf8'));
  t.like(await manifest(), { format: formatVersion });

  await Promise.all(['a', 'b', 'c'].map((id) => store.commit([creation(id, { at: epoch + 12 })])));
  await store.checkpoint();
  const state = await stateOf(store);
  await store.close();
  const again = await openStore(t, path);
  t.deepEqual(await stateOf(again), state);
  t.is((await again.job('c'))?.ordinal, 14);
});

test('a folder of format 3 opens with everything in it, and is of the present format from then on', async (t) => {
  const path = await emptyFolder(t);
  await cp(join(fixtures, 'format-3'), path, { recursive: true });
  const store = await openStore(t, path);
  const { jobs } = await store.jobs(queryOf());
  t.deepEqual(
    jobs.map(({ ordinal, state, createdBy }) => [ordinal, state, createdBy]),
    [
      [6, 'pending.ready', null],
      [5, 'pending.ready', null],
      [4, 'pending.ready', null],
      [3, 'running.active', null],
      [2, 'failed', null],
    ],
  );
  t.like(await store.archivedJob(idOf(1)), { state: 'completed', createdBy: null });
  t.like((await store.keys())[0], { name: 'first' });
  t.is((await store.pendingByKey()).size, 0);
  t.is((await store.audit(auditQueryOf())).total, 0);
  const manifest = async () => JSON.parse(await readFile(join(path, 'coordinator.json'), 'utf8'));
  t.like(await manifest(), { format: formatVersion, audit: { seq: 0, files: [] } });

  const by = { keyId: 'k', name: 'first' };
  await store.commit([creation('a', { at: epoch + 12, by }), auditOf()]);
  await store.checkpoint();
  await store.commit([creation('b', { at: epoch + 13, by }), auditOf()]);
  const state = await stateOf(store);
  await store.close();
  const again = await openStore(t, path);
  t.deepEqual(await stateOf(again), state);
  t.deepEqual([...(await again.pendingByKey())], [['k', 2]]);
  t.deepEqual(
    (await again.audit(auditQueryOf())).entries.map(({ seq }) => seq),
    [2, 1],
  );
});

test('a folder of format 4 opens with everything in it, and is of the present format from then on', async (t) => {
  const path = await emptyFolder(t);
  await cp(join(fixtures, 'format-4'), path, { recursive: true });
  const store = await openStore(t, path);
  const by = { keyId: 'k', name: 'first' };
  const { jobs } = await store.jobs(queryOf());
  t.deepEqual(
    jobs.map(({ ordinal, state, createdBy }) => [ordinal, state, createdBy]),
    [
      [6, 'pending.ready', by],
      [5, 'pending.ready', by],
      [4, 'pending.ready', by],
      [3, 'running.active', by],
      [2, 'failed', by],
    ],
  );
  t.like(await store.archivedJob(idOf(1)), { state: 'completed', createdBy: by });
  t.is((await store.audit(auditQueryOf())).total, 2);
  t.deepEqual(await store.queue(), untouchedQueue);
  t.deepEqual(await store.providers(), []);
  const manifest = async () => JSON.parse(await readFile(join(path, 'coordinator.json'), 'utf8'));
  t.like(await manifest(), { format: formatVersion, queue: untouchedQueue, providers: [] });

  const queue = { paused: true, since: epoch + 12, by, reason: 'maintenance' };
  const hold = { name: 'openai', status: 'limited' as const, until: epoch + 60_000 };
  const rest = { changedAt: epoch, limitsInRow: 1, opensInRow: 0, cause: null };
  await store.commit([{ kind: 'queue', queue }]);
  await store.checkpoint();
  t.like(await manifest(), { queue });
  await store.commit([{ kind: 'provider', hold: { ...hold, ...rest } }]);
  const state = await stateOf(store);
  await store.close();
  const again = await openStore(t, path);
  t.deepEqual(await stateOf(again), state);
  await again.checkpoint();
  await again.close();
  const last = await openStore(t, path);
  t.deepEqual(await stateOf(last), state);
  t.deepEqual(await last.queue(), queue);
  t.deepEqual(await last.providers(), [{ ...hold, ...rest }]);
});

test('a folder of format 5 opens with everything in it, takes runs, and is of the present format from then on', async (t) => {
  const path = await emptyFolder(t);
  await cp(join(fixtures, 'format-5'), path, { recursive: true });
  const store = await openStore(t, path);
  const { jobs } = await store.jobs(queryOf());
  t.deepEqual(
    jobs.map(({ ordinal, state, run }) => [ordinal, state, run]),
    [
      [7, 'pending.ready', undefined],
      [6, 'pending.ready', undefined],
      [5, 'pending.ready', undefined],
      [4, 'pending.ready', undefined],
      [3, 'running.active', undefined],
      [2, 'failed', undefined],
    ],
  );
  t.like(await store.queue(), { paused: true, reason: 'maintenance' });
  t.like((await store.providers())[0], { name: 'openai', status: 'limited' });
  t.deepEqual(await store.runs(), []);
  const manifest = async () => JSON.parse(await readFile(join(path, 'coordinator.json'), 'utf8'));
  t.like(await manifest(), { format: formatVersion, runs: [] });

  const limits = { maxCost: 5, maxFailures: null, deadline: null };
  const life = { limits, pause: null, finishedAt: null };
  const run = { id: 'r', name: 'nightly', createdAt: epoch, createdBy: null, defaults: {}, life };
  await store.commit([{ kind: 'run', run: { ...run, state: 'running' } }]);
  await store.checkpoint();
  const line = { runId: 'r', name: 'nightly', lineId: 'l1' };
  const job = creation('of a run', { at: epoch + 9 });
  await store.commit([
    {
      ...job,
      created: { ...job.created, at: epoch, request: request(), run: line },
      runTotals: { runId: 'r', delta: { pending: 1 } },
    },
  ]);
  const state = await stateOf(store);
  await store.close();
  const again = await openStore(t, path);
  t.deepEqual(await stateOf(again), state);
  await again.checkpoint();
  await again.close();
  const last = await openStore(t, path);
  t.deepEqual(await stateOf(last), state);
  t.deepEqual(await last.runs(), [{ ...run, state: 'running', totals: { ...noTotals, pending: 1 } }]);
  t.deepEqual(
    (await last.jobsOfRun('r', { state: null, after: 0, limit: 9 })).map((one) => one.run),
    [line],
  );
  t.is(await last.countOfRun('r'), 1);
});

test('a folder of format 6 opens with everything in it, takes files and notes, and is of the present format from then on', async (t) => {
  const path = await emptyFolder(t);
  await cp(join(fixtures, 'format-6'), path, { recursive: true });
  const store = await openStore(t, path);
  const [run] = await store.runs();
  t.like(run, { name: 'nightly', state: 'running', totals: { ...noTotals, pending: 2 } });
  const lines = await store.jobsOfRun(run?.id ?? '', { state: null, after: 0, limit: 9 });
  t.deepEqual(
    lines.map((job) => job.run?.lineId),
    ['doc-1', 'doc-2'],
  );
  t.deepEqual(await store.files(), []);
  const manifest = async () => JSON.parse(await readFile(join(path, 'coordinator.json'), 'utf8'));
  t.like(await manifest(), { format: formatVersion, files: [], annotations: [] });

  const about = {
    name: 'a.jsonl',
    purpose: 'batch',
    bytes: 3,
    createdAt: epoch,
    createdBy: null,
    expiresAt: null,
  };
  const annotation = { jobId: 'j', isDeleted: true, metadata: null, at: epoch };
  await store.commit([{ kind: 'file', file: { id: 'a', ...about } }]);
  await store.checkpoint();
  await store.commit([
    { kind: 'file', file: { id: 'b', ...about } },
    { kind: 'annotation', annotation },
  ]);
  await store.close();
  const again = await openStore(t, path);
  await again.checkpoint();
  await again.close();
  const last = await openStore(t, path);
  t.deepEqual(
    (await last.files()).map(({ id }) => id),
    ['a', 'b'],
  );
  t.deepEqual(await last.annotation('j'), annotation);
});

test('a folder of format 7 opens with everything in it, takes changes that are differences, and is of the present format from then on', async (t) => {
  const path = await emptyFolder(t);
  await cp(join(fixtures, 'format-7'), path, { recursive: true });
  const store = await openStore(t, path);
  const { jobs } = await store.jobs(queryOf());
  t.deepEqual(
    jobs.map(({ ordinal, state, life }) => [ordinal, state, life.attempts.length]),
    [
      [5, 'pending.ready', 0],
      [4, 'pending.ready', 0],
      [3, 'running.active', 1],
      [2, 'completed', 1],
      [1, 'completed', 1],
    ],
  );
  t.is(jobs[3]?.life.result?.output, 'Grüße, 世界');
  t.like(await store.files(), [{ id: 'file-a' }]);
  t.deepEqual((await store.annotation(idOf(2)))?.isDeleted, true);
  t.like((await store.webhooks()).webhooks, [{ name: 'ci' }]);
  const manifest = async () => JSON.parse(await readFile(join(path, 'coordinator.json'), 'utf8'));
  t.like(await manifest(), { format: formatVersion });

  const running = jobs[2];
  if (running === undefined) return t.fail();
  await store.commit([transition(running, 'failed', { finishedAt: epoch + 9 })]);
  const state = await stateOf(store);
  await store.close();
  const again = await openStore(t, path);
  t.deepEqual(await stateOf(again), state);
  t.like(await again.job(idOf(3)), { state: 'failed', life: { ...running.life, finishedAt: epoch + 9 } });
  await again.checkpoint();
  await again.close();
  t.deepEqual(await stateOf(await openStore(t, path)), state);
});

test('of many that open a folder of an old format at once one raises it, and the others are refused', async (t) => {
  const path = await emptyFolder(t);
  await cp(join(fixtures, 'format-1'), path, { recursive: true });
  const stores = Array.from({ length: 8 }, () =>
    createJsonStore({ path, clock: new FakeClock(epoch), headStart }),
  );
  const opened = await Promise.allSettled(stores.map((store) => store.open()));
  t.is(opened.filter(({ status }) => status === 'fulfilled').length, 1);
  for (const one of opened)
    if (one.status === 'rejected') t.true(one.reason instanceof StoreLocked, `${one.reason}`);
  for (const store of stores) await store.close();
  const again = await openStore(t, path);
  t.is((await again.counts()).total, 7);
  t.like(JSON.parse(await readFile(join(path, 'coordinator.json'), 'utf8')), { format: formatVersion });
});
