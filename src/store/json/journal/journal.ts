/* The end of the journal, where records are appended. Owns the open file and the number of the next record. What it has
   acknowledged is on disk; what it has refused is cut off, and after a sync that failed for good it writes nothing
   more. */

import { join } from 'node:path';
import { DataDamaged, messageOf } from '../../../domain/errors.ts';
import { LogFailed } from '../../durableLog.ts';
import { codeOf, type Files, type OpenFile, writeAll } from '../files.ts';
import { journalName } from '../layout.ts';
import { encodeRecords, type RecordTexts } from './encode.ts';
import type { JournalFile } from './replay.ts';

/** The disk did not store what was written: the journal cannot be trusted any more, nothing may be acknowledged. */
class SyncFailed extends LogFailed {
  constructor(path: string, cause: unknown) {
    super(`${path} could not be made durable: ${messageOf(cause)}`, { cause });
    this.name = 'SyncFailed';
  }
}

/** The journal file is no longer as written: another program has removed, replaced or cut it. */
export class JournalLost extends DataDamaged {
  /** @param seen its present state, to follow the path. */
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
  /** The end of the part of the active file that was verified. */
  #seenBytes: number;
  /** Whether a failed write may have left bytes after the last good record. */
  #isDirty = false;

  constructor(files: Files, folder: string, file: OpenFile, active: JournalFile, nextSeq: number) {
    this.#files = files;
    this.#folder = folder;
    this.#file = file;
    this.#active = active;
    this.#seenBytes = active.bytes;
    this.#nextSeq = nextSeq;
  }

  /** Length of the active file. */
  get bytes(): number {
    return this.#active.bytes;
  }

  /** Sequence number of the last durable record; 0 before the first. */
  get lastSeq(): number {
    return this.#nextSeq - 1;
  }

  /**
   * Append records with one sync for all; durable when it resolves, which it does to null: an append is never pending.
   * @param records the JSON of each change, `StoredChange`.
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
      // At once and not before the next append: a restart must not find whole records of commits that are refused now.
      // If it is impossible now, the next append tries again before it writes.
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
   * Check whether a start would find what was written. May run concurrently with everything else.
   * @returns what is wrong; null when all is well, also when appends meanwhile continued in a new file.
   * @throws the error of the file system when it cannot be checked.
   */
  async look(): Promise<JournalLost | null> {
    const file = this.#file;
    // First: later appends only make the file longer.
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
   * Continue in a new file. @param onSealed called with the previous one, which is never written again.
   * @throws JournalLost, and errors of the file system; unless `onSealed` was called, appends then continue in the old
   * file.
   */
  async rotate(onSealed: (sealed: JournalFile) => void): Promise<void> {
    if (this.#isDirty) await this.#repair();
    // The last check of it: in a recreated folder the next file would be fine.
    const lost = await this.look();
    if (lost !== null) throw lost;
    const name = journalName(this.#nextSeq);
    const path = join(this.#folder, name);
    const file = await this.#files.open(path, 'append');
    try {
      await this.#files.syncFolder(this.#folder);
    } catch (error) {
      // The empty file may stay: a start only considers an empty one when it has the next number.
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

  /** Close the file; the rest of a failed write is cut off first if possible. */
  async close(): Promise<void> {
    try {
      if (this.#isDirty && !this.#hasFailed) await this.#repair();
    } finally {
      await this.#file.close();
    }
  }

  /**
   * After a failed sync the next process would still find refused records in the system's memory that are not on the
   * disk. Whether this succeeds changes nothing for this process, which ends.
   */
  async #takeAway(): Promise<void> {
    try {
      await this.#file.truncate(this.#active.bytes);
    } catch {
      // The disk is failing: the first error is the one to report.
    }
  }

  /** Cut off everything after the last good record. */
  async #repair(): Promise<void> {
    await this.#file.truncate(this.#active.bytes);
    await this.#sync();
    this.#isDirty = false;
  }

  /**
   * After a failed fsync Linux may drop the pages that it could not write and report success the next time (PostgreSQL
   * panics for the same reason), so it is final: EIO says that bytes are lost, and not which. Out of space is
   * different: where it is reported that late (delayed allocation on network and copy-on-write file systems, quotas),
   * there was no space for the *new* bytes; what earlier syncs covered is stored. The new bytes belong to commits that
   * are all refused, and cutting them off drops their pages: nothing that failed to be written is ever relied upon. The
   * cut is itself synced before anything is acknowledged, and any other error of that sync is final as well.
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

/** Bytes of the journal checked in one turn of the event loop. */
const seenAtOnce = 256 * 1024;

/**
 * Where records are missing between two positions of the journal; null when none are. An append to a file that was cut
 * leaves zeros between, which no record contains: by its length alone such a file looks whole.
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
