import { appendFile, readdir, readFile, rename, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { JobRecord } from '../../src/domain/job.ts';
import { createJsonStore, type JsonStore } from '../../src/store/json/jsonStore.ts';
import { depth } from '../support/depth.ts';
import { FakeClock } from '../support/fakeClock.ts';
import { FailingFiles, type Operation, systemError, unsyncedFiles } from './failingFiles.ts';
import { emptyFolder, noLock, openStore, stateOf } from './folders.ts';
import { creation, epoch, headStart, queryOf, transition } from './jobs.ts';

const day = 86_400_000;
const all = { endedBefore: 0, keep: 0, limit: 1_000_000 };
const everyJob = () => true;
const uuid = (n: number) => `018bcfe5-6800-7000-8000-${String(n).padStart(12, '0')}`;

/** A job that ended so many days after the epoch, which is 2023-11-14T22:13:20Z. */
const endedJob = (id: string, days = 0) =>
  creation(id, { state: 'completed', life: { finishedAt: epoch + days * day } });

/** The lines of all archives of a folder: file name → ids. */
async function archivesIn(path: string): Promise<Record<string, string[]>> {
  const names = (await readdir(join(path, 'archive'))).filter((name) => name.endsWith('.ndjson')).sort();
  const texts = await Promise.all(names.map((name) => readFile(join(path, 'archive', name), 'utf8')));
  const idsOf = (text: string) =>
    text
      .split('\n')
      .slice(0, -1)
      .map((line): string => JSON.parse(line).id);
  return Object.fromEntries(names.map((name, i) => [name, idsOf(texts[i] ?? '')]));
}

function create(path: string, files = unsyncedFiles(), clock = new FakeClock(epoch)): JsonStore {
  return createJsonStore({ path, clock, headStart, files, lock: noLock });
}

test('jobs go to the archive of the day on which they ended, one a line, for their owner only', async (t) => {
  const path = await emptyFolder(t);
  const store = await openStore(t, path);
  t.false((await readdir(path)).includes('archive'));
  await store.commit([endedJob('a'), endedJob('b', 1), endedJob('c', 0.05), endedJob('d', 0.1)]);
  const a = await store.job('a');
  t.is(await store.archive({ ...all, limit: 1 }, everyJob), 1);
  t.is(await store.archive(all, everyJob), 3);
  t.deepEqual(await archivesIn(path), {
    '2023-11-14.ndjson': ['a', 'c'],
    '2023-11-15.ndjson': ['d', 'b'],
  });
  const file = join(path, 'archive', '2023-11-14.ndjson');
  t.deepEqual(JSON.parse((await readFile(file, 'utf8')).split('\n')[0] ?? ''), a);
  t.is((await stat(file)).mode & 0o777, 0o600);
  t.is((await stat(join(path, 'archive'))).mode & 0o777, 0o700);
});

test('the lines are durable before the record that takes the jobs out is written', async (t) => {
  const path = await emptyFolder(t);
  const files = new FailingFiles();
  const store = await openStore(t, path, { files });
  await store.commit([endedJob('a')]);
  const seen: string[] = [];
  files.before = ({ name, path: at }: Operation) => {
    if (['write', 'sync', 'syncFolder'].includes(name)) seen.push(`${name} ${at.slice(path.length)}`);
  };
  await store.archive(all, everyJob);
  const [written, synced, root, folder, record] = [
    'write /archive/2023-11-14.ndjson',
    'sync /archive/2023-11-14.ndjson',
    'syncFolder ',
    'syncFolder /archive',
    'write /journal/0000000000000001.ndjson',
  ].map((operation) => seen.indexOf(operation));
  t.true((written ?? -1) >= 0 && (root ?? -1) >= 0);
  t.true((written ?? 0) < (synced ?? 0) && (synced ?? 0) < (record ?? 0));
  t.true((folder ?? 0) > 0 && (folder ?? 0) < (record ?? 0));
});

/** Jobs of three days, some to stay, in a checkpoint and in the journal after it. */
async function withJobs(path: string, files: FailingFiles): Promise<JsonStore> {
  const store = create(path, files);
  await store.open();
  await store.commit(Array.from({ length: 4 }, (_, i) => endedJob(`old-${i}`, i % 3)));
  await store.commit([creation('pending'), creation('running', { state: 'running.active' })]);
  await store.archive({ ...all, limit: 1 }, everyJob);
  await store.checkpoint();
  await store.commit(Array.from({ length: 3 }, (_, i) => endedJob(`new-${i}`, 3 + (i % 2))));
  return store;
}

const jobIds = ['old-0', 'old-1', 'old-2', 'old-3', 'pending', 'running', 'new-0', 'new-1', 'new-2'];

/** Each job as the store answers by its id: hot or archived, and never neither. */
async function answers(store: JsonStore): Promise<(JobRecord | undefined)[]> {
  return Promise.all(jobIds.map(async (id) => (await store.job(id)) ?? (await store.archivedJob(id))));
}

test('archiving that ends at any step leaves each job hot or archived, and the next start goes on', async (t) => {
  let steps = 0;
  for (let crashAt = 1; ; crashAt += depth(4, 1)) {
    const path = await emptyFolder(t);
    const files = unsyncedFiles();
    const store = await withJobs(path, files);
    const expected = await answers(store);
    t.true(expected.every((job) => job !== undefined));
    let step = 0;
    files.before = () => {
      step += 1;
      if (step >= crashAt) throw new Error('crashed');
    };
    const rule = { endedBefore: epoch + 10 * day, keep: 1, limit: 5 };
    await store.archive(rule, everyJob).catch((error: Error) => t.regex(error.message, /crashed/));
    // The checkpoint crashes as well: it knows of jobs that have left in the journal and in segments.
    await store.checkpoint().catch((error: Error) => t.regex(error.message, /crashed/));
    const isDone = step < crashAt;
    t.deepEqual(await answers(store).catch(() => expected), expected);
    await store.close().catch((error: Error) => t.is(error.message, 'crashed'));

    const again = create(path);
    await again.open();
    t.deepEqual(await answers(again), expected, `crash at step ${crashAt}`);
    const { total } = await again.counts();
    t.true(total === 8 || total === 3, `${total} jobs are hot after a crash at step ${crashAt}`);
    await again.archive(all, everyJob);
    await again.checkpoint();
    t.deepEqual(await answers(again), expected);
    t.is((await again.counts()).total, 2);
    await again.close();
    const ids = Object.values(await archivesIn(path)).flat();
    t.deepEqual(ids.sort(), jobIds.filter((id) => /old|new/.test(id)).sort(), `crash at step ${crashAt}`);
    const last = create(path);
    await last.open();
    t.deepEqual(await answers(last), expected);
    await last.close();
    steps = step;
    if (isDone) break;
  }
  t.true(steps > 30, `${steps} steps`);
});

test('a refused archiving leaves nothing in the archives once the next one has run', async (t) => {
  const path = await emptyFolder(t);
  const files = unsyncedFiles();
  const store = await openStore(t, path, { files });
  await store.commit([endedJob('a'), endedJob('b'), endedJob('c')]);
  const b = await store.job('b');
  if (b === undefined) return t.fail();
  files.before = ({ name, path: at }) => {
    if (name === 'write' && at.includes('/journal/')) throw systemError('ENOSPC');
  };
  await t.throwsAsync(store.archive(all, everyJob), { name: 'StoreUnavailable', message: /durable/ });
  // The lines are there, and count for nothing.
  t.deepEqual(await archivesIn(path), { '2023-11-14.ndjson': ['a', 'b', 'c'] });
  t.is(await store.archivedJob('a'), undefined);
  files.before = () => {};
  await t.throwsAsync(store.archive(all, everyJob), { name: 'StoreUnavailable' });
  await store.commit([transition(b, 'pending.ready', { finishedAt: null })]);
  t.is(await store.archive(all, everyJob), 2);
  t.deepEqual(await archivesIn(path), { '2023-11-14.ndjson': ['a', 'c'] });
  t.is((await store.job('b'))?.state, 'pending.ready');
});

test('an archive that cannot be written keeps its jobs hot', async (t) => {
  for (const failing of ['write', 'sync', 'open'] as const) {
    const path = await emptyFolder(t);
    const files = unsyncedFiles();
    const store = await openStore(t, path, { files });
    await store.commit([endedJob('a'), endedJob('b', 1)]);
    files.before = ({ name, path: at }) => {
      if (name === failing && at.endsWith('15.ndjson')) throw systemError('EIO');
    };
    const refused = { name: 'StoreUnavailable', message: /the archive cannot be written: EIO/ };
    await t.throwsAsync(store.archive(all, everyJob), refused);
    t.is((await store.counts()).total, 2);
    t.is(store.health().status, 'ok');
    files.before = () => {};
    t.is(await store.archive(all, everyJob), 2);
    t.deepEqual(await archivesIn(path), { '2023-11-14.ndjson': ['a'], '2023-11-15.ndjson': ['b'] });
  }
});

/** 20,000 jobs of two days in the archive, so that their indexes have runs. */
async function withMany(t: ExecutionContext): Promise<{ path: string; store: JsonStore }> {
  const path = await emptyFolder(t);
  const store = await openStore(t, path, { files: unsyncedFiles(), lock: noLock });
  for (let batch = 0; batch < 20; batch += 1) {
    await store.commit(
      Array.from({ length: 1_000 }, (_, i) => endedJob(uuid(batch * 1_000 + i), batch % 10 === 9 ? 1 : 0)),
    );
    await store.archive({ ...all, limit: 1_000 }, everyJob);
  }
  return { path, store };
}

async function findSome(t: ExecutionContext, store: JsonStore): Promise<void> {
  for (const n of [0, 1, 999, 8_191, 8_192, 9_500, 12_345, 16_383, 16_384, 19_999]) {
    t.is((await store.archivedJob(uuid(n)))?.id, uuid(n));
  }
  t.is(await store.archivedJob(uuid(20_000)), undefined);
  t.is(await store.archivedJob('job-1'), undefined);
}

test('archived jobs are found through the index, without reading the archives', async (t) => {
  const { path, store } = await withMany(t);
  await findSome(t, store);
  await store.close();
  const files = unsyncedFiles();
  let bytes = 0;
  const open = files.open.bind(files);
  files.open = async (...args: Parameters<typeof open>) => {
    const file = await open(...args);
    const read = async (into: Uint8Array, position: number) => {
      const count = await file.read(into, position);
      if (args[0].includes('/archive/')) bytes += count;
      return count;
    };
    return { ...file, read };
  };
  const again = await openStore(t, path, { files, lock: noLock });
  // Of both days the lines that came after the last run, at most 8,192.
  t.is(await again.archivedJob(uuid(30_000)), undefined);
  const { size } = await stat(join(path, 'archive', '2023-11-14.ndjson'));
  t.true(bytes < size / 2, `${bytes} bytes read at the start of ${size}`);
  bytes = 0;
  t.is((await again.archivedJob(uuid(5_000)))?.ordinal, 5_001);
  t.true(bytes < 500_000, `${bytes} bytes read for one job`);
  await findSome(t, again);
});

test('an index that is missing, damaged or of another archive is made anew', async (t) => {
  const { path, store } = await withMany(t);
  await store.close();
  const index = join(path, 'archive', '2023-11-14.idx');
  const lines = join(path, 'archive', '2023-11-14.ndjson');
  const whole = await readFile(index);
  const spoil: Record<string, () => Promise<unknown>> = {
    missing: () => rm(index),
    'cut within a run': () => truncate(index, whole.length - 1_000),
    'cut within a head': () => truncate(index, 30),
    'damaged head': () => writeFile(index, Buffer.concat([Buffer.from('x'), whole.subarray(1)])),
    'damaged run': () =>
      writeFile(
        index,
        whole.map((byte, at) => (at === 5_000 ? byte ^ 1 : byte)),
      ),
    'not an index': () => writeFile(index, 'mine'),
  };
  for (const [what, how] of Object.entries(spoil)) {
    await how();
    const again = create(path);
    await again.open();
    await findSome(t, again);
    await again.close();
    t.true((await stat(index)).size > 200_000, what);
    await writeFile(index, whole);
  }
  const { size } = await stat(lines);
  await truncate(lines, Math.floor(size / 4));
  const shorter = create(path);
  await shorter.open();
  t.is((await shorter.archivedJob(uuid(0)))?.id, uuid(0));
  t.is(await shorter.archivedJob(uuid(16_000)), undefined);
  await shorter.close();
});

test('an archive that was taken away is gone, also while the store is open, and the others stay', async (t) => {
  const path = await emptyFolder(t);
  const store = await openStore(t, path, { files: unsyncedFiles(), lock: noLock });
  await store.commit([endedJob('a'), endedJob('b', 1), endedJob('c', 1), endedJob('d')]);
  await store.archive({ ...all, limit: 3 }, everyJob);
  const file = join(path, 'archive', '2023-11-14.ndjson');
  await rename(file, join(path, 'kept.ndjson'));
  t.is(await store.archivedJob('a'), undefined);
  t.is((await store.archivedJob('b'))?.id, 'b');
  await store.archive(all, everyJob);
  t.is(await store.archivedJob('a'), undefined);
  t.is((await store.archivedJob('c'))?.id, 'c');
  await store.close();
  // And back again: it is found from the next start on.
  await rename(join(path, 'kept.ndjson'), file);
  await writeFile(join(path, 'archive', '2020-01-01.idx'), 'of an archive that is gone');
  await writeFile(join(path, 'archive', '2020-01-01.ndjson.gz'), 'packed by somebody');
  const again = await openStore(t, path, { files: unsyncedFiles(), lock: noLock });
  t.is((await again.archivedJob('a'))?.id, 'a');
  t.deepEqual((await readdir(join(path, 'archive'))).sort(), [
    '2020-01-01.ndjson.gz',
    '2023-11-14.ndjson',
    '2023-11-15.ndjson',
  ]);
});

test('what a crash left at the end of an archive is cut off with the next lines', async (t) => {
  const path = await emptyFolder(t);
  const store = await openStore(t, path, { lock: noLock });
  await store.commit([endedJob('a'), endedJob('b'), endedJob('c')]);
  await store.archive({ ...all, limit: 1 }, everyJob);
  const [b, c] = [await store.job('b'), await store.job('c')];
  await store.close();
  const file = join(path, 'archive', '2023-11-14.ndjson');
  // Lines of jobs that are still hot, and one that was being written.
  await appendFile(file, `${JSON.stringify(b)}\n${JSON.stringify(c)}\n{"ordinal":4,"id":"d`);
  const again = await openStore(t, path, { lock: noLock });
  t.is((await again.archivedJob('a'))?.id, 'a');
  t.is(await again.archivedJob('b'), undefined);
  await again.archive({ ...all, limit: 1 }, everyJob);
  t.deepEqual(await archivesIn(path), { '2023-11-14.ndjson': ['a', 'b'] });
});

test('an archive that cannot be read is a 503 and no missing job', async (t) => {
  const path = await emptyFolder(t);
  const files = unsyncedFiles();
  const store = await openStore(t, path, { files, lock: noLock });
  await store.commit([endedJob('a')]);
  await store.archive(all, everyJob);
  files.before = ({ name, path: at }) => {
    if (name === 'read' && at.endsWith('.ndjson')) throw systemError('EIO');
  };
  const refused = { name: 'StoreUnavailable', message: /the archive cannot be read: EIO/ };
  await t.throwsAsync(store.archivedJob('a'), refused);
  files.before = () => {};
  t.is((await store.archivedJob('a'))?.id, 'a');
});

test('segments of which all jobs have left disappear, and those that are left have no trace of them', async (t) => {
  const path = await emptyFolder(t);
  const store = await openStore(t, path, { lock: noLock });
  for (let batch = 0; batch < 25; batch += 1) {
    const isPending = batch === 15;
    await store.commit(
      Array.from({ length: 1_000 }, (_, i) =>
        isPending && i === 0 ? creation('stays') : endedJob(`${batch}-${i}`),
      ),
    );
  }
  await store.checkpoint();
  t.is((await readdir(join(path, 'jobs'))).length, 3);
  await store.archive(all, everyJob);
  await store.checkpoint();
  const [segment = '', ...others] = await readdir(join(path, 'jobs'));
  t.deepEqual(others, []);
  const { jobs } = JSON.parse(await readFile(join(path, 'jobs', segment), 'utf8'));
  t.deepEqual(
    jobs.map((job: JobRecord) => [job.ordinal, job.id]),
    [[15_001, 'stays']],
  );
  await store.commit([creation('next')]);
  await store.checkpoint();
  const state = await stateOf(store);
  await store.close();
  const again = await openStore(t, path, { lock: noLock });
  t.deepEqual(await stateOf(again), state);
  t.is((await again.job('next'))?.ordinal, 25_001);
  t.is((await again.jobs(queryOf())).total, 2);
});

test('a segment with only keys of archived jobs stays until they have expired', async (t) => {
  const path = await emptyFolder(t);
  const clock = new FakeClock(epoch);
  const store = await openStore(t, path, { lock: noLock, clock });
  const idempotency = { key: 'k', jobId: 'a', bodyHash: 'h', expiresAt: epoch + day };
  const change = endedJob('a');
  if (change.created === undefined) return t.fail();
  await store.commit([{ ...change, created: { ...change.created, idempotency } }, endedJob('b')]);
  await store.checkpoint();
  await store.archive(all, everyJob);
  await store.checkpoint();
  const [segment = '', ...others] = await readdir(join(path, 'jobs'));
  t.deepEqual(others, []);
  const { jobs } = JSON.parse(await readFile(join(path, 'jobs', segment), 'utf8'));
  t.deepEqual(jobs, [{ ordinal: 1, idempotency }]);
  clock.advance(day);
  await store.commit([{ kind: 'workerRemoved', id: 'nobody' }]);
  await store.checkpoint();
  t.deepEqual(await readdir(join(path, 'jobs')), []);
  await store.commit([creation('c')]);
  t.is((await store.job('c'))?.ordinal, 3);
});
