import { randomUUID } from 'node:crypto';
import { readdirSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import type { Coordinator } from '../../src/coordinator/coordinator.ts';
import { FileRoom, FileShelf } from '../../src/coordinator/files/index.ts';
import { nobody } from '../../src/domain/audit.ts';
import type { CoordinatorError } from '../../src/domain/errors.ts';
import type { FileRecord } from '../../src/domain/file.ts';
import type { Principal, Role } from '../../src/domain/key.ts';
import { silent } from '../../src/lib/log.ts';
import { FolderBlobs } from '../../src/store/json/blobs.ts';
import { nodeFiles } from '../../src/store/json/files.ts';
import { FailingFiles, systemError } from '../store/failingFiles.ts';
import { testConfig } from '../support/config.ts';
import { type Bundle, setup } from '../support/coordinator.ts';

const dayMs = 86_400_000;
const owner = { keyId: 'k1', name: 'first' };

/** A key of a role. */
function principal(role: Role, keyId = owner.keyId): Principal {
  return { keyId, role, name: null, bounds: null, secretHash: '' };
}

/** A file that is stored. */
async function upload(
  { files }: Pick<Coordinator, 'files'>,
  bytes: Buffer | string,
  about: Partial<FileRecord> & { by?: Principal } = {},
): Promise<FileRecord> {
  const draft = await files.begin({
    name: 'a.jsonl',
    purpose: 'batch',
    expiresAt: null,
    createdBy: owner,
    ...about,
  });
  try {
    await draft.write(Buffer.from(bytes));
    return await files.add(await draft.finish());
  } catch (error) {
    await draft.abandon();
    throw error;
  }
}

async function textOf({ files }: Coordinator, id: string): Promise<string> {
  let text = '';
  for await (const piece of files.read(id)) text += piece.toString();
  return text;
}

/** With such bounds of the files. */
function bounded(files: Partial<ReturnType<typeof testConfig>['front']['files']>, share = 1) {
  const { front, http } = testConfig();
  return {
    front: { ...front, files: { ...front.files, ...files } },
    http: { ...http, shares: { ...http.shares, files: share } },
  };
}

const blobsIn = ({ folder }: Bundle): string[] => readdirSync(join(folder, 'files'));

test('a file is there with its record and its bytes, also after a crash; its bytes go with it', async (t) => {
  const bundle = await setup(t);
  const first = await upload(bundle.coordinator, 'one\n');
  const second = await upload(bundle.coordinator, 'two\n', { name: 'b.jsonl' });
  t.like(first, { name: 'a.jsonl', purpose: 'batch', bytes: 4, createdBy: owner, expiresAt: null });
  const { coordinator } = await bundle.restart();
  t.deepEqual(coordinator.files.list(), [first, second]);
  t.deepEqual([coordinator.files.count, coordinator.files.bytes], [2, 8]);
  t.is(await textOf(coordinator, second.id), 'two\n');
  await coordinator.files.remove(first.id, nobody);
  t.throws(() => coordinator.files.get(first.id), { code: 'file_not_found' });
  await t.throwsAsync(coordinator.files.remove(first.id, nobody), { code: 'file_not_found' });
  t.deepEqual([coordinator.files.count, coordinator.files.bytes], [1, 4]);
  t.deepEqual(blobsIn(bundle), [`${second.id}.bin`]);
  const { entries } = await coordinator.audit.page({
    since: null,
    until: null,
    actor: null,
    actions: [],
    limit: 10,
    offset: 0,
  });
  t.like(entries[0], { action: 'file.deleted', target: { kind: 'file', id: first.id, name: 'a.jsonl' } });
});

test('of an upload that a crash ends nothing remains, and neither of bytes whose record was not stored', async (t) => {
  const bundle = await setup(t);
  const about = { name: 'a', purpose: 'batch', expiresAt: null, createdBy: owner };
  const half = await bundle.coordinator.files.begin(about);
  t.teardown(() => half.abandon());
  await half.write(Buffer.from('half'));
  const finished = await bundle.coordinator.files.begin(about);
  await finished.write(Buffer.from('whole'));
  await finished.finish();
  writeFileSync(join(bundle.folder, 'files', 'stream-1.bin'), 'of others');
  const { coordinator } = await bundle.restart();
  t.deepEqual(coordinator.files.list(), []);
  t.deepEqual(blobsIn(bundle), ['stream-1.bin']);
});

test('a record whose bytes are missing is dropped at the start', async (t) => {
  let bundle = await setup(t);
  const { id } = await upload(bundle.coordinator, 'one');
  const kept = await upload(bundle.coordinator, 'two');
  unlinkSync(join(bundle.folder, 'files', `${id}.bin`));
  await t.throwsAsync(textOf(bundle.coordinator, id), { code: 'file_not_found' });
  t.false(await bundle.coordinator.files.isReadable(id));
  for (let start = 0; start < 2; start += 1) {
    bundle = await bundle.restart();
    const { coordinator, store } = bundle;
    t.deepEqual(coordinator.files.list(), [kept]);
    t.deepEqual(await store.files(), [kept]);
  }
});

test('a file can be written again under its id', async (t) => {
  const { coordinator, store } = await setup(t);
  const { id } = await upload(coordinator, 'the first output');
  const draft = await coordinator.files.begin({
    id,
    name: 'again',
    purpose: 'batch_output',
    expiresAt: null,
    createdBy: owner,
  });
  await draft.write(Buffer.from('other'));
  t.is(await textOf(coordinator, id), 'the first output');
  const record = await draft.finish();
  await store.commit([{ kind: 'file', file: record }]);
  coordinator.files.put(record);
  await draft.abandon();
  t.is(await textOf(coordinator, id), 'other');
  t.deepEqual([coordinator.files.count, coordinator.files.bytes], [1, 5]);
});

test('all files and those of a key have their bounds, counted while they are uploaded', async (t) => {
  const { coordinator } = await setup(t, bounded({ maxBytes: 1_000 }, 0.5));
  const client = principal('client');
  const refused = await t.throwsAsync(upload(coordinator, Buffer.alloc(501), { by: client }));
  t.like(refused, { code: 'share_exceeded', retryable: false });
  t.regex(refused?.message ?? '', /500 .*http\.shares\.files of front\.files\.max_bytes/);
  t.is(coordinator.files.bytes, 0);
  const about = { name: 'a', purpose: 'batch', expiresAt: null };
  const draft = await coordinator.files.begin({ ...about, createdBy: owner, by: client });
  await draft.write(Buffer.alloc(400));
  await t.throwsAsync(upload(coordinator, Buffer.alloc(101), { by: client }), { code: 'share_exceeded' });
  const other = { createdBy: { keyId: 'k2', name: null } };
  await upload(coordinator, Buffer.alloc(475), { ...other, by: principal('client', 'k2') });
  // An eighth is left for operators and admins.
  const third = { createdBy: { keyId: 'k3', name: null }, by: principal('client', 'k3') };
  const full = await t.throwsAsync(upload(coordinator, 'x', third));
  t.like(full, { code: 'store_unavailable', retryable: true });
  t.regex(full?.message ?? '', /front\.files\.max_bytes: 1000/);
  await upload(coordinator, Buffer.alloc(125), { by: principal('admin') });
  await t.throwsAsync(upload(coordinator, 'x', { by: principal('admin') }), { code: 'store_unavailable' });
  await draft.abandon();
  t.is(coordinator.files.bytes, 600);
  await upload(coordinator, Buffer.alloc(100), { by: client });
});

test('a full disk refuses the upload, says what to do, and keeps nothing of it', async (t) => {
  const files = new FailingFiles();
  const bundle = await setup(t, {}, { files });
  const { coordinator } = bundle;
  for (const failing of ['open', 'write', 'sync', 'rename'] as const) {
    files.before = ({ name, path }) => {
      if (name === failing && path.includes('/files/')) throw systemError('ENOSPC');
    };
    const error = await t.throwsAsync<CoordinatorError>(upload(coordinator, 'one'), undefined, failing);
    t.like(error, { code: 'store_unavailable', retryable: true });
    t.regex(error?.message ?? '', /disk of the data folder is full.*free some space/);
    t.deepEqual([blobsIn(bundle), coordinator.files.bytes, coordinator.files.count], [[], 0, 0]);
  }
  // The bytes are written, but the journal takes no record.
  files.before = ({ name, path }) => {
    if (name === 'write' && path.includes('journal')) throw systemError('ENOSPC');
  };
  await t.throwsAsync(upload(coordinator, 'one'), { code: 'store_unavailable' });
  files.before = () => {};
  t.deepEqual([blobsIn(bundle), coordinator.files.bytes], [[], 0]);
  await upload(coordinator, 'one');
});

test('a file goes when it expires, also when the clock jumps there', async (t) => {
  const { coordinator, clock, folder } = await setup(t);
  const now = clock.now();
  const kept = await upload(coordinator, 'kept');
  await upload(coordinator, 'soon', { expiresAt: now + 60_000 });
  const later = await upload(coordinator, 'later', { expiresAt: now + dayMs });
  const untilLeft = async (count: number): Promise<void> => {
    for (let turn = 0; turn < 500_000 && readdirSync(join(folder, 'files')).length > count; turn += 1) {
      // The next look, and then turns of the event loop alone: the commit waits for the disk.
      if (turn < 400) clock.advance(100);
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
  };
  clock.advance(59_000);
  t.is(coordinator.files.count, 3);
  await untilLeft(2);
  t.deepEqual(coordinator.files.list(), [kept, later]);
  clock.jump(2 * dayMs);
  await untilLeft(1);
  t.deepEqual(coordinator.files.list(), [kept]);
  t.is(coordinator.files.bytes, 4);
});

test('a file that is in use is neither deleted nor does it expire', async (t) => {
  const { store, coordinator, clock, folder, config } = await setup(t);
  const used = new Set<string>();
  const files = new FileShelf({
    blobs: new FolderBlobs({ files: nodeFiles, folder: join(folder, 'others'), logger: silent }),
    store,
    clock,
    audit: coordinator.audit,
    room: new FileRoom(() => config),
    newId: () => randomUUID(),
    isInUse: (id) => used.has(id),
    logger: silent,
  });
  await files.open();
  const { id } = await upload({ files }, 'one', { expiresAt: clock.now() + 1 });
  used.add(id);
  const error = await t.throwsAsync(files.remove(id, null), { code: 'file_in_use' });
  t.regex(error?.message ?? '', /cancel the batch or wait/);
  clock.advance(1);
  t.is(await files.removeExpired(), 0);
  t.is(files.get(id).id, id);
  used.delete(id);
  const [first, second] = await Promise.allSettled([files.remove(id, null), files.remove(id, null)]);
  t.is(first.status, 'fulfilled');
  t.like(second, { status: 'rejected', reason: { code: 'file_not_found' } });
  t.deepEqual([files.count, files.bytes], [0, 0]);
  t.deepEqual(readdirSync(join(folder, 'others')), []);
});
