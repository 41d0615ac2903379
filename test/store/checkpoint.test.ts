import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { nextTurn } from '../../src/lib/nextTurn.ts';
import { emptyManifest, signManifest } from '../../src/store/json/checkpoint/manifest.ts';
import { StoreCorrupt } from '../../src/store/json/errors.ts';
import { createJsonStore, type JsonStore } from '../../src/store/json/jsonStore.ts';
import { formatVersion } from '../../src/store/json/layout.ts';
import { StoreFormatTooNew } from '../../src/store/storeErrors.ts';
import { auditOf, auditQueryOf } from '../conformance/audit.ts';
import { depth } from '../support/depth.ts';
import { FakeClock } from '../support/fakeClock.ts';
import { FailingFiles, systemError, unsyncedFiles } from './failingFiles.ts';
import { emptyFolder, noLock, openStore, stateOf } from './folders.ts';
import { creation, epoch, headStart, ledgerEntry, transition, workerLife } from './jobs.ts';

/** Two checkpoints' worth of history: jobs in all states and of two keys, a worker with tallies, an audit log of two months. */
async function firstPart(store: JsonStore): Promise<void> {
  await store.commit([{ kind: 'worker', life: workerLife('w') }, auditOf()]);
  for (let i = 0; i < 20; i += 1) await store.commit([creation(`job-${i}`, { by: creators[i % 2] })]);
  await move(store, 'job-3', 'completed');
}

const creators = [
  { keyId: 'k', name: 'first' },
  { keyId: 'l', name: null },
];

async function secondPart(store: JsonStore): Promise<void> {
  await move(store, 'job-4', 'failed');
  await store.commit([auditOf({ action: 'key.revoked' }), auditOf({ at: epoch + 30 * 86_400_000 })]);
  await move(store, 'job-19', 'running.active');
  for (let i = 20; i < 25; i += 1) {
    await store.commit([creation(`job-${i}`, { by: creators[0] }), creation(`twin-${i}`)]);
  }
}

async function move(
  store: JsonStore,
  id: string,
  state: 'completed' | 'failed' | 'running.active',
): Promise<void> {
  const job = await store.job(id);
  if (job === undefined) throw new Error(`no job ${id}`);
  const ledger = state === 'running.active' ? [] : [ledgerEntry('w', state)];
  await store.commit([transition(job, state, {}, ledger)]);
}

async function checkpointed(t: ExecutionContext): Promise<{ path: string; state: unknown }> {
  const path = await emptyFolder(t);
  const store = await openStore(t, path);
  await firstPart(store);
  await store.checkpoint();
  await secondPart(store);
  const state = await stateOf(store);
  await store.close();
  return { path, state };
}

test('a checkpoint made by the thread is what a start begins from, and the journal it took in is gone', async (t) => {
  const path = await emptyFolder(t);
  const store = await openStore(t, path);
  await firstPart(store);
  await store.checkpoint();
  t.is(store.health().replayBytes, 0);
  t.deepEqual(await readdir(join(path, 'journal')), ['0000000000000023.ndjson']);
  t.deepEqual(await readdir(join(path, 'jobs')), ['000000-22.json']);
  await secondPart(store);
  await store.checkpoint();
  t.deepEqual(await readdir(join(path, 'jobs')), ['000000-30.json']);
  const state = await stateOf(store);
  await store.close();
  const again = await openStore(t, path);
  t.deepEqual(await stateOf(again), state);
  t.like((await again.workers())[0], { completed: 1, failed: 1 });
});

test('the files of a checkpoint are plain JSON', async (t) => {
  const { path } = await checkpointed(t);
  const manifest = JSON.parse(await readFile(join(path, 'coordinator.json'), 'utf8'));
  t.like(manifest, {
    format: formatVersion,
    seq: 22,
    segments: [{ file: '000000-22.json', first: 1, count: 20 }],
  });
  const { jobs } = JSON.parse(await readFile(join(path, 'jobs', '000000-22.json'), 'utf8'));
  t.is(jobs.length, 20);
  t.like(jobs[3], { id: 'job-3', state: 'completed', version: 2, ordinal: 4 });
  const { month, dimensions } = JSON.parse(await readFile(join(path, 'cost', '2023-11-22.json'), 'utf8'));
  t.is(month, '2023-11');
  // epoch is the 1,336th quarter-hour of that month; one attempt of unknown cost ended in it.
  t.deepEqual(dimensions.worker, { keys: [['w']], buckets: [1336, 0, 0, 1, 0, 1, 0, 0, 0, 0] });
});

test('jobs go to segments of 10,000, and only segments with changed jobs are written again', async (t) => {
  const path = await emptyFolder(t);
  const store = await openStore(t, path);
  for (let batch = 0; batch < 25; batch += 1) {
    await store.commit(Array.from({ length: 1_000 }, (_, i) => creation(`${batch}-${i}`)));
  }
  await store.checkpoint();
  const before = await readdir(join(path, 'jobs'));
  t.deepEqual(before.sort(), ['000000-25.json', '000001-25.json', '000002-25.json']);
  await move(store, '12-0', 'failed');
  await store.commit([creation('new')]);
  await store.checkpoint();
  const after = await readdir(join(path, 'jobs'));
  t.deepEqual(after.sort(), ['000000-25.json', '000001-27.json', '000002-27.json']);
  const state = await stateOf(store);
  await store.close();
  t.deepEqual(await stateOf(await openStore(t, path)), state);
});

test('a long journal is sealed and taken into a checkpoint by itself', async (t) => {
  const path = await emptyFolder(t);
  const store = await openStore(t, path, { checkpointBytes: 20_000 });
  for (let i = 0; i < 200; i += 1) await store.commit([creation(`job-${i}`)]);
  await store.checkpoint();
  t.true((await readdir(join(path, 'journal'))).length === 1);
  t.is(store.health().replayBytes, 0);
  const state = await stateOf(store);
  await store.close();
  t.deepEqual(await stateOf(await openStore(t, path)), state);
});

test('a journal of any length is folded in by rounds, in bounded memory', async (t) => {
  const path = await emptyFolder(t);
  const long = await openStore(t, path, { checkpointBytes: Number.MAX_SAFE_INTEGER });
  for (let batch = 0; batch < 40; batch += 1) {
    await long.commit(Array.from({ length: 100 }, (_, i) => creation(`${batch}-${i}`)));
    await move(long, `${batch >> 1}-${batch}`, 'failed');
  }
  const state = await stateOf(long);
  await long.close();
  const files = unsyncedFiles();
  let manifests = 0;
  files.before = ({ name, path: file }) => {
    manifests += name === 'rename' && file.endsWith('coordinator.json') ? 1 : 0;
  };
  const store = await openStore(t, path, { files, checkpointBytes: 1_000 });
  await store.checkpoint();
  t.true(manifests > 2, `${manifests} rounds`);
  t.is(store.health().replayBytes, 0);
  t.deepEqual(await stateOf(store), state);
  await store.close();
  t.deepEqual(await stateOf(await openStore(t, path)), state);
});

test('a checkpoint that ends at any step leaves a folder that starts with all that was acknowledged', async (t) => {
  let steps = 0;
  for (let crashAt = 1; ; crashAt += depth(4, 1)) {
    const path = await emptyFolder(t);
    const files = unsyncedFiles();
    const store = createJsonStore({ path, clock: new FakeClock(epoch), headStart, files, lock: noLock });
    await store.open();
    await firstPart(store);
    await store.checkpoint();
    await secondPart(store);
    const state = await stateOf(store);
    let step = 0;
    files.before = () => {
      step += 1;
      if (step >= crashAt) throw new Error('crashed');
    };
    // Sealing may crash, which is told; a crash of the checkpoint itself is only logged.
    await store.checkpoint().catch((error: Error) => t.is(error.message, 'crashed'));
    const isDone = step < crashAt;
    // Nothing is written from here on: every operation of the file system throws.
    await store.close().catch((error: Error) => t.is(error.message, 'crashed'));
    const again = createJsonStore({
      path,
      clock: new FakeClock(epoch),
      headStart,
      files: unsyncedFiles(),
      lock: noLock,
    });
    await again.open();
    t.deepEqual(await stateOf(again), state, `crash at step ${crashAt}`);
    await again.commit([creation('after')]);
    await again.checkpoint();
    const segments = await readdir(join(path, 'jobs'));
    t.is(segments.length, 1, `leftovers after a crash at step ${crashAt}: ${segments.join(', ')}`);
    t.is((await readdir(join(path, 'journal'))).length, 1);
    t.deepEqual((await readdir(path)).sort(), ['audit', 'coordinator.json', 'cost', 'jobs', 'journal']);
    t.is((await readdir(join(path, 'cost'))).length, 1);
    t.is((await readdir(join(path, 'audit'))).length, 2);
    await again.close();
    steps = step;
    if (isDone) break;
  }
  t.true(steps > 20, `${steps} steps`);
});

test('a checkpoint that fails changes nothing, is shown, and is tried again later', async (t) => {
  const path = await emptyFolder(t);
  const files = new FailingFiles();
  const clock = new FakeClock(epoch);
  const store = await openStore(t, path, { files, clock });
  await firstPart(store);
  files.before = ({ name, path: file }) => {
    if (name === 'write' && file.endsWith('.tmp')) throw systemError('ENOSPC');
  };
  await store.checkpoint();
  const health = store.health();
  t.is(health.status, 'ok');
  t.regex(health.detail ?? '', /last checkpoint failed.*ENOSPC/);
  t.true(health.replayBytes > 0);
  t.deepEqual(await readdir(join(path, 'jobs')), []);
  await store.commit([creation('meanwhile')]);
  files.before = () => {};
  clock.advance(60_000);
  // By itself; ava's timeout ends what never comes.
  while (store.health().detail !== null) await nextTurn();
  t.is((await readdir(join(path, 'jobs'))).length, 1);
  await store.checkpoint();
  t.is(store.health().replayBytes, 0);
  const state = await stateOf(store);
  await store.close();
  t.deepEqual(await stateOf(await openStore(t, path)), state);
});

test('a checkpoint for which no file can be opened, at any of its steps, is made later, and commits go on (S9)', async (t) => {
  let isOver = false;
  let failing = 1 - depth(3, 1);
  while (!isOver) {
    failing += depth(3, 1);
    const path = await emptyFolder(t);
    const files = new FailingFiles();
    const clock = new FakeClock(epoch);
    const store = await openStore(t, path, { files, clock });
    await firstPart(store);
    await store.checkpoint();
    await secondPart(store);
    let opens = 0;
    files.before = ({ name }) => {
      if (name !== 'open') return;
      opens += 1;
      if (opens >= failing) throw systemError('EMFILE');
    };
    // Sealing the journal opens one too: then the checkpoint is not begun.
    await store.checkpoint().catch(() => {});
    isOver = opens < failing;
    t.is(store.health().status, 'ok');
    await store.commit([creation('meanwhile')]);
    files.before = () => {};
    clock.advance(60_000);
    await store.checkpoint();
    t.like(store.health(), { detail: null, replayBytes: 0 });
    const state = await stateOf(store);
    await store.close();
    t.deepEqual(await stateOf(await openStore(t, path)), state, `open ${failing}`);
  }
  t.true(failing > 5, `${failing} opens`);
});

test('leftovers of a crash are removed, other files are left alone', async (t) => {
  const { path, state } = await checkpointed(t);
  await writeFile(join(path, 'coordinator.json.77-1.tmp'), '{');
  await writeFile(join(path, 'jobs', '000000-99.json.77-1.tmp'), '');
  await writeFile(join(path, 'jobs', '000000-21.json'), 'an old segment');
  await writeFile(
    join(path, 'journal', '0000000000000001.ndjson'),
    'a journal that the checkpoint has in it\n',
  );
  await writeFile(join(path, 'jobs', 'notes.txt'), 'mine');
  await writeFile(join(path, 'cost', '2023-11-21.json'), 'an old month');
  await writeFile(join(path, 'cost', '2023-11-23.json.77-1.tmp'), '');
  await writeFile(join(path, 'cost', 'report.csv'), 'mine');
  await mkdir(join(path, 'backup'));
  t.deepEqual(await stateOf(await openStore(t, path)), state);
  t.deepEqual((await readdir(join(path, 'jobs'))).sort(), ['000000-22.json', 'notes.txt']);
  t.deepEqual((await readdir(join(path, 'cost'))).sort(), ['2023-11-22.json', 'report.csv']);
  t.deepEqual(await readdir(join(path, 'journal')), ['0000000000000023.ndjson']);
  t.deepEqual((await readdir(path)).sort(), [
    'audit',
    'backup',
    'coordinator.json',
    'cost',
    'jobs',
    'journal',
    'lock.sock',
  ]);
});

test('damage in a checkpoint refuses, with the file', async (t) => {
  const { path } = await checkpointed(t);
  const segment = join(path, 'jobs', '000000-22.json');
  const manifest = join(path, 'coordinator.json');
  const refuse = async (file: string) => {
    const store = createJsonStore({ path, clock: new FakeClock(epoch), headStart });
    const error = await t.throwsAsync<StoreCorrupt>(store.open(), { instanceOf: StoreCorrupt });
    t.is(error?.file, file);
  };
  const cost = join(path, 'cost', '2023-11-22.json');
  for (const file of [segment, manifest, cost]) {
    const whole = await readFile(file);
    for (let at = 1; at < whole.length; at += Math.ceil(whole.length / 40)) {
      const damaged = Buffer.from(whole);
      damaged[at] = (damaged[at] ?? 0) ^ 1;
      // White space of the manifest means nothing, and a bit there may leave it white space.
      if (JSON.stringify(parsed(damaged)) === JSON.stringify(parsed(whole))) continue;
      await writeFile(file, damaged);
      await refuse(file);
    }
    await writeFile(file, whole.subarray(0, -40));
    await refuse(file);
    await writeFile(file, whole);
  }
  await writeFile(join(path, 'jobs', 'moved'), await readFile(segment));
  await new FailingFiles().remove(segment);
  await refuse(segment);
  await writeFile(segment, await readFile(join(path, 'jobs', 'moved')));
  await openStore(t, path);
});

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch (error) {
    return String(error);
  }
}

test('a checkpoint does not hide damage in the files it is made from', async (t) => {
  const { path } = await checkpointed(t);
  const store = await openStore(t, path);
  const segment = join(path, 'jobs', '000000-22.json');
  const text = await readFile(segment, 'utf8');
  await writeFile(segment, text.replace('"prompt":"Hello"', '"prompt":"Jello"'));
  await store.checkpoint();
  t.regex(store.health().detail ?? '', /000000-22\.json is damaged/);
});

test('a journal that is missing after the checkpoint refuses', async (t) => {
  const { path } = await checkpointed(t);
  await new FailingFiles().remove(join(path, 'journal', '0000000000000023.ndjson'));
  const store = createJsonStore({ path, clock: new FakeClock(epoch), headStart });
  await t.throwsAsync(store.open(), {
    instanceOf: StoreCorrupt,
    message: /record 23 and later ones are missing/,
  });
});

test('a newer format is refused before anything else is looked at', async (t) => {
  const { path } = await checkpointed(t);
  const manifest = join(path, 'coordinator.json');
  const newer = {
    ...signManifest(emptyManifest),
    format: formatVersion + 1,
    shape: 'unknown',
  };
  await writeFile(manifest, JSON.stringify(newer));
  const store = createJsonStore({ path, clock: new FakeClock(epoch), headStart });
  await t.throwsAsync(store.open(), {
    instanceOf: StoreFormatTooNew,
    message: new RegExp(`format ${formatVersion + 1}`),
  });
  t.is(JSON.parse(await readFile(manifest, 'utf8')).format, formatVersion + 1);
});

test('closing during a checkpoint stops it, and the next start has everything', async (t) => {
  const path = await emptyFolder(t);
  const store = await openStore(t, path);
  await firstPart(store);
  const checkpoint = store.checkpoint();
  await secondPart(store);
  const state = await stateOf(store);
  await store.close();
  await checkpoint;
  t.deepEqual(await stateOf(await openStore(t, path)), state);
});

test('the audit log is in a file a month; months that are over leave with a checkpoint', async (t) => {
  const path = await emptyFolder(t);
  const clock = new FakeClock(epoch);
  let keptDays = 400;
  const store = await openStore(t, path, { clock, auditKeptMs: () => keptDays * 86_400_000 });
  await store.commit([auditOf()]);
  await store.commit([auditOf({ at: epoch + 30 * 86_400_000 })]);
  t.deepEqual(await readdir(join(path, 'audit')), []);
  await store.checkpoint();
  t.deepEqual((await readdir(join(path, 'audit'))).sort(), ['2023-11.ndjson', '2023-12.ndjson']);
  const [line] = (await readFile(join(path, 'audit', '2023-11.ndjson'), 'utf8')).split('\n');
  t.deepEqual(JSON.parse(line ?? '').entry, { seq: 1, ...auditOf().record });
  clock.advance(40 * 86_400_000);
  keptDays = 15;
  await store.commit([creation('a')]);
  await store.checkpoint();
  t.deepEqual(await readdir(join(path, 'audit')), ['2023-12.ndjson']);
  await store.commit([auditOf({ at: clock.now() })]);
  const seen = async (each: JsonStore) => (await each.audit(auditQueryOf())).entries.map(({ seq }) => seq);
  t.deepEqual(await seen(store), [3, 2]);
  await store.close();
  t.deepEqual(
    await seen(await openStore(t, path, { clock, auditKeptMs: () => keptDays * 86_400_000 })),
    [3, 2],
  );
});

test('10,000 entries of the audit log make a checkpoint, however short the journal is', async (t) => {
  const path = await emptyFolder(t);
  const store = await openStore(t, path);
  await store.commit([creation('a')]);
  for (let batch = 0; batch < 10; batch += 1) {
    await store.commit(Array.from({ length: 1_000 }, () => auditOf()));
    if (batch === 8) t.deepEqual(await readdir(join(path, 'audit')), []);
  }
  await store.commit([auditOf()]);
  while ((await readdir(join(path, 'audit'))).length === 0) await nextTurn();
  await store.checkpoint();
  t.is((await store.audit(auditQueryOf({ offset: 10_000 }))).entries[0]?.seq, 1);
});

test('an audit log that is missing, cut or edited is damage, and is named', async (t) => {
  const path = await emptyFolder(t);
  const store = await openStore(t, path);
  await store.commit([auditOf(), auditOf({ action: 'key.revoked' })]);
  await store.checkpoint();
  await store.close();
  const file = join(path, 'audit', '2023-11.ndjson');
  const whole = await readFile(file, 'utf8');
  const opened = () => openStore(t, path);
  await writeFile(file, whole.slice(0, -2));
  await t.throwsAsync(opened, { instanceOf: StoreCorrupt, message: /2023-11\.ndjson.*shorter/ });
  await rm(file);
  await t.throwsAsync(opened, { instanceOf: StoreCorrupt, message: /2023-11\.ndjson.*missing/ });
  await writeFile(file, whole.replace('key.revoked', 'key.rotated'));
  const edited = await opened();
  await t.throwsAsync(edited.audit(auditQueryOf()), {
    code: 'store_unavailable',
    message: /2023-11\.ndjson is damaged at byte \d+: its checksum/,
  });
  await edited.close();
  // What a checkpoint appended that did not end.
  await writeFile(file, `${whole}{"sum":"0000`);
  const again = await opened();
  t.is((await again.audit(auditQueryOf())).total, 2);
  await again.commit([auditOf()]);
  await again.checkpoint();
  t.is((await again.audit(auditQueryOf())).total, 3);
});
