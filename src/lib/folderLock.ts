import { stat, unlink } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { join, relative } from 'node:path';
import { setTimeout } from 'node:timers/promises';

/** How often, and after how many ms, a socket that is in use is tried again; see `listenWithRetries`. */
const tries = 10;
const retryMs = 25;

/** Another process holds the folder. */
export class FolderLocked extends Error {
  constructor(folder: string) {
    super(
      `${folder} is in use by another process; stop that one, or give this one a folder of its own. The lock is freed when its holder ends, however it ends: there is no file to remove`,
    );
    this.name = 'FolderLocked';
  }
}

/** A held folder; `release` may be called once. */
export interface FolderLock {
  release(): Promise<void>;
}

/**
 * Hold a folder against every other process of this machine until `release` or the end of this process, kill -9
 * included: the lock is a listening socket, which the kernel closes with its process. A pid file would be wrong in
 * containers.
 *
 * There are two sockets because each alone has a hole. An abstract one (Linux) is taken atomically but only visible in
 * its own network namespace, so two containers on one volume would both get it. A socket file is visible to everyone
 * who sees the folder, but after a kill -9 it is left behind and taken over after a probe, which two processes could do
 * at once. The name is the folder's device and inode, so one folder under two paths is one, and `/data` in two
 * containers is two.
 * @throws FolderLocked
 */
export async function lockFolder(folder: string): Promise<FolderLock> {
  const name = nameOf(await stat(folder, { bigint: true }));
  const held: Server[] = [];
  if (process.platform === 'linux' || process.platform === 'win32')
    held.push(await listenWithRetries(name, folder));
  try {
    const file = socketFileOf(folder);
    if (file !== null) {
      if (await answers(file)) throw new FolderLocked(folder);
      await unlink(file).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') throw error;
      });
      held.push(await listen(file, folder));
    }
  } catch (error) {
    if (held.length === 0 || !hasNoSockets(error)) {
      await Promise.all(held.map(closeServer));
      throw error;
    }
  }
  return {
    async release() {
      await Promise.all(held.map(closeServer));
    },
  };
}

/**
 * Whether a process holds a folder; nothing is taken to find out. By the socket file where there is one, because only who
 * may write to the folder can make that: any user can take the other names.
 */
export async function isFolderLocked(folder: string): Promise<boolean> {
  const file = socketFileOf(folder);
  const hasFile = file !== null && (await stat(file).then(Boolean, () => false));
  return answers(hasFile ? file : nameOf(await stat(folder, { bigint: true })));
}

/** The name of its lock among those of the system, by the folder's device and inode. */
function nameOf({ dev, ino }: { dev: bigint; ino: bigint }): string {
  const name = `svc-folder-${dev}-${ino}`;
  return process.platform === 'win32' ? `\\\\.\\pipe\\${name}` : `\0${name}`;
}

/** The path of its socket file; null when no name is short enough (a socket's path has 108 bytes, 104 on macOS). */
function socketFileOf(folder: string): string | null {
  // Windows has named pipes instead: they end with their process, and every process sees them.
  if (process.platform === 'win32') return null;
  const absolute = join(folder, 'lock.sock');
  const names = [absolute, relative(process.cwd(), absolute)];
  return names.find((name) => name !== '' && Buffer.byteLength(name) < 100) ?? null;
}

/** Some file systems (vfat, a few network ones) have no sockets: there only the abstract one locks. */
function hasNoSockets(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : null;
  return code === 'EPERM' || code === 'ENOTSUP' || code === 'EOPNOTSUPP';
}

/**
 * A process that starts another shares its sockets with it from fork to exec, so a lock may outlive its release by some
 * milliseconds. A quarter of a second of retries also helps a restart whose predecessor is just ending.
 */
async function listenWithRetries(path: string, folder: string): Promise<Server> {
  for (let left = tries; ; left -= 1) {
    try {
      return await listen(path, folder);
    } catch (error) {
      if (left === 0 || !(error instanceof FolderLocked)) throw error;
      await setTimeout(retryMs);
    }
  }
}

function listen(path: string, folder: string): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(error.code === 'EADDRINUSE' ? new FolderLocked(folder) : error);
    });
    server.listen({ path }, () => {
      server.unref();
      resolve(server);
    });
  });
}

/** Whether a process listens there; a file left by a dead process refuses the connection. */
function answers(path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => {
      // ENOTSOCK: a restored backup may hold an ordinary file of this name.
      if (error.code === 'ENOENT' || error.code === 'ECONNREFUSED' || error.code === 'ENOTSOCK')
        resolve(false);
      else reject(error);
    });
  });
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
  });
}
