import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { parseFields } from '../lib/fields.ts';
import { type FolderLock, FolderLocked, isFolderLocked, lockFolder } from '../lib/folderLock.ts';
import { writeWhole } from '../lib/writeWhole.ts';
import { userAgent } from './coordinatorWatch.ts';

const fileName = 'running.json';
const timeoutMs = 5_000;

/** How the other commands of this user reach a running companion. */
export interface Contact {
  pid: number;
  /** Its address with the secret folder. */
  url: string;
  token: string;
}

/** The place of the one companion of this user. */
export interface Instance {
  /** Let other commands find it. @throws as node:fs does. */
  publish(contact: Contact): Promise<void>;
  release(): Promise<void>;
}

/**
 * Hold the state folder against a second companion of this user.
 * @returns null when one is running. @throws as node:fs does when the folder cannot be used.
 */
export async function holdInstance(folder: string): Promise<Instance | null> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  let lock: FolderLock;
  try {
    lock = await lockFolder(folder);
  } catch (error) {
    if (error instanceof FolderLocked) return null;
    throw error;
  }
  const path = join(folder, fileName);
  // One that was killed has left its token, and perhaps its rights.
  await rm(path, { force: true });
  return {
    publish: (contact) => writeWhole(path, JSON.stringify(contact)),
    release: async () => {
      await rm(path, { force: true });
      await lock.release();
    },
  };
}

/** The contact of the running companion; null when there is none, or it is just starting. */
export async function readContact(folder: string): Promise<Contact | null> {
  // One that was killed has left its file, and anybody may listen at its address by now.
  if (!(await isFolderLocked(folder).catch(() => false))) return null;
  const text = await readFile(join(folder, fileName), 'utf8').catch(() => null);
  const { pid, url, token } = (text === null ? null : parseFields(text)) ?? {};
  if (typeof pid !== 'number' || typeof url !== 'string' || typeof token !== 'string') return null;
  return { pid, url, token };
}

/**
 * Ask the running companion. @param action of its API; `state` is read, all others act.
 * @returns null when it does not answer, so it is not running.
 */
export async function askCompanion({ url, token }: Contact, action: string): Promise<unknown> {
  const isRead = action === 'state';
  try {
    const response = await fetch(`${url}api/${action}`, {
      method: isRead ? 'GET' : 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'user-agent': userAgent,
        ...(isRead ? {} : { 'content-type': 'application/json' }),
      },
      ...(isRead ? {} : { body: '{}' }),
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
    });
    return response.ok ? await response.json() : null;
  } catch {
    return null;
  }
}
