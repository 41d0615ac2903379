import { type Files, nodeFiles, type OpenFile } from '../../src/store/json/files.ts';

/** One operation on a file system, as `FailingFiles` shows it before it is done. */
export interface Operation {
  name:
    | 'makeFolder'
    | 'list'
    | 'open'
    | 'identityAt'
    | 'rename'
    | 'remove'
    | 'syncFolder'
    | 'size'
    | 'identity'
    | 'read'
    | 'write'
    | 'truncate'
    | 'sync'
    | 'close';
  path: string;
}

/** An error as the operating system gives it. */
export function systemError(code: string): Error {
  return Object.assign(new Error(`${code}: made by the test`), { code });
}

/** The real file system, with a hand on every operation. */
export class FailingFiles implements Files {
  /** Called before every operation; what it throws is what the operation throws. */
  before: (operation: Operation) => void = () => {};
  /** Most bytes that one write takes. */
  writeBytesMax = Number.POSITIVE_INFINITY;
  /** How often each operation was begun. */
  readonly counts = new Map<Operation['name'], number>();
  /** False: syncs only seem to be done. For tests that open a folder thousands of times. */
  isDurable = true;
  /** False: every write needs a sync after it, as where the system has no durable writes. */
  hasDurableWrites = false;
  /** Resolved when a gate is open: syncs wait for it. */
  gate: Promise<void> = Promise.resolve();

  async makeFolder(path: string): Promise<void> {
    this.#begin('makeFolder', path);
    await nodeFiles.makeFolder(path);
  }

  async list(path: string): Promise<string[]> {
    this.#begin('list', path);
    return nodeFiles.list(path);
  }

  async identityAt(path: string): Promise<string | null> {
    this.#begin('identityAt', path);
    return nodeFiles.identityAt(path);
  }

  async rename(from: string, to: string): Promise<void> {
    this.#begin('rename', to);
    await nodeFiles.rename(from, to);
  }

  async remove(path: string): Promise<void> {
    this.#begin('remove', path);
    await nodeFiles.remove(path);
  }

  async syncFolder(path: string): Promise<void> {
    this.#begin('syncFolder', path);
    if (this.isDurable) await nodeFiles.syncFolder(path);
  }

  /** Space of the disk; the real one unless told. */
  free: { total: number; free: number } | null = null;

  async space(path: string): Promise<{ total: number; free: number }> {
    return this.free ?? (await nodeFiles.space?.(path)) ?? { total: 0, free: 0 };
  }

  async open(path: string, mode: Parameters<Files['open']>[1]): Promise<OpenFile> {
    this.#begin('open', path);
    const file = await nodeFiles.open(path, mode);
    return {
      writesAreDurable: this.hasDurableWrites && file.writesAreDurable === true,
      size: async () => {
        this.#begin('size', path);
        return file.size();
      },
      identity: async () => {
        this.#begin('identity', path);
        return file.identity();
      },
      read: async (into, position) => {
        this.#begin('read', path);
        return file.read(into, position);
      },
      write: async (bytes, position) => {
        this.#begin('write', path);
        return file.write(bytes.subarray(0, this.writeBytesMax), position);
      },
      truncate: async (length) => {
        this.#begin('truncate', path);
        await file.truncate(length);
      },
      sync: async () => {
        this.#begin('sync', path);
        await this.gate;
        if (this.isDurable) await file.sync();
      },
      close: async () => {
        // The descriptor is let go of whatever the test makes of it: a test must not leak.
        await file.close();
        this.#begin('close', path);
      },
    };
  }

  #begin(name: Operation['name'], path: string): void {
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
    this.before({ name, path });
  }
}

/** Files whose syncs only seem to be done: what is tested is then the order of steps, and not the disk. */
export function unsyncedFiles(): FailingFiles {
  const files = new FailingFiles();
  files.isDurable = false;
  return files;
}
