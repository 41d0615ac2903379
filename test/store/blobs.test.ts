import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { silent } from '../../src/lib/log.ts';
import { FolderBlobs } from '../../src/store/json/blobs.ts';
import { StoreUnusable } from '../../src/store/storeErrors.ts';
import { blobConformance } from '../conformance/blobs.ts';
import { FailingFiles, systemError } from './failingFiles.ts';
import { emptyFolder } from './folders.ts';

blobConformance('blobs in a folder', async (t) => {
  const folder = join(await emptyFolder(t), 'files');
  const files = new FailingFiles();
  return {
    create: () => new FolderBlobs({ files, folder, logger: silent }),
    fillUp: (bytes) => {
      files.writeBytesMax = bytes;
      let writes = 0;
      files.before = ({ name }) => {
        if (name === 'write') writes += 1;
        // The first takes what there is room for.
        if (name === 'write' && writes % 2 === 0) throw systemError('ENOSPC');
      };
    },
    makeRoom: () => {
      files.writeBytesMax = Number.POSITIVE_INFINITY;
      files.before = () => {};
    },
  };
});

test('a blob is synced before it has its name, in parts of 16 MiB, and then its folder', async (t) => {
  const folder = join(await emptyFolder(t), 'files');
  const files = new FailingFiles();
  const blobs = new FolderBlobs({ files, folder, logger: silent });
  await blobs.open();
  const done: string[] = [];
  files.before = ({ name }) => {
    if (['sync', 'rename', 'syncFolder'].includes(name)) done.push(name);
  };
  const draft = await blobs.create('x');
  const mebibyte = Buffer.alloc(1024 ** 2);
  for (let count = 0; count < 40; count += 1) await draft.write(mebibyte);
  await draft.finish();
  t.deepEqual(done, ['sync', 'sync', 'sync', 'rename', 'syncFolder']);
});

test('a start removes unfinished files, and leaves those of others alone', async (t) => {
  const folder = join(await emptyFolder(t), 'files');
  const files = new FailingFiles();
  const blobs = new FolderBlobs({ files, folder, logger: silent });
  await blobs.open();
  writeFileSync(join(folder, 'x.bin.1.tmp'), 'x');
  writeFileSync(join(folder, 'notes.txt'), 'mine');
  await blobs.open();
  t.deepEqual(readdirSync(folder), ['notes.txt']);
  t.deepEqual(await blobs.list(), []);
  files.before = ({ name }) => {
    if (name === 'makeFolder') throw systemError('EROFS');
  };
  await t.throwsAsync(blobs.open(), { instanceOf: StoreUnusable });
});

test('drafts leave the journal its space: a twentieth of the disk, and 512 MiB at most', async (t) => {
  const folder = join(await emptyFolder(t), 'files');
  const files = new FailingFiles();
  const blobs = new FolderBlobs({ files, folder, logger: silent });
  await blobs.open();
  const mebibyte = 1024 ** 2;
  for (const [total, least] of [
    [1_000, 50],
    [1_000_000, 512],
  ] as const) {
    files.free = { total: total * mebibyte, free: least * mebibyte - 1 };
    await t.throwsAsync(blobs.create('x'), { code: 'ENOSPC', message: /for the journal/ });
    files.free = { total: total * mebibyte, free: least * mebibyte };
    const draft = await blobs.create('x');
    await draft.write(Buffer.alloc(5 * mebibyte));
    files.free = { total: total * mebibyte, free: 0 };
    await t.throwsAsync(draft.write(Buffer.from('more')), { code: 'ENOSPC' });
    await draft.abandon();
  }
  t.deepEqual(readdirSync(folder), []);
});
