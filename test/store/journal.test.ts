import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import { StoreCorrupt } from '../../src/store/json/errors.ts';
import { encodeRecords } from '../../src/store/json/journal/encode.ts';
import { createJsonStore } from '../../src/store/json/jsonStore.ts';
import { depth } from '../support/depth.ts';
import { FakeClock } from '../support/fakeClock.ts';
import { FailingFiles, systemError, unsyncedFiles } from './failingFiles.ts';
import { emptyFolder, noLock, openStore, stateOf } from './folders.ts';
import { creation, epoch, headStart, queryOf, transition } from './jobs.ts';

const firstJournal = '0000000000000001.ndjson';

/** A folder with `count` records in its journal: each makes one job, the prompt has text of more than one byte. */
async function withRecords(t: ExecutionContext, count: number): Promise<{ path: string; journal: string }> {
  const path = await emptyFolder(t);
  const store = await openStore(t, path);
  for (let i = 0; i < count; i += 1)
    await store.commit([creation(`job-${i}`, { request: { prompt: `ö ${i}` } })]);
  await store.close();
  return { path, journal: join(path, 'journal', firstJournal) };
}

/** Every so many bytes a journal is cut. */
const stride = depth(7, 1);

test('a journal cut at any byte of its last three records starts with the records before the cut', async (t) => {
  const { path, journal } = await withRecords(t, 6);
  const whole = await readFile(journal);
  const ends = [...whole.entries()].filter(([, byte]) => byte === 0x0a).map(([at]) => at + 1);
  t.is(ends.length, 6);
  const files = unsyncedFiles();
  for (let length = ends[2] ?? 0; length <= whole.length; length += 1) {
    // All that is near the end of a record, and some of the rest.
    if (length % stride !== 0 && !ends.some((end) => Math.abs(length - end) <= 2)) continue;
    await writeFile(journal, whole.subarray(0, length));
    const store = createJsonStore({ path, clock: new FakeClock(epoch), headStart, files, lock: noLock });
    await store.open();
    const expected = ends.filter((end) => end <= length).length;
    t.is((await store.counts()).total, expected, `cut at ${length}`);
    t.is((await stat(journal)).size, ends[expected - 1] ?? 0);
    if (length % (10 * stride) === 0) {
      // What is written after the cut must be found again.
      await store.commit([creation('after')]);
      await store.close();
      const again = createJsonStore({ path, clock: new FakeClock(epoch), headStart, files, lock: noLock });
      await again.open();
      t.is((await again.job('after'))?.ordinal, expected + 1);
      await again.close();
    }
    await store.close();
  }
});

test('a cut is logged with file and bytes, and never with what was in it', async (t) => {
  const { path, journal } = await withRecords(t, 2);
  const whole = await readFile(journal);
  await writeFile(journal, whole.subarray(0, -5));
  const lines: string[] = [];
  const logger = pino({ level: 'warn' }, { write: (line: string) => lines.push(line) });
  await openStore(t, path, { logger });
  const lastRecord = whole.subarray(0, -1).lastIndexOf(0x0a) + 1;
  t.is(lines.length, 1);
  t.like(JSON.parse(lines[0] ?? ''), {
    file: journal,
    offset: lastRecord,
    bytes: whole.length - 5 - lastRecord,
  });
  t.notRegex(lines[0] ?? '', /ö/);
});

test('zero bytes that a power cut left at the end are cut off', async (t) => {
  const { path, journal } = await withRecords(t, 2);
  await writeFile(journal, Buffer.concat([await readFile(journal), Buffer.alloc(5_000)]));
  const store = await openStore(t, path);
  t.is((await store.counts()).total, 2);
});

test('one flipped bit in any record but the last refuses, with file and offset, and changes nothing', async (t) => {
  const { path, journal } = await withRecords(t, 4);
  const whole = await readFile(journal);
  const starts = [0, ...[...whole.entries()].filter(([, byte]) => byte === 0x0a).map(([at]) => at + 1)];
  for (let record = 0; record < 3; record += 1) {
    const start = starts[record] ?? 0;
    const end = starts[record + 1] ?? 0;
    for (let at = start; at < end; at += depth(17, 3)) {
      const damaged = Buffer.from(whole);
      damaged[at] = (damaged[at] ?? 0) ^ (1 << (at % 8));
      await writeFile(journal, damaged);
      const store = createJsonStore({ path, clock: new FakeClock(epoch), headStart, lock: noLock });
      const error = await t.throwsAsync<StoreCorrupt>(store.open(), { instanceOf: StoreCorrupt });
      t.is(error?.file, journal);
      // A bit that makes a newline splits the record, and its first part is what is bad.
      t.is(error?.offset, start, `bit at ${at}`);
      t.regex(error?.message ?? '', /docs\/operations\.md/);
      t.deepEqual(await readFile(journal), damaged);
    }
  }
});

test('a record that is missing in the middle, or stands twice, refuses', async (t) => {
  const { path, journal } = await withRecords(t, 3);
  const lines = (await readFile(journal, 'utf8')).split('\n').slice(0, -1);
  const [first, second, third] = lines;
  for (const wrong of [
    [first, third],
    [second, third],
    [first, second, second, third],
  ]) {
    await writeFile(journal, `${wrong.join('\n')}\n`);
    const store = createJsonStore({ path, clock: new FakeClock(epoch), headStart });
    await t.throwsAsync(store.open(), {
      instanceOf: StoreCorrupt,
      message: /record \d is in the place of record \d/,
    });
  }
});

test('a record that does not fit the jobs before it refuses', async (t) => {
  const { path, journal } = await withRecords(t, 1);
  const change = JSON.stringify({
    ...transition({ ...creation('job-0'), version: 7 }, 'failed'),
    ordinal: 1,
  });
  const before = await readFile(journal, 'utf8');
  await writeFile(journal, Buffer.concat([Buffer.from(before), await encodeRecords(2, [[change]])]));
  const store = createJsonStore({ path, clock: new FakeClock(epoch), headStart });
  const error = await t.throwsAsync<StoreCorrupt>(store.open(), { instanceOf: StoreCorrupt });
  t.is(error?.offset, Buffer.byteLength(before));
});

test('no space on a write refuses the commit, leaves no byte of it, and the next one succeeds', async (t) => {
  for (const code of ['ENOSPC', 'EMFILE', 'EDQUOT']) {
    const path = await emptyFolder(t);
    const files = new FailingFiles();
    const store = await openStore(t, path, { files });
    await store.commit([creation('a')]);
    const journal = join(path, 'journal', firstJournal);
    const before = await readFile(journal);
    // Half of the record gets through, then there is no more space.
    files.writeBytesMax = 100;
    let writes = 0;
    files.before = ({ name }) => {
      writes += name === 'write' ? 1 : 0;
      if (name === 'write' && writes > 2) throw systemError(code);
    };
    await t.throwsAsync(store.commit([creation('b')]), {
      name: 'StoreUnavailable',
      message: new RegExp(code),
    });
    t.like(store.health(), { status: 'failing' });
    t.deepEqual(await readFile(journal), before);
    t.is((await store.jobs(queryOf())).total, 1);
    files.before = () => {};
    await store.commit([creation('c')]);
    t.like(store.health(), { status: 'ok', detail: null });
    const state = await stateOf(store);
    await store.close();
    t.deepEqual(await stateOf(await openStore(t, path)), state);
  }
});

test('whole records of a refused group are not found by a restart, even when cutting them off fails at first', async (t) => {
  const path = await emptyFolder(t);
  const files = new FailingFiles();
  const store = await openStore(t, path, { files });
  await store.commit([creation('a')]);
  const line = (await encodeRecords(2, [[JSON.stringify(creation('b'))]])).length;
  files.writeBytesMax = line + 10;
  let writes = 0;
  files.before = ({ name }) => {
    writes += name === 'write' ? 1 : 0;
    if (name === 'write' && writes > 1) throw systemError('ENOSPC');
    if (name === 'truncate') throw systemError('EPERM');
  };
  const refused = await Promise.allSettled([store.commit([creation('b')]), store.commit([creation('c')])]);
  t.deepEqual(
    refused.map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  t.regex(store.health().detail ?? '', /not cut off yet/);
  await t.throwsAsync(store.commit([creation('d')]), { name: 'StoreUnavailable' });
  files.before = () => {};
  await store.commit([creation('e')]);
  await store.close();
  const again = await openStore(t, path);
  t.deepEqual(
    (await again.jobs(queryOf())).jobs.map(({ id }) => id),
    ['e', 'a'],
  );
});

test('a failed sync is final: nothing is acknowledged any more, reads go on, the process is told', async (t) => {
  const path = await emptyFolder(t);
  const files = new FailingFiles();
  const store = await openStore(t, path, { files });
  await store.commit([creation('a')]);
  files.before = ({ name }) => {
    if (name === 'sync') throw systemError('EIO');
  };
  const commits = await Promise.allSettled([store.commit([creation('b')]), store.commit([creation('c')])]);
  t.deepEqual(
    commits.map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  files.before = () => {};
  t.regex((await store.failed).message, /EIO/);
  t.is(store.health().status, 'failed');
  await t.throwsAsync(store.commit([creation('d')]), { name: 'StoreUnavailable', message: /EIO/ });
  t.is((await store.counts()).total, 1);
  t.is(await store.job('b'), undefined);
});

test('where writes are durable a failed one is final, but for a disk that is full', async (t) => {
  const path = await emptyFolder(t);
  const files = new FailingFiles();
  files.hasDurableWrites = true;
  const store = await openStore(t, path, { files });
  await store.commit([creation('a')]);
  const failWith = (code: string) => {
    files.before = ({ name }) => {
      if (name === 'write') throw systemError(code);
    };
  };
  failWith('ENOSPC');
  await t.throwsAsync(store.commit([creation('b')]), { name: 'StoreUnavailable' });
  t.is(store.health().status, 'failing');
  files.before = () => {};
  const syncs = files.counts.get('sync');
  await store.commit([creation('c')]);
  t.is(files.counts.get('sync'), syncs, 'a durable write needs no sync');
  failWith('EIO');
  await t.throwsAsync(store.commit([creation('d')]), { name: 'StoreUnavailable' });
  t.regex((await store.failed).message, /EIO/);
  files.before = () => {};
  await store.close();
  const again = await openStore(t, path);
  t.deepEqual(
    (await again.jobs(queryOf())).jobs.map(({ id }) => id),
    ['c', 'a'],
  );
});

test('no space that only the sync reports is no failure of the disk: the group is refused and cut off', async (t) => {
  const path = await emptyFolder(t);
  const files = new FailingFiles();
  const store = await openStore(t, path, { files });
  await store.commit([creation('a')]);
  let syncs = 0;
  files.before = ({ name }) => {
    syncs += name === 'sync' ? 1 : 0;
    if (name === 'sync' && syncs === 1) throw systemError('ENOSPC');
  };
  await t.throwsAsync(store.commit([creation('b')]), { name: 'StoreUnavailable' });
  t.is(store.health().status, 'failing');
  await store.commit([creation('c')]);
  await store.close();
  const again = await openStore(t, path);
  t.deepEqual(
    (await again.jobs(queryOf())).jobs.map(({ id }) => id),
    ['c', 'a'],
  );
});

test('a sync of the cut that fails otherwise is final', async (t) => {
  const path = await emptyFolder(t);
  const files = new FailingFiles();
  const store = await openStore(t, path, { files });
  let syncs = 0;
  files.before = ({ name }) => {
    syncs += name === 'sync' ? 1 : 0;
    if (name === 'sync') throw systemError(syncs === 1 ? 'ENOSPC' : 'EIO');
  };
  await t.throwsAsync(store.commit([creation('b')]), { name: 'StoreUnavailable' });
  t.is(store.health().status, 'failed');
});

test('writes that take a few bytes at a time add up', async (t) => {
  const path = await emptyFolder(t);
  const files = new FailingFiles();
  files.writeBytesMax = 7;
  const store = await openStore(t, path, { files });
  await store.commit([creation('a', { request: { prompt: 'ö'.repeat(1_000) } })]);
  await store.commit([creation('b')]);
  await store.checkpoint();
  await store.commit([creation('c')]);
  const state = await stateOf(store);
  await store.close();
  t.deepEqual(await stateOf(await openStore(t, path)), state);
});

test('commits that arrive while a sync is under way share the next one', async (t) => {
  const path = await emptyFolder(t);
  const files = new FailingFiles();
  const store = await openStore(t, path, { files });
  const syncs = () => files.counts.get('sync') ?? 0;
  let openGate = () => {};
  files.gate = new Promise((resolve) => {
    openGate = resolve;
  });
  const before = syncs();
  const began = new Promise<void>((resolve) => {
    files.before = ({ name }) => {
      if (name === 'sync') resolve();
    };
  });
  const first = store.commit([creation('first')]);
  await began;
  const others = Array.from({ length: 100 }, (_, i) => store.commit([creation(`other-${i}`)]));
  openGate();
  await Promise.all([first, ...others]);
  t.is(syncs() - before, 2);
  t.is((await store.counts()).total, 101);
});

test('no more than 256 MiB wait for a disk that does not keep up; what comes then is refused, and later taken', async (t) => {
  const path = await emptyFolder(t);
  const files = new FailingFiles();
  const store = await openStore(t, path, { files });
  const gate = Promise.withResolvers<void>();
  files.gate = gate.promise;
  const input = 'x'.repeat(64 * 1024 * 1024);
  const large = (id: string) => store.commit([creation(id, { request: { input } })]);
  const began = new Promise<void>((resolve) => {
    files.before = ({ name }) => {
      if (name === 'sync') resolve();
    };
  });
  const first = store.commit([creation('first')]);
  await began;
  const waiting = [large('a'), large('b'), large('c')];
  await t.throwsAsync(large('too much'), { name: 'StoreUnavailable', message: /faster than the store/ });
  const small = store.commit([creation('small')]);
  // What waits need not go to this machine's disk.
  files.before = ({ name }) => {
    if (name === 'write') throw systemError('ENOSPC');
  };
  gate.resolve();
  await first;
  for (const commit of [...waiting, small]) await t.throwsAsync(commit, { message: /ENOSPC/ });
  files.before = () => {};
  await store.commit([creation('later')]);
  t.is((await store.counts()).total, 2);
});

test('a folder whose manifest or journal is missing is not taken for a new one', async (t) => {
  const { path, journal } = await withRecords(t, 2);
  const records = await readFile(journal);
  const files = new FailingFiles();
  await files.remove(join(path, 'coordinator.json'));
  const refuse = async () => {
    const store = createJsonStore({ path, clock: new FakeClock(epoch), headStart });
    return t.throwsAsync<StoreCorrupt>(store.open(), { instanceOf: StoreCorrupt, message: /missing/ });
  };
  t.is((await refuse())?.file, join(path, 'coordinator.json'));
  t.deepEqual(await readFile(journal), records);
  t.deepEqual((await readdir(path)).sort(), ['audit', 'cost', 'jobs', 'journal']);
});

test('files are for their owner only', async (t) => {
  const { path, journal } = await withRecords(t, 1);
  t.is((await stat(join(path, 'coordinator.json'))).mode & 0o777, 0o600);
  t.is((await stat(journal)).mode & 0o777, 0o600);
  t.is((await stat(join(path, 'journal'))).mode & 0o777, 0o700);
  t.is((await stat(join(path, 'jobs'))).mode & 0o777, 0o700);
});

test('100,000 records are replayed', async (t) => {
  const path = await emptyFolder(t);
  const store = await openStore(t, path, { checkpointBytes: Number.MAX_SAFE_INTEGER });
  const commits: Promise<unknown>[] = [];
  for (let i = 0; i < 100_000; i += 1) {
    commits.push(store.commit([creation(`job-${i}`)]));
    if (commits.length === 1_000) await Promise.all(commits.splice(0));
  }
  await store.close();
  const again = await openStore(t, path);
  t.is((await again.counts()).byStatus.pending, 100_000);
  t.is((await again.job('job-99999'))?.ordinal, 100_000);
  t.is(await again.position('job-70000'), 70_001);
});
