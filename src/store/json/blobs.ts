/* Blobs as files of one folder. Owns their names there, and how a draft becomes a blob: its bytes are durable before it gets
   its name, so that a name always stands for a whole blob. What is appended to has its name from the beginning. */

import { dirname, join } from 'node:path';
import type { Logger } from '../../lib/log.ts';
import { type BlobAppender, type BlobDraft, BlobMissing, type Blobs } from '../blobs.ts';
import { folderUnusable } from './errors.ts';
import { codeOf, type Files, type OpenFile, openExisting, writeAll } from './files.ts';
import { blobName, idOfBlob, isTemporaryName } from './layout.ts';

/** Bytes that a reader gets at a time. */
const pieceBytes = 64 * 1024;
/**
 * Bytes after which a draft is synced before it is finished. Synced all at once at its end, a file of 512 MiB would keep the
 * disk from the journal for as long as that takes.
 */
const syncBytes = 16 * 1024 ** 2;

/** Bytes after which a draft looks at the space on the disk again. */
const lookBytes = 4 * 1024 ** 2;
/** Space that drafts and what grows leave on the disk, a twentieth of it at most: without it the journal, and with it everything, stops. */
const reserveBytes = 512 * 1024 ** 2;

/** Blobs on disk, one file each, beside the store. */
export class FolderBlobs implements Blobs {
  readonly #files: Files;
  readonly #folder: string;
  readonly #logger: Logger;
  #drafts = 0;
  /** The last of the syncs, which are done one after the other: the journal needs the threads that do them. */
  #syncs: Promise<unknown> = Promise.resolve();

  /** @param options.folder is created by `open`. */
  constructor({ files, folder, logger }: { files: Files; folder: string; logger: Logger }) {
    this.#files = files;
    this.#folder = folder;
    this.#logger = logger;
  }

  /** @throws StoreUnusable. */
  async open(): Promise<void> {
    try {
      await this.#files.makeFolder(this.#folder);
      await this.#files.syncFolder(dirname(this.#folder));
      const drafts = (await this.#files.list(this.#folder)).filter(isTemporaryName);
      for (const name of drafts) await this.#files.remove(join(this.#folder, name));
      if (drafts.length > 0) this.#logger.info({ drafts: drafts.length }, 'removed unfinished files');
    } catch (error) {
      throw folderUnusable(this.#folder, error);
    }
  }

  async list(): Promise<string[]> {
    const names = await this.#files.list(this.#folder);
    return names.map(idOfBlob).filter((id) => id !== null);
  }

  async create(id: string): Promise<BlobDraft> {
    const path = this.#pathOf(id);
    await this.#assertSpace();
    this.#drafts += 1;
    const temporary = `${path}.${this.#drafts}.tmp`;
    const file = await this.#files.open(temporary, 'replace');
    return new Draft({
      file,
      sync: () => this.#inTurn(() => file.sync()),
      assertSpace: () => this.#assertSpace(),
      publish: async () => {
        await this.#files.rename(temporary, path);
        await this.#inTurn(() => this.#files.syncFolder(this.#folder));
      },
      discard: () => this.#discard(temporary),
    });
  }

  async *read(id: string, from = 0, to = Number.POSITIVE_INFINITY): AsyncGenerator<Buffer> {
    const file = await openExisting(this.#files, this.#pathOf(id));
    if (file === null) throw new BlobMissing(id);
    try {
      const end = Math.min(to, await file.size());
      for (let position = from; position < end; ) {
        const piece = Buffer.allocUnsafe(Math.min(pieceBytes, end - position));
        const count = await file.read(piece, position);
        if (count === 0) throw new Error(`the blob ${id} ends at byte ${position} instead of ${end}`);
        position += count;
        yield piece.subarray(0, count);
      }
    } finally {
      await file.close();
    }
  }

  async size(id: string): Promise<number | null> {
    const file = await openExisting(this.#files, this.#pathOf(id));
    if (file === null) return null;
    try {
      return await file.size();
    } finally {
      await file.close();
    }
  }

  async append(id: string): Promise<BlobAppender> {
    await this.#assertSpace();
    // Not `append`, whose writes wait for the disk.
    const file = await this.#files.open(this.#pathOf(id), 'edit');
    try {
      return new Appender(file, await file.size());
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  async remove(id: string): Promise<void> {
    try {
      await this.#files.remove(this.#pathOf(id));
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error;
    }
  }

  #pathOf(id: string): string {
    return join(this.#folder, blobName(id));
  }

  /** @throws Error with the code ENOSPC. */
  async #assertSpace(): Promise<void> {
    const space = await this.#files.space?.(this.#folder);
    if (space === undefined || space.free >= Math.min(reserveBytes, space.total / 20)) return;
    const error = new Error(`what is left of the disk, ${space.free} bytes, is for the journal`);
    throw Object.assign(error, { code: 'ENOSPC' });
  }

  async #discard(temporary: string): Promise<void> {
    try {
      await this.#files.remove(temporary);
    } catch (error) {
      if (codeOf(error) !== 'ENOENT')
        this.#logger.warn({ err: error, file: temporary }, 'an unfinished file stays until the next start');
    }
  }

  #inTurn(sync: () => Promise<void>): Promise<void> {
    const done = this.#syncs.then(sync, sync);
    this.#syncs = done.catch(() => {});
    return done;
  }
}

/** What a draft does to its folder. */
interface DraftSteps {
  file: OpenFile;
  sync: () => Promise<void>;
  /** @throws Error with the code ENOSPC. */
  assertSpace: () => Promise<void>;
  /** Give the file the name of the blob, durably. */
  publish: () => Promise<void>;
  /** Remove the file. Never rejects. */
  discard: () => Promise<void>;
}

class Draft implements BlobDraft {
  readonly #steps: DraftSteps;
  #bytes = 0;
  #synced = 0;
  #looked = 0;
  #isOpen = true;
  #isOver = false;

  constructor(steps: DraftSteps) {
    this.#steps = steps;
  }

  async write(bytes: Uint8Array): Promise<void> {
    const { file, sync, assertSpace } = this.#steps;
    if (this.#bytes - this.#looked >= lookBytes) {
      await assertSpace();
      this.#looked = this.#bytes;
    }
    await writeAll(file, bytes, this.#bytes);
    this.#bytes += bytes.byteLength;
    if (this.#bytes - this.#synced < syncBytes) return;
    await sync();
    this.#synced = this.#bytes;
  }

  async finish(): Promise<void> {
    const { sync, publish } = this.#steps;
    await sync();
    await this.#close();
    await publish();
    this.#isOver = true;
  }

  async abandon(): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    // An error of closing says nothing about data that is discarded anyway.
    await this.#close().catch(() => {});
    await this.#steps.discard();
  }

  async #close(): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    await this.#steps.file.close();
  }
}

class Appender implements BlobAppender {
  readonly #file: OpenFile;
  #size: number;

  constructor(file: OpenFile, size: number) {
    this.#file = file;
    this.#size = size;
  }

  get size(): number {
    return this.#size;
  }

  async append(bytes: Uint8Array): Promise<void> {
    try {
      await writeAll(this.#file, bytes, this.#size);
      this.#size += bytes.byteLength;
    } catch (error) {
      // Part of it may be there. If it cannot be cut off, the next append overwrites it.
      await this.#file.truncate(this.#size).catch(() => {});
      throw error;
    }
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}
