/* Puts a backup back. Owns the order of its steps: everything is written beside the data and checked before the first file
   takes its place, and coordinator.json, without which no start takes the folder for whole, comes last. */

import { createHash } from 'node:crypto';
import { createReadStream, type Dirent } from 'node:fs';
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { DataDamaged, messageOf } from '../domain/errors.ts';
import { lockFolder } from '../lib/folderLock.ts';
import { type TarEntry, TarReader } from '../lib/tar.ts';
import { nodeFiles } from '../store/json/files.ts';
import { formatVersion, manifestName } from '../store/json/layout.ts';
import { takeSnapshot } from '../store/json/snapshot.ts';
import { type BackupContents, type BackupFile, backupForm, contentsName, isBackupName } from './contents.ts';

export { FolderLocked } from '../lib/folderLock.ts';

/** A file is no backup, or is not as it was written. */
class BackupDamaged extends DataDamaged {
  constructor(path: string, what: string) {
    super(`${path} cannot be restored: ${what}; nothing was changed`);
    this.name = 'BackupDamaged';
  }
}

/** The folder has something in it. */
export class FolderNotEmpty extends Error {
  constructor(folder: string) {
    super(`${folder} is not empty; nothing was changed`);
    this.name = 'FolderNotEmpty';
  }
}

/** What a restore did. */
export interface Restoration {
  contents: BackupContents;
  /** Where the former contents of the folder are now; null if it was empty. */
  former: string | null;
}

const stagingName = '.restoring';
const formerName = 'before-restore-';

/** What a folder may have in it and count as empty: the lock that is held, and what earlier restores left. */
function isIgnored(name: string): boolean {
  return ['lock.sock', 'README.md', stagingName].includes(name) || name.startsWith(formerName);
}

/** Read a whole backup and check it. @throws BackupDamaged */
export async function checkBackup(path: string): Promise<{ contents: BackupContents; bytes: number }> {
  const contents = await readBackup(path, null);
  const { size } = await stat(path);
  return { contents, bytes: size };
}

/**
 * Put a backup into a folder, which is created if it is missing.
 * @param replace the present time: its former contents go to a folder inside it that is named after it; null: it must be
 * empty.
 * @throws BackupDamaged, FolderNotEmpty, FolderLocked; the error of the file system.
 */
export async function restoreBackup(
  path: string,
  folder: string,
  replace: Date | null,
): Promise<Restoration> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const lock = await lockFolder(folder);
  try {
    const present = (await readdir(folder)).filter((name) => !isIgnored(name));
    if (present.length > 0 && replace === null) throw new FolderNotEmpty(folder);
    const staging = join(folder, stagingName);
    await rm(staging, { recursive: true, force: true });
    try {
      await mkdir(staging, { mode: 0o700 });
      const contents = await readBackup(path, staging);
      await checkStore(path, staging);
      for (const { name } of await foldersIn(staging)) await nodeFiles.syncFolder(join(staging, name));
      const former = present.length === 0 || replace === null ? null : formerFolder(folder, replace);
      if (former !== null) await moveAll(folder, inOrder(present).toReversed(), former);
      await moveAll(staging, inOrder(await readdir(staging)), folder);
      return { contents, former };
    } finally {
      await rm(staging, { recursive: true, force: true });
    }
  } finally {
    await lock.release();
  }
}

function formerFolder(folder: string, now: Date): string {
  return join(folder, formerName + now.toISOString().replaceAll(/[-:]|\.\d+/g, ''));
}

async function foldersIn(folder: string): Promise<Dirent[]> {
  return (await readdir(folder, { withFileTypes: true })).filter((entry) => entry.isDirectory());
}

/** Reads a backup to its end. @param target where its files are written, durably; null: nowhere. */
async function readBackup(path: string, target: string | null): Promise<BackupContents> {
  const found: BackupFile[] = [];
  let list: Buffer | null = null;
  try {
    await pipeline(createReadStream(path), createGunzip(), async (chunks: AsyncIterable<Buffer>) => {
      const reader = new TarReader(chunks);
      for (let entry = await reader.next(); entry !== null; entry = await reader.next()) {
        if (!isBackupName(entry.name)) throw new Error(`${entry.name} has no place in a data folder`);
        if (entry.name === contentsName) list = await wholeOf(reader.contents(entry));
        else found.push(await keep(entry, reader.contents(entry), target));
      }
      await reader.end();
    });
    const contents = decodeContents(list);
    compare(contents.files, found);
    return contents;
  } catch (error) {
    // That of the file system: the backup is not at fault.
    if (error instanceof Error && 'code' in error && 'syscall' in error) throw error;
    throw new BackupDamaged(path, messageOf(error));
  }
}

async function keep(
  { name, bytes }: TarEntry,
  pieces: AsyncIterable<Buffer>,
  target: string | null,
): Promise<BackupFile> {
  const sha256 = createHash('sha256');
  if (target === null) for await (const piece of pieces) sha256.update(piece);
  else {
    const path = join(target, name);
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const file = await open(path, 'wx', 0o600);
    try {
      for await (const piece of pieces) {
        sha256.update(piece);
        await file.writeFile(piece);
      }
      await file.sync();
    } finally {
      await file.close();
    }
  }
  return { name, bytes, sha256: sha256.digest('hex') };
}

async function wholeOf(pieces: AsyncIterable<Buffer>): Promise<Buffer> {
  const all: Buffer[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all);
}

function decodeContents(list: Buffer | null): BackupContents {
  if (list === null) throw new Error(`it has no ${contentsName}`);
  const contents: BackupContents = JSON.parse(list.toString('utf8'));
  if (contents.backup !== backupForm) throw new Error('a newer version of SVC made it');
  if (contents.format > formatVersion)
    throw new Error(`its data has format ${contents.format}, and this version reads up to ${formatVersion}`);
  return contents;
}

function compare(listed: readonly BackupFile[], found: readonly BackupFile[]): void {
  if (listed.length !== found.length)
    throw new Error(`it has ${found.length} files, and lists ${listed.length}`);
  for (const [index, { name, bytes, sha256 }] of listed.entries()) {
    const file = found[index];
    if (file?.name !== name || file.bytes !== bytes || file.sha256 !== sha256)
      throw new Error(`${name} has another checksum than when it was backed up`);
  }
}

/** The same checks as before a backup: what is restored belongs together. */
async function checkStore(path: string, folder: string): Promise<void> {
  try {
    await (await takeSnapshot(nodeFiles, folder)).close();
  } catch (error) {
    throw new BackupDamaged(path, messageOf(error));
  }
}

/** `coordinator.json` last. */
function inOrder(names: readonly string[]): string[] {
  return [...names].sort((a, b) => Number(a === manifestName) - Number(b === manifestName));
}

/** Move entries from one folder to another, in order, durably. */
async function moveAll(from: string, names: readonly string[], to: string): Promise<void> {
  await mkdir(to, { recursive: true, mode: 0o700 });
  for (const name of names) await rename(join(from, name), join(to, name));
  await nodeFiles.syncFolder(to);
  await nodeFiles.syncFolder(from);
}
