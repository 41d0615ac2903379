/*
 * The end of the journal, where records are appended. Owns the open file and the number of the next record. What it has
 * acknowledged is on disk; what it has refused is cut off, and after a sync that failed for good it writes nothing more.
 */

import { join } from 'node:path';
import { DataDamaged, messageOf } from '../../../domain/errors.ts';
import { LogFailed } from '../../durableLog.ts';
import { codeOf, type Files, type OpenFile, writeAll } from '../files.ts';
import { journalName } from '../layout.ts';
import { encodeRecords, type RecordTexts } from './encode.ts';
import type { JournalFile } from './replay.ts';

/** The disk did not keep what was written: the journal cannot be trusted any more, nothing may be acknowledged. */
class SyncFailed extends LogFailed {
  constructor(path: string, cause: unknown) {
    super(`${path} could not be made durable: ${messageOf(cause)}`, { cause });
    this.name = 'SyncFailed';
  }
}

/** The file of the journal is not what was written any more: somebody else has removed, replaced or cut it. */
export class JournalLost extends DataDamaged {
  /** @param seen what is there instead, after the path. */
  constructor(path: string, seen: string) {
    super(
      `${path} ${seen} while it was in use. Keep everything else from changing the data folder, and restore it from a backup before the next start, see docs/operations.md`,
    );
    this.name = 'JournalLost';
  }
}

/** The end of the journal, where records are appended. One call at a time. */
export class Journal {
  readonly #files: Files;
  readonly #folder: string;
  #file: OpenFile;
  #active: JournalFile;
  #nextSeq: number;
  #hasFailed = false;
  /** How much of the active file has been found to be in its place. */
  #seenBytes: number;
  /** Whether there may be bytes after the last good record, of a write that failed. */
  #isDirty = false;

  constructor(files: Files, folder: string, file: OpenFile, active: JournalFile, nextSeq: number) {
    this.#files = files;
    this.#folder = folder;
    this.#file = file;
    this.#active = active;
    this.#seenBytes = active.bytes;
    this.#nextSeq = nextSeq;
  }

  /** Length of the file that is appended to. */
  get bytes(): number {
    return this.#active.bytes;
  }

  /** Sequence number of the last durable record; 0 before the first. */
  get lastSeq(): number {
    return this.#nextSeq - 1;
  }

  /**
   * Append records with one sync for all; durable when it resolves, which it does to null: an append is never pending.
   * @param records of each the JSON of its changes, `StoredChange`.
   * @throws SyncFailed, which is final. @throws anything else when nothing was appended and a later call may succeed.
   */
  async append(records: readonly RecordTexts[]): Promise<null> {
    if (this.#isDirty) await this.#repair();
    const bytes = await encodeRecords(this.#nextSeq, records);
    const begin = this.#active.bytes;
    this.#isDirty = true;
    try {
      await this.#write(bytes, begin);
      if (this.#file.writesAreDurable !== true) await this.#sync();
    } catch (error) {
      if (error instanceof SyncFailed) {
        await this.#takeAway();
        throw error;
      }
      // At once and not before the next append: whole records of commits that are refused now must not be found by a
      // restart. When it cannot be done yet, the next append tries again before it writes.
      try {
        await this.#repair();
      } catch (second) {
        if (second instanceof SyncFailed) throw second;
        throw new Error(
          `${messageOf(error)}; the end of the journal is not cut off yet: ${messageOf(second)}`,
          {
            cause: error,
          },
        );
      }
      throw error;
    }
    this.#isDirty = false;
    this.#active.bytes = begin + bytes.length;
    this.#nextSeq += records.length;
    return null;
  }

  /**
   * Look whether a start would find what was written. It may be called beside everything else.
   * @returns what is wrong; null when all is well, and when appends have gone on in a new file meanwhile.
   * @throws what the file system said when it cannot be seen.
   */
  async look(): Promise<JournalLost | null> {
    const file = this.#file;
    // First: what is appended meanwhile only makes the file longer.
    const { name, bytes } = this.#active;
    const path = join(this.#folder, name);
    try {
      const [found, identity] = await Promise.all([this.#files.identityAt(path), file.identity()]);
      const gap = await gapIn(file, Math.max(0, this.#seenBytes - 1), bytes);
      if (this.#file !== file) return null;
      this.#seenBytes = bytes;
      if (found === null) return new JournalLost(path, 'or a folder above it was removed or renamed');
      if (found !== identity) return new JournalLost(path, 'was replaced by another file');
      return gap === null ? null : new JournalLost(path, `was cut at byte ${gap} or before`);
    } catch (error) {
      if (this.#file !== file) return null;
      throw error;
    }
  }

  /**
   * Go on in a new file. @param onSealed is told of the one before, which is never written again.
   * @throws JournalLost, and what the file system said; unless `onSealed` was called, appends go on in the old file then.
   */
  async rotate(onSealed: (sealed: JournalFile) => void): Promise<void> {
    if (this.#isDirty) await this.#repair();
    // The last look at it: in a folder that was made anew the next file would be all right.
    const lost = await this.look();
    if (lost !== null) throw lost;
    const name = journalName(this.#nextSeq);
    const path = join(this.#folder, name);
    const file = await this.#files.open(path, 'append');
    try {
      await this.#files.syncFolder(this.#folder);
    } catch (error) {
      // The empty file may stay: a start looks at empty ones only where one of that number is due.
      await file.close();
      throw error;
    }
    const sealed = this.#active;
    const sealedFile = this.#file;
    this.#file = file;
    this.#active = { name, firstSeq: this.#nextSeq, bytes: 0 };
    this.#seenBytes = 0;
    onSealed(sealed);
    await sealedFile.close();
  }

  /** Let go of the file; what a failed write left in it is cut off first if that can be done. */
  async close(): Promise<void> {
    try {
      if (this.#isDirty && !this.#hasFailed) await this.#repair();
    } finally {
      await this.#file.close();
    }
  }

  /**
   * After a failed sync the next process would still find records in the system's memory that were refused and that are
   * not on the disk. Whether this succeeds changes nothing for the present one, which ends.
   */
  async #takeAway(): Promise<void> {
    try {
      await this.#file.truncate(this.#active.bytes);
    } catch {
      // The disk is failing: the first error is the one to report.
    }
  }

  /** Cut off what stands after the last good record. */
  async #repair(): Promise<void> {
    await this.#file.truncate(this.#active.bytes);
    await this.#sync();
    this.#isDirty = false;
  }

  /**
   * After a failed fsync Linux may drop the pages that it could not write and report success the next time (PostgreSQL
   * panics for the same reason), so it is final: EIO says that bytes are lost, and not which. Out of space is another
   * matter: where it is reported that late (delayed allocation on network and copy-on-write file systems, quotas), no
   * place was found for the *new* bytes; what earlier syncs covered has its place. The new bytes belong to commits that
   * are all refused, and cutting them off drops their pages: nothing that failed to be written is ever relied upon.
   * The cut is itself synced before anything is acknowledged, and any other error of that sync is final as well.
   */
  async #sync(): Promise<void> {
    try {
      await this.#file.sync();
    } catch (error) {
      throw this.#judge(error);
    }
  }

  /** Where writes are durable, their errors are those of a sync. */
  async #write(bytes: Uint8Array, position: number): Promise<void> {
    try {
      await writeAll(this.#file, bytes, position);
    } catch (error) {
      throw this.#file.writesAreDurable === true ? this.#judge(error) : error;
    }
  }

  #judge(error: unknown): unknown {
    const code = codeOf(error);
    if (code === 'ENOSPC' || code === 'EDQUOT' || code === 'EFBIG') return error;
    this.#hasFailed = true;
    return new SyncFailed(join(this.#folder, this.#active.name), error);
  }
}

/** Bytes of the journal that are looked through in one turn of the event loop. */
const seenAtOnce = 256 * 1024;

/**
 * Where records are missing between two places of the journal; null when none are. An append to a file that somebody has
 * cut leaves zeros between, which no record has: by its length alone such a file is whole.
 */
async function gapIn(file: OpenFile, from: number, to: number): Promise<number | null> {
  const bytes = Buffer.allocUnsafe(Math.min(seenAtOnce, to - from));
  for (let at = from; at < to; ) {
    const count = await file.read(bytes.subarray(0, to - at), at);
    if (count === 0) return at;
    const zero = bytes.subarray(0, count).indexOf(0);
    if (zero >= 0) return at + zero;
    at += count;
  }
  return null;
}
