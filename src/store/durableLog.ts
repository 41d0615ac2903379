/*
 * The port between memory and what keeps it: what a log owes `MemoryStore`, and what it is given. The store answers every
 * read from memory; a log makes groups of changes durable, in order, brings them back at the next start, and keeps what
 * memory lets go of (archived jobs, old entries of the audit log). `json/` holds the log of one folder.
 *
 * After a crash `open` must give back every group that was answered as durable, in order, and of those that were not
 * answered each whole or not at all, none of them without the ones before it.
 */

import type { AuditEntry } from '../domain/audit.ts';
import type { JobRecord } from '../domain/job.ts';
import type { KeyRecord } from '../domain/key.ts';
import type { ProviderHold } from '../domain/provider.ts';
import type { QueueState } from '../domain/queue.ts';
import type { WorkerRecord } from '../domain/worker.ts';
import type { CostMonth } from './changes/costMonth.ts';
import type { Change, IdempotencyRecord, JobChange } from './store.ts';

/** Where changes are kept. `MemoryStore` opens it once, and closes it once if that was begun. */
export interface DurableLog {
  /**
   * Take the place of the data for this process alone, and bring back what is kept: everything goes to `host.load`. When it
   * throws it has let go of all that it took.
   * @throws StoreLocked, StoreFormatTooNew, StoreUnusable, DataDamaged.
   */
  open(host: LogHost): Promise<void>;

  /**
   * Make a group of records durable, all or none, after all groups before it. One call at a time.
   *
   * It has three outcomes:
   * - *done*: it resolves to null. The group is durable.
   * - *refused*: it rejects. Nothing of the group is kept, now or after a crash, and a later call may succeed; after
   *   `LogFailed` none can, and nobody is to trust the log any more.
   * - *pending until known*: it resolves to a `PendingAppend`, because the log cannot say which of the two it is: the
   *   connection to a database was lost after the commit was sent. Nobody is answered and no other group is appended until
   *   `known` settles.
   */
  append(group: readonly LogRecord[]): Promise<PendingAppend | null>;

  /** Called after each group that is durable and in memory, while nothing is being appended. Never rejects. */
  afterGroup(): Promise<void>;

  /** Run a task while no other one that archives is running. @returns what the task returned. @throws what it threw. */
  alone<T>(task: () => Promise<T>): Promise<T>;
  /**
   * Keep jobs that are about to leave memory; they are durable when it resolves. The record that takes them out of memory is
   * appended afterwards, and only when that is durable does the archive count. Call it only within `alone`.
   * @throws StoreUnavailable when the archive cannot be written; it is as it was then.
   */
  archive(jobs: readonly JobRecord[]): Promise<Staged>;
  /** An archived job. @throws StoreUnavailable when the archive cannot be read. */
  find(id: string): Promise<JobRecord | undefined>;
  /**
   * All archived jobs in batches, those that ended last first, as nearly as the log keeps them in that order. It may give
   * jobs that memory still has.
   * @param createdAfter epoch ms: older jobs may be left out; null for all. @throws StoreUnavailable.
   */
  archived(createdAfter: number | null): AsyncIterable<JobRecord[]>;

  /**
   * Entries of the audit log that memory has let go of, in batches, newest first: what there is at the moment of the call.
   * @param since epoch ms: older entries may be left out. @param until epoch ms: later ones may be left out; null for none.
   * @throws Error when they cannot be read.
   */
  audit(since: number, until: number | null): AsyncIterable<AuditEntry[]>;

  /** May be called at any time after `open` has resolved. */
  health(): LogHealth;
  /** Finish what is under way and let go of the place of the data. Never rejects: what was answered is durable already. */
  close(): Promise<void>;
}

/** One commit: kept whole or not at all. It may have no changes, which tries whether appends succeed. */
export interface LogRecord {
  readonly changes: readonly StoredChange[];
  /** The JSON of each change, as it was when the caller gave it. A log may write this or the changes. */
  readonly texts: readonly string[];
}

/** An append of which the log cannot say yet whether the group is durable. */
export interface PendingAppend {
  /** Why that is not known, in one sentence for operators. */
  readonly detail: string;
  /** Resolves when the group is known to be durable. Rejects as `append` does when it is known that nothing of it is kept. */
  readonly known: Promise<void>;
}

/** Jobs that an archive holds and whose commit is yet to be made. One of the two is called, neither when its outcome stays unknown. */
export interface Staged {
  /** The commit is durable. @returns a promise for housekeeping that must end before the next `archive`. */
  keep(): Promise<void>;
  /** The commit was refused: these jobs are not archived. */
  drop(): void;
}

export interface LogHealth {
  /** What is wrong while appends succeed all the same, in one sentence; null when nothing is. */
  detail: string | null;
  /** Bytes of the log that the next start goes through; 0 for a log that is not replayed. */
  bytes: number;
}

/** What a log may ask of its `MemoryStore`. */
export interface LogHost {
  /** Takes what the log brings back. Only for the time of `open`. */
  readonly load: Load;
  /** Whether memory has the job: one that it has is not archived, whatever the archive says. */
  isHot(id: string): boolean;
  /** Number of the last entry of the audit log, counted from the first that there ever was. */
  readonly auditSeq: number;
  /** `audit` gives the entries up to this number from now on, so memory lets go of them. */
  auditKept(seq: number): void;
  /** Run a task between two groups, while nothing is being appended. @throws StoreUnavailable when the store is closed. */
  between<T>(task: () => Promise<T>): Promise<T>;
  /** The log can no longer be trusted: nothing is answered from now on, and the process ends. */
  fail(error: Error): void;
}

/**
 * Takes what a log brings back, in this order: the registry, then what else a checkpoint has, then changes. A log without
 * checkpoints gives changes alone. What it is given it owns.
 */
export interface Load {
  /** Everything but jobs; `change` goes on from there. */
  registry(records: Partial<RegistryRecords>): void;
  /** Whether a month of cost (`2026-11`) is kept in memory. Ask for the newest month first. */
  keepsMonth(month: string): boolean;
  /** What a month of cost came to. */
  month(month: CostMonth): void;
  /** A job, in order of creation. */
  job(job: JobRecord): void;
  /** An idempotency key that is remembered, in order of expiry. */
  idempotency(record: IdempotencyRecord): void;
  /** Ordinals up to this one were given, also to jobs that are archived. */
  lastOrdinal(ordinal: number): void;
  /** A change that was made after all of that. @throws Error when it does not fit what came before it. */
  change(change: StoredChange): void;
}

/** Everything but jobs, as a log keeps it: few records, written whole with every checkpoint. */
export interface RegistryRecords {
  workers: WorkerRecord[];
  keys: KeyRecord[];
  queue: QueueState;
  /** What holds providers back. */
  providers: ProviderHold[];
}

/** A change as logs keep it. That of an existing job has the job's ordinal, by which a log finds its place. */
export type StoredChange = Exclude<Change, JobChange> | StoredJobChange | JobsArchived;

export interface StoredJobChange extends JobChange {
  ordinal?: number | undefined;
}

/** Jobs have left for the archive, where they are durable since before this was appended. */
export interface JobsArchived {
  kind: 'archived';
  ordinals: number[];
}

/** An append failed in such a way that nothing can be answered any more: what the log holds now is not known. Final. */
export class LogFailed extends Error {}
