/* The port between memory and its storage: what a log promises to `MemoryStore`, and what it gets from it. The store
   answers every read from memory; a log makes groups of changes durable, in order, returns them at the next start, and
   keeps what memory drops (archived jobs, old entries of the audit log). `json/` holds the log of one folder.
   
   After a crash `open` must return every group that was acknowledged as durable, in order, and each other group whole
   or not at all, none of them without the ones before it. */

import type { Annotation } from '../domain/annotation.ts';
import type { AuditEntry } from '../domain/audit.ts';
import type { FileRecord } from '../domain/file.ts';
import type { JobHead, JobLife, JobRecord } from '../domain/job.ts';
import type { KeyRecord } from '../domain/key.ts';
import type { ProviderHold } from '../domain/provider.ts';
import type { QueueState } from '../domain/queue.ts';
import type { RunRecord } from '../domain/run.ts';
import type { Delivery, WebhookRecord } from '../domain/webhook.ts';
import type { WorkerRecord } from '../domain/worker.ts';
import type { CostMonth } from './changes/costMonth.ts';
import type { LifeDifference } from './changes/lifeDifference.ts';
import type { Change, IdempotencyRecord, JobChange } from './store.ts';

/** Stores changes. `MemoryStore` opens it once, and closes it once if opening was begun. */
export interface DurableLog {
  /**
   * Take exclusive hold of the data, and pass everything stored to `host.load`. When it throws, it has released
   * everything.
   * @throws StoreLocked, StoreFormatTooNew, StoreUnusable, DataDamaged.
   */
  open(host: LogHost): Promise<void>;

  /**
   * Make a group of records durable, all or none, after all groups before it. One call at a time.
   *
   * It has three outcomes:
   * - *done*: it resolves to null. The group is durable.
   * - *refused*: it rejects. Nothing of the group is kept, now or after a crash, and a later call may succeed; after
   * `LogFailed` none can, and the log must not be trusted any more.
   * - *pending until known*: it resolves to a `PendingAppend`, because the log cannot tell which of the two it is: the
   * connection to a database was lost after the commit was sent. No client is answered and no other group is appended
   * until `known` settles.
   */
  append(group: readonly LogRecord[]): Promise<PendingAppend | null>;

  /** Called after each group that is durable and in memory, between appends. Never rejects. */
  afterGroup(): Promise<void>;

  /** Run a task while no other archiving task runs. @returns what the task returned. @throws what it threw. */
  alone<T>(task: () => Promise<T>): Promise<T>;
  /**
   * Store jobs that are about to leave memory; they are durable when it resolves. The record that removes them from
   * memory is appended afterwards, and only when that is durable does the archive count. Call it only within `alone`.
   * @throws StoreUnavailable when the archive cannot be written; it is unchanged then.
   */
  archive(jobs: readonly JobRecord[]): Promise<Staged>;
  /** An archived job. @throws StoreUnavailable when the archive cannot be read. */
  find(id: string): Promise<JobRecord | undefined>;
  /**
   * All archived jobs in batches, the last ended first, as nearly as the log keeps that order. It may return jobs that
   * memory still has.
   * @param createdAfter epoch ms: older jobs may be omitted; null for all. @throws StoreUnavailable.
   */
  archived(createdAfter: number | null): AsyncIterable<JobRecord[]>;

  /**
   * Entries of the audit log that memory has dropped, in batches, newest first: those of the moment of the call.
   * @param since epoch ms: older entries may be omitted. @param until epoch ms: later ones may be omitted; null for
   * none.
   * @throws Error when they cannot be read.
   */
  audit(since: number, until: number | null): AsyncIterable<AuditEntry[]>;

  /** May be called at any time after `open` has resolved. */
  health(): LogHealth;
  /** Finish running work and release the data. Never rejects: what was acknowledged is already durable. */
  close(): Promise<void>;
}

/** One commit: stored whole or not at all. It may have no changes, to test whether appends succeed. */
export interface LogRecord {
  readonly changes: readonly StoredChange[];
  /** The JSON of each change at the time of the call. A log may write this or the changes. */
  readonly texts: readonly string[];
}

/** An append of unknown outcome. */
export interface PendingAppend {
  /** Why it is unknown, in one sentence for operators. */
  readonly detail: string;
  /** Resolves when the group is durable. Rejects as `append` does when nothing of it is kept. */
  readonly known: Promise<void>;
}

/**
 * Jobs in an archive whose commit is not made yet. One of the two is called, neither when its outcome stays unknown.
 */
export interface Staged {
  /** The commit is durable. @returns a promise for housekeeping that must end before the next `archive`. */
  keep(): Promise<void>;
  /** The commit was refused: these jobs are not archived. */
  drop(): void;
}

export interface LogHealth {
  /** What is wrong although appends succeed, in one sentence; null when nothing is. */
  detail: string | null;
  /** Bytes of the log that the next start replays; 0 for a log without replay. */
  bytes: number;
}

/** What a log may call in its `MemoryStore`. */
export interface LogHost {
  /** Receives the stored data. Only during `open`. */
  readonly load: Load;
  /** Whether memory has the job: then it does not count as archived, whatever the archive says. */
  isHot(id: string): boolean;
  /** Number of the last entry of the audit log, counted from the first ever. */
  readonly auditSeq: number;
  /** `audit` returns the entries up to this number from now on, so memory drops them. */
  auditKept(seq: number): void;
  /** Run a task between two groups, while no append runs. @throws StoreUnavailable when the store is closed. */
  between<T>(task: () => Promise<T>): Promise<T>;
  /** The log can no longer be trusted: nothing is acknowledged from now on, and the process ends. */
  fail(error: Error): void;
}

/**
 * Receives the stored data of a log, in this order: the registry, the rest of a checkpoint, then changes. A log without
 * checkpoints passes only changes. It owns what it receives.
 */
export interface Load {
  /** Everything except jobs; `change` continues from there. */
  registry(records: Partial<RegistryRecords>): void;
  /** Whether a month of cost (`2026-11`) is kept in memory. Ask for the newest month first. */
  keepsMonth(month: string): boolean;
  /** The totals of a month of cost. */
  month(month: CostMonth): void;
  /** A job, in order of creation. */
  job(job: JobRecord): void;
  /** A job that is parsed when it is needed, in order of creation. @param index in `jobs`, the next one. */
  unread(jobs: UnreadJobs, index: number): void;
  /** A remembered idempotency key, in order of expiry. */
  idempotency(record: IdempotencyRecord): void;
  /** Ordinals up to this one are used, also those of archived jobs. */
  lastOrdinal(ordinal: number): void;
  /** A later change. @throws Error when it does not fit what came before it. */
  change(change: StoredChange): void;
}

/**
 * Some ready jobs whose records a log has in memory as it stored them. What was stored must be verified before `open`
 * resolves, so that reading them can show no damage by then.
 */
export interface UnreadJobs {
  /** Of each job, ascending. They grow while jobs are loaded. */
  readonly ordinals: readonly number[];
  /** Of each job, in the same order. */
  readonly ids: readonly string[];
  /** How much memory they take, outside of the heap. */
  readonly bytes: number;
  /** What the indexes need of a job. @param index in `ordinals`. */
  head(index: number): JobHead;
  /** The job, parsed. @param index in `ordinals`. @throws DataDamaged when the log stored what is no job. */
  read(index: number): JobRecord;
  /** Free the memory; none of them is read any more. */
  release(): void;
}

/** Everything but jobs, as a log keeps it: few records, written whole with every checkpoint. */
export interface RegistryRecords {
  workers: WorkerRecord[];
  keys: KeyRecord[];
  queue: QueueState;
  /** Holds on providers. */
  providers: ProviderHold[];
  runs: RunRecord[];
  files: FileRecord[];
  /** In order of their last change. */
  annotations: Annotation[];
  webhooks: WebhookRecord[];
  /** Those that wait, and the last ones that ended. */
  deliveries: Delivery[];
}

/** A change as stored by logs. One of an existing job has its ordinal, by which a log finds its place. */
export type StoredChange = Exclude<Change, JobChange> | StoredJobChange | JobsArchived;

/** It has either the whole life or what differs from the one before. */
export interface StoredJobChange extends Omit<JobChange, 'life' | 'lifeBefore'> {
  ordinal?: number | undefined;
  life?: JobLife | undefined;
  difference?: LifeDifference | undefined;
}

/** Jobs have left for the archive, where they were durable before this was appended. */
export interface JobsArchived {
  kind: 'archived';
  ordinals: number[];
}

/** An append failed so that nothing can be acknowledged any more: the contents of the log are unknown. Final. */
export class LogFailed extends Error {}
