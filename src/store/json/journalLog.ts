/* The log of one folder: a journal to which every group is appended, a checkpoint of lowdb files and JSON into which
   the journal is folded, an archive by days, the audit log by months. Owns the folder and its lock, and when a
   checkpoint is made. An append is durable when it resolves and never pending. A crash leaves whole records, and at the
   end of the journal at most one group that was never acknowledged, which the next start cuts off. See
   docs/operations.md for the files. */

import { join, resolve } from 'node:path';
import type { AuditEntry } from '../../domain/audit.ts';
import type { Clock } from '../../domain/clock.ts';
import { messageOf, StoreUnavailable } from '../../domain/errors.ts';
import type { JobRecord } from '../../domain/job.ts';
import { type FolderLock, FolderLocked, lockFolder } from '../../lib/folderLock.ts';
import { type Logger, silent } from '../../lib/log.ts';
import type { DurableLog, LogHealth, LogHost, LogRecord, PendingAppend, Staged } from '../durableLog.ts';
import { StoreLocked } from '../storeErrors.ts';
import { Archive } from './archive/archive.ts';
import { auditEntries, type FoldedAudit } from './audit/auditFile.ts';
import { makeCheckpoint } from './checkpoint/checkpoint.ts';
import { Checkpointer, type RunCheckpoint, runInThread } from './checkpoint/checkpointer.ts';
import { folderUnusable } from './errors.ts';
import { codeOf, type Files, nodeFiles } from './files.ts';
import { Journal } from './journal/journal.ts';
import { JournalWatch } from './journal/journalWatch.ts';
import { type Layout, layoutOf } from './layout.ts';
import { restore } from './restore.ts';

/**
 * 128 MiB: some 60,000 dispatches of 1 KB with their later changes; replayed in 0.7 s. A checkpoint takes a second of a
 * core for each 32 MiB: with one after every 32 MiB a drain on two cores was a tenth slower.
 */
const defaultCheckpointBytes = 128 * 1024 * 1024;
/** Journal files per checkpoint: one round takes two of them, and little memory. */
const sealsPerCheckpoint = 4;
/** Journal folded at once: some 200 MB of memory. */
const roundBytesMax = 32 * 1024 * 1024;
/** Entries of the audit log in memory that start a checkpoint: some 5 MB. */
const auditEntriesMax = 10_000;

/** What a `JournalLog` is made of. */
export interface JournalLogOptions {
  /** The folder; created when it is missing. */
  path: string;
  clock: Clock;
  logger?: Logger | undefined;
  /** Bytes of journal after which a checkpoint is made; 128 MiB by default. */
  checkpointBytes?: number | undefined;
  /** How long entries of the audit log are kept, ms. */
  auditKeptMs: () => number;
  /** The file system, by default that of the machine. With another one checkpoints are made in this thread. */
  files?: Files | undefined;
  /** Locks the folder for this process. @throws FolderLocked */
  lock?: ((folder: string) => Promise<FolderLock>) | undefined;
}

/** The parts of an open log. */
interface Parts {
  host: LogHost;
  lock: FolderLock;
  journal: Journal;
  watch: JournalWatch;
  checkpointer: Checkpointer;
  archive: Archive;
}

/** A folder: a journal to which every group is appended, lowdb files as its checkpoint, an archive, the audit log. */
export class JournalLog implements DurableLog {
  readonly #options: JournalLogOptions;
  readonly #files: Files;
  readonly #logger: Logger;
  readonly #layout: Layout;
  readonly #checkpointBytes: number;
  #parts: Parts | null = null;
  /** Length of the journal at which sealing is retried after a failure. */
  #sealAgainAt = 0;
  /** The audit log of the last checkpoint. */
  #audit: FoldedAudit = { seq: 0, files: [] };
  /** Number of the last entry of the audit log that is in a sealed file of the journal, or in a checkpoint. */
  #auditSealedSeq = 0;

  constructor(options: JournalLogOptions) {
    this.#options = options;
    this.#files = options.files ?? nodeFiles;
    this.#logger = options.logger ?? silent;
    this.#checkpointBytes = options.checkpointBytes ?? defaultCheckpointBytes;
    this.#layout = layoutOf(resolve(options.path));
  }

  /** @throws StoreLocked, StoreCorrupt, StoreFormatTooNew, StoreUnusable; nothing was changed on disk then. */
  async open(host: LogHost): Promise<void> {
    const { root } = this.#layout;
    try {
      await this.#files.makeFolder(root);
      const lock = await this.#lock(root);
      try {
        this.#parts = await this.#openFolder(host, lock);
      } catch (error) {
        await lock.release();
        throw error;
      }
    } catch (error) {
      throw codeOf(error) === null ? error : folderUnusable(root, error);
    }
    this.#parts.watch.start();
    this.#parts.checkpointer.start();
  }

  async #openFolder(host: LogHost, lock: FolderLock): Promise<Parts> {
    const { clock } = this.#options;
    const files = this.#files;
    const layout = this.#layout;
    const logger = this.#logger;
    const { active, nextSeq, sealed, audit } = await restore(files, layout, host, logger);
    this.#audit = audit;
    this.#auditSealedSeq = audit.seq;
    const file = await files.open(join(layout.journal, active.name), 'append');
    const journal = new Journal(files, layout.journal, file, active, nextSeq);
    const run: RunCheckpoint = files === nodeFiles ? runInThread : (plan) => makeCheckpoint(files, plan);
    const checkpointer = new Checkpointer(
      {
        root: layout.root,
        run,
        clock,
        logger,
        enoughBytes: this.#checkpointBytes,
        roundBytesMax: Math.min(2 * this.#checkpointBytes, roundBytesMax),
        auditKeptMs: this.#options.auditKeptMs,
        onMade: (report) => {
          this.#audit = report.audit;
          host.auditKept(report.audit.seq);
        },
      },
      sealed,
    );
    const isHot = (id: string): boolean => host.isHot(id);
    const archive = new Archive({ files, folder: layout.archive, isHot, logger });
    await archive.open();
    const watch = new JournalWatch({ journal, clock, logger, onLost: (lost) => host.fail(lost) });
    return { host, lock, journal, watch, checkpointer, archive };
  }

  append(group: readonly LogRecord[]): Promise<PendingAppend | null> {
    return this.#open().journal.append(group.map(({ texts }) => texts));
  }

  /** Start a new journal file when this one is long, and a checkpoint of the old one. */
  async afterGroup(): Promise<void> {
    const { host, journal, checkpointer } = this.#open();
    const sealBytes = this.#checkpointBytes / sealsPerCheckpoint;
    const isAuditLong = host.auditSeq - this.#auditSealedSeq >= auditEntriesMax;
    if (journal.bytes < Math.max(isAuditLong ? 1 : sealBytes, this.#sealAgainAt)) return;
    try {
      await this.#seal();
      this.#sealAgainAt = 0;
      if (isAuditLong) checkpointer.start();
    } catch (error) {
      this.#sealAgainAt = journal.bytes + sealBytes / 4;
      this.#logger.error(
        { err: error },
        'the journal could not be sealed for a checkpoint; it grows until it can',
      );
    }
  }

  alone<T>(task: () => Promise<T>): Promise<T> {
    return this.#open().archive.alone(task);
  }

  async archive(jobs: readonly JobRecord[]): Promise<Staged> {
    const { archive } = this.#open();
    try {
      const staged = await archive.add(jobs);
      return {
        drop: staged.drop,
        keep: () => {
          staged.keep();
          return archive.writeLongIndexes();
        },
      };
    } catch (error) {
      if (error instanceof StoreUnavailable || codeOf(error) === null) throw error;
      throw new StoreUnavailable(`the archive cannot be written: ${messageOf(error)}`, error);
    }
  }

  find(id: string): Promise<JobRecord | undefined> {
    return this.#open().archive.find(id);
  }

  archived(createdAfter: number | null): AsyncIterable<JobRecord[]> {
    return this.#open().archive.jobs(createdAfter);
  }

  audit(since: number, until: number | null): AsyncIterable<AuditEntry[]> {
    return auditEntries(this.#files, this.#layout.audit, this.#audit, since, until);
  }

  health(): LogHealth {
    const { journal, checkpointer } = this.#open();
    const { problem } = checkpointer;
    return {
      bytes: journal.bytes + checkpointer.sealedBytes,
      detail:
        problem === null
          ? null
          : `the last checkpoint failed and will be tried again, until then the journal grows: ${problem}`,
    };
  }

  async close(): Promise<void> {
    const parts = this.#parts;
    if (parts === null) return;
    try {
      await parts.watch.close();
      await parts.checkpointer.close();
      await parts.archive.close();
      await parts.journal.close();
    } catch (error) {
      // Everything acknowledged is durable, and what a failing disk did not store was refused: nothing is lost.
      this.#logger.error({ err: error }, 'the store could not be closed cleanly; the next start cleans up');
    } finally {
      await parts.lock.release();
    }
  }

  /** Seal the journal and make a checkpoint now; resolves when none is running. */
  async checkpoint(): Promise<void> {
    const { host, journal, checkpointer } = this.#open();
    await host.between(async () => {
      if (journal.bytes > 0) await this.#seal();
    });
    checkpointer.start();
    await checkpointer.idle();
  }

  #open(): Parts {
    if (this.#parts === null) throw new Error('the store is not open');
    return this.#parts;
  }

  async #lock(root: string): Promise<FolderLock> {
    try {
      return await (this.#options.lock ?? lockFolder)(root);
    } catch (error) {
      if (error instanceof FolderLocked) throw new StoreLocked(error.message, { cause: error });
      throw error;
    }
  }

  async #seal(): Promise<void> {
    const { host, journal, checkpointer } = this.#open();
    await journal.rotate((sealed) => checkpointer.add(sealed));
    this.#auditSealedSeq = host.auditSeq;
  }
}
