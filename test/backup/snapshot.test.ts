import { randomBytes } from 'node:crypto';
import { cp, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { writeBackup } from '../../src/backup/backup.ts';
import { checkBackup, restoreBackup } from '../../src/backup/restore.ts';
import type { FileRecord } from '../../src/domain/file.ts';
import { silent } from '../../src/lib/log.ts';
import { FolderBlobs } from '../../src/store/json/blobs.ts';
import { StoreCorrupt } from '../../src/store/json/errors.ts';
import { nodeFiles } from '../../src/store/json/files.ts';
import { takeSnapshot } from '../../src/store/json/snapshot.ts';
import { emptyFolder, openStore, stateOf } from '../store/folders.ts';
import { creation, epoch, everything } from '../store/jobs.ts';
import { temporaryFolder } from '../support/folder.ts';

/** Each takes longer than the one before, as the folder grows and a checkpoint is always about to come. */
const rounds = 4;
const fixtures = join(import.meta.dirname, '../fixtures/store');

test('backups during commits, checkpoints and archiving have every job that was acknowledged before', async (t) => {
  t.timeout(300_000);
  const path = await emptyFolder(t);
  // A checkpoint after each few commits.
  const store = await openStore(t, path, { checkpointBytes: 50_000 });
  const acknowledged: string[] = [];
  let isOver = false;
  const load = (async () => {
    for (let n = 0; !isOver; n += 10) {
      const ids = Array.from({ length: 10 }, (_, index) => `job-${n + index}`);
      const life = { finishedAt: epoch };
      await store.commit(
        ids.map((id) => creation(id, { state: 'completed', life, request: { prompt: id } })),
      );
      acknowledged.push(...ids);
      await store.archive({ endedBefore: 0, keep: 40, limit: 7 }, () => true);
    }
  })();
  const folder = temporaryFolder(t);
  for (let round = 0; round < rounds; round += 1) {
    const expected = [...acknowledged];
    const { path: file, contents } = await writeBackup(path, join(folder, `${round}.tar.gz`), new Date());
    const later = acknowledged.length;
    t.true(contents.files.some(({ name }) => name.startsWith('journal/')));
    const target = join(folder, String(round));
    await restoreBackup(file, target, null);
    const restored = await openStore(t, target);
    const found: string[] = [];
    for await (const jobs of restored.scan(everything, true)) found.push(...jobs.map(({ id }) => id));
    const known = new Set(found);
    t.is(known.size, found.length, 'each once');
    t.deepEqual(
      expected.filter((id) => !known.has(id)),
      [],
      `round ${round} of ${expected.length}`,
    );
    t.true(known.size <= later + 10, 'and none that was made afterwards');
    await restored.close();
  }
  isOver = true;
  await load;
  t.true(acknowledged.length > 100);
});

test('a folder of every format is backed up and restored as it is', async (t) => {
  for (const name of await readdir(fixtures)) {
    const folder = temporaryFolder(t);
    const copy = join(folder, 'copy');
    await cp(join(fixtures, name), copy, { recursive: true });
    const { path } = await writeBackup(copy, folder, new Date(epoch));
    t.is(path, join(folder, 'svc-2023-11-14T221320Z.tar.gz'));
    t.is((await checkBackup(path)).contents.format, Number(name.slice('format-'.length)));
    await restoreBackup(path, join(folder, 'restored'), null);
    const [one, other] = [await openStore(t, copy), await openStore(t, join(folder, 'restored'))];
    t.deepEqual(await stateOf(other), await stateOf(one), name);
  }
});

test('a damaged folder is not backed up as if it were good', async (t) => {
  const folder = temporaryFolder(t);
  const path = await emptyFolder(t);
  const store = await openStore(t, path);
  for (let n = 0; n < 5; n += 1) await store.commit([creation(`job-${n}`)]);
  await store.close();
  const [name = ''] = await readdir(join(path, 'journal'));
  const file = await nodeFiles.open(join(path, 'journal', name), 'edit');
  await file.write(Buffer.from('X'), 200);
  await file.close();
  await t.throwsAsync(writeBackup(path, folder, new Date()), { instanceOf: StoreCorrupt });
  t.deepEqual(await readdir(folder), [], 'and leaves no file behind');

  await rm(join(path, 'journal', name));
  await t.throwsAsync(takeSnapshot(nodeFiles, path), { message: /record 1 and later ones are missing/ });
});

test('what a write that is under way has done so far is left out', async (t) => {
  const path = await emptyFolder(t);
  const store = await openStore(t, path);
  await store.commit([creation('job-1')]);
  await store.commit([creation('job-2')]);
  await store.close();
  const [name = ''] = await readdir(join(path, 'journal'));
  const file = await nodeFiles.open(join(path, 'journal', name), 'edit');
  const size = await file.size();
  await file.write(Buffer.from('{"seq":3,"sum":"0000'), size);
  await file.close();
  const snapshot = await takeSnapshot(nodeFiles, path);
  t.is(snapshot.seq, 2);
  t.is(snapshot.files.find(({ name: one }) => one === `journal/${name}`)?.bytes, size);
  await snapshot.close();
});

test('files are backed up with their records, one after the other; what a stream left is not', async (t) => {
  const path = await emptyFolder(t);
  const folder = temporaryFolder(t);
  const store = await openStore(t, path);
  const blobs = new FolderBlobs({ files: nodeFiles, folder: join(path, 'files'), logger: silent });
  await blobs.open();
  const put = async (id: string, bytes: Buffer): Promise<FileRecord> => {
    const draft = await blobs.create(id);
    await draft.write(bytes);
    await draft.finish();
    const about = { name: id, purpose: 'batch', createdAt: epoch, createdBy: null, expiresAt: null };
    const file = { id, bytes: bytes.length, ...about };
    await store.commit([{ kind: 'file', file }]);
    return file;
  };
  const kept = await put('kept', randomBytes(3_000_000));
  const empty = await put('empty', Buffer.alloc(0));
  const half = await blobs.create('half');
  await half.write(Buffer.from('half'));
  const stream = await blobs.append('stream-1');
  await stream.append(Buffer.from('event'));
  await stream.close();
  const snapshot = await takeSnapshot(nodeFiles, path);
  // It is deleted while the backup is written, and another one comes.
  await blobs.remove('empty');
  await put('later', Buffer.from('later'));
  const names: string[] = [];
  for await (const { name } of snapshot.blobs()) names.push(name);
  t.deepEqual(names.sort(), ['files/kept.bin', 'files/later.bin']);
  await snapshot.close();
  await half.abandon();

  const { path: file } = await writeBackup(path, folder, new Date());
  const target = join(folder, 'restored');
  await restoreBackup(file, target, null);
  const restored = await openStore(t, target);
  t.deepEqual((await restored.files()).slice(0, 2), [kept, empty]);
  for (const name of ['kept.bin', 'later.bin'])
    t.true((await readFile(join(target, 'files', name))).equals(await readFile(join(path, 'files', name))));
  t.deepEqual((await readdir(join(target, 'files'))).sort(), ['kept.bin', 'later.bin']);
});
