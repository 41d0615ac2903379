/* Writes a data folder into one file. Owns the file: it is there whole and checked, or not at all. */

import { createHash, type Hash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { open, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { crc32, createGzip } from 'node:zlib';
import { adminKeyPath } from '../config/adminKey.ts';
import { tarEnd, tarHeader, tarPadding } from '../lib/tar.ts';
import { version } from '../lib/version.ts';
import { nodeFiles } from '../store/json/files.ts';
import { readPart, type Snapshot, type SnapshotFile, takeSnapshot } from '../store/json/snapshot.ts';
import { type BackupContents, type BackupFile, backupForm, contentsName } from './contents.ts';

export { NothingStored } from '../store/json/snapshot.ts';

/** A file of this name is there already. */
export class BackupExists extends Error {
  constructor(path: string) {
    super(`${path} exists already; a backup replaces no file`);
    this.name = 'BackupExists';
  }
}

/** Bytes read at once. */
const pieceBytes = 1024 * 1024;
/** Two thirds of the time of the default level, for files that are a twentieth larger. */
const gzipLevel = 3;

/** A finished backup. */
export interface Backup {
  path: string;
  /** Length of the file. */
  bytes: number;
  contents: BackupContents;
}

/**
 * Copy a data folder into a file, also while a coordinator uses it: every change that was acknowledged before is in it.
 * @param target a file that is not there yet, or a folder, in which the file is named after the time.
 * @throws BackupExists, NothingStored, StoreCorrupt; the error of the file system. There is no file then.
 */
export async function writeBackup(dataFolder: string, target: string, now: Date): Promise<Backup> {
  const path = (await isFolder(target)) ? join(target, defaultName(now)) : target;
  if (await exists(path)) throw new BackupExists(path);
  const contents: BackupContents = {
    backup: backupForm,
    version,
    format: 0,
    seq: 0,
    taken_at: now.toISOString(),
    files: [],
  };
  const temporary = `${path}.${process.pid}.tmp`;
  await rm(temporary, { force: true });
  const snapshot = await takeSnapshot(nodeFiles, dataFolder);
  try {
    Object.assign(contents, { format: snapshot.format, seq: snapshot.seq });
    const output = createWriteStream(temporary, { flags: 'wx', mode: 0o600, flush: true });
    const input = Readable.from(archiveOf(snapshot, dataFolder, contents, now), { objectMode: false });
    await pipeline(input, createGzip({ level: gzipLevel }), output);
    const { size } = await stat(temporary);
    await rename(temporary, path);
    await syncFolder(dirname(path));
    return { path, bytes: size, contents };
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  } finally {
    await snapshot.close();
  }
}

/** The archive, piece by piece; `contents` lists each file once it is in. */
async function* archiveOf(
  { files, blobs }: Snapshot,
  dataFolder: string,
  contents: BackupContents,
  now: Date,
): AsyncGenerator<Buffer> {
  const time = now.getTime();
  for (const file of files) yield* entry(file);
  for await (const blob of blobs()) yield* entry(blob);
  const key = await readIfThere(adminKeyPath(dataFolder));
  if (key !== null) yield whole('admin.key', key, contents.files);
  const list = Buffer.from(`${JSON.stringify(contents, null, 2)}\n`);
  yield whole(contentsName, list, []);
  yield tarEnd;

  async function* entry(file: SnapshotFile): AsyncGenerator<Buffer> {
    const sha256 = createHash('sha256');
    yield tarHeader(file, time);
    yield* checkedBytes(file, sha256);
    yield tarPadding(file.bytes);
    contents.files.push({ name: file.name, bytes: file.bytes, sha256: sha256.digest('hex') });
  }

  function whole(name: string, bytes: Buffer, list: BackupFile[]): Buffer {
    list.push({ name, bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') });
    return Buffer.concat([tarHeader({ name, bytes: bytes.length }, time), bytes, tarPadding(bytes.length)]);
  }
}

/** @throws Error when the file is shorter by now, or has another checksum than the store has for it. */
async function* checkedBytes(part: SnapshotFile, sha256: Hash): AsyncGenerator<Buffer> {
  let sum = 0;
  for (let position = 0; position < part.bytes; ) {
    const piece = Buffer.allocUnsafe(Math.min(pieceBytes, part.bytes - position));
    const count = await readPart(part.file, piece, position, part.bytes);
    if (count === 0) throw new Error(`${part.name} was cut while it was copied; make the backup again`);
    const bytes = piece.subarray(0, count);
    sum = crc32(bytes, sum);
    sha256.update(bytes);
    position += count;
    yield bytes;
  }
  if (part.sum !== null && sum.toString(16).padStart(8, '0') !== part.sum)
    throw new Error(
      `${part.name} is damaged: its checksum is wrong; do not replace an older backup by this one`,
    );
}

function defaultName(now: Date): string {
  return `svc-${now.toISOString().slice(0, 19).replaceAll(':', '')}Z.tar.gz`;
}

async function readIfThere(path: string): Promise<Buffer | null> {
  try {
    return await readFile(path);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/** Windows opens no folders. */
async function syncFolder(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
