import { randomUUID } from 'node:crypto';
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** Where the first start leaves the admin key that it made. */
export function adminKeyPath(dataDir: string): string {
  return join(dataDir, 'admin.key');
}

/**
 * The generated admin key of a data folder, for command-line use on the same machine.
 * @returns null when there is no such file.
 * @throws the error of the file system when there is one that may not be read.
 */
export async function readAdminKey(dataDir: string): Promise<string | null> {
  try {
    const key = (await readFile(adminKeyPath(dataDir), 'utf8')).trim();
    return key === '' ? null : key;
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR'))
      return null;
    throw error;
  }
}

/**
 * Keep a generated admin key: only its owner may read the file, at no moment anybody else, and a power cut leaves the
 * old file or the new one.
 */
export async function writeAdminKey(dataDir: string, key: string): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const path = adminKeyPath(dataDir);
  const next = `${path}.${randomUUID()}`;
  try {
    // 'wx': an open file of somebody else is never written into.
    const file = await open(next, 'wx', 0o600);
    try {
      await file.writeFile(`${key}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(next, path);
  } catch (error) {
    await rm(next, { force: true });
    throw error;
  }
  const folder = await open(dataDir, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
