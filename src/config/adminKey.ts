import { randomUUID } from 'node:crypto';
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** The file of the admin key that the first start creates. */
export function adminKeyPath(dataDir: string): string {
  return join(dataDir, 'admin.key');
}

/**
 * The generated admin key of a data folder, for the command line on the same machine.
 * @returns null when there is no such file.
 * @throws the error of the file system when it cannot be read.
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
 * Store a generated admin key: only its owner can ever read the file, and a power failure leaves the old file or the
 * new one.
 */
export async function writeAdminKey(dataDir: string, key: string): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const path = adminKeyPath(dataDir);
  const next = `${path}.${randomUUID()}`;
  try {
    // 'wx': never write into an existing file of another user.
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
