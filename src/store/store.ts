/* The port: the store as the coordinator sees it. It owns the vocabulary of that contract (changes, queries, pages,
   errors) and no data. `Store` documents what every store promises, and what a crash leaves of a commit. */

import type { Annotation } from '../domain/annotation.ts';
import type { AuditAction, AuditEntry } from '../domain/audit.ts';
import type { CostBucket, CostDimension } from '../domain/cost.ts';
import type { FileRecord } from '../domain/file.ts';
import type { JobRecord, StrategyName, Target } from '../domain/job.ts';
import type { JobFilter } from '../domain/jobFilter.ts';
import type { KeyRecord } from '../domain/key.ts';
import type { ProviderHold } from '../domain/provider.ts';
import type { QueueState } from '../domain/queue.ts';
import type { RunRecord } from '../domain/run.ts';
import type { JobState, JobStatus } from '../domain/states.ts';
import type { Delivery, WebhookRecord } from '../domain/webhook.ts';
import type { StoreStatus } from '../domain/wire/health.ts';
import type { WorkerRecord } from '../domain/worker.ts';
import type { Change, IdempotencyRecord, JobChange } from './change.ts';

export type { JobFilter } from '../domain/jobFilter.ts';
export type * from './change.ts';

/**
 * Persistence. Every implementation passes `test/conformance/store.ts`.
 *
 * Promises of every store:
 * 1. `commit` resolves when all its changes are durable, and then every read shows them; it takes all of them or none.
 * 2. A change whose `expectedVersion` is not the stored one is refused with `VersionConflict`, a new job whose
 * idempotency key is remembered or being committed with `KeyTaken`, and nothing is written.
 * 3. A failed commit leaves the store unchanged; a later one may succeed. Only after `OutcomeUnknown` the next `open`
 * shows either all of its changes or none.
 * 4. A job is given to one claim at a time.
 * 5. Records that a reader holds never change: they are replaced, not edited.
 */
export interface Store {
  /**
   * Open it exclusively, and restore what was committed. @throws StoreLocked, StoreFormatTooNew, StoreUnusable,
   * DataDamaged.
   */
  open(): Promise<void>;
  /**
   * Finish running work and release the data. Does not wait for a commit of unknown outcome. Idempotent; never rejects.
   */
  close(): Promise<void>;
  health(): StoreHealth;
  /**
   * Resolves when the store can no longer be trusted (writes may be lost): the process must end without another ack.
   */
  readonly failed: Promise<Error>;

  /**
   * Make the changes durable, all or none.
   * @param changes are iterated once, with turns of the event loop in between when they are many.
   * @returns the new jobs, in the order of their changes.
   * @throws VersionConflict, KeyTaken, StoreUnavailable (503, retryable), OutcomeUnknown.
   */
  commit(changes: Iterable<Change>): Promise<JobRecord[]>;

  /** A job that is not archived. */
  job(id: string): Promise<JobRecord | undefined>;
  /** Without archived jobs. @param signal ends a long search: the page has what was found by then. */
  jobs(query: JobQuery, signal?: AbortSignal): Promise<JobPage>;
  /** Every running job: a coordinator needs them to restore its leases. */
  runningJobs(): Promise<JobRecord[]>;
  /** Pending jobs that wait for a time. */
  delayedJobs(): Promise<JobRecord[]>;
  /** Jobs of a run that are not archived, in the order in which they were created. */
  jobsOfRun(runId: string, page: RunPage): Promise<JobRecord[]>;
  /** How many jobs of a run are not archived. */
  countOfRun(runId: string): Promise<number>;
  counts(): Promise<JobCounts>;
  /** How many pending jobs each key has, by key id; without jobs of unknown keys. Walks through all of them. */
  pendingByKey(): Promise<Map<string, number>>;

  /** How many ready jobs there are and since when, by provider and priority: for figures. */
  backlog(): Promise<BacklogGroup[]>;

  /**
   * Move ended jobs out of the hot set: those that ended before a time, and the oldest of those beyond a number. From
   * then on they do not change, no list and no count includes them, and `archivedJob` returns them. An offered job is
   * reserved until the move has ended; its idempotency key is remembered as before. Costs stay.
   * @param mayLeave whether a job that is due may leave now.
   * @returns how many have left, at most `rule.limit`. @throws StoreUnavailable; none of them has left then.
   */
  archive(rule: ArchiveRule, mayLeave: (job: JobRecord) => boolean): Promise<number>;
  /** An archived job. @throws StoreUnavailable when the archive cannot be read. */
  archivedJob(id: string): Promise<JobRecord | undefined>;
  /**
   * Every job that the filter includes, in batches: newest first, then, if requested, the archived ones. Each job is
   * returned once, in its state at that time; jobs created meanwhile are not. A slow reader does not slow others.
   * @throws StoreUnavailable when the archive cannot be read.
   */
  scan(filter: JobFilter, isArchivedToo: boolean): AsyncGenerator<JobRecord[]>;

  /** The lanes that have ready jobs, with the head of each. */
  lanes(): Promise<LaneSummary[]>;
  /**
   * Offer ready jobs of the wanted lanes in claim order (smallest `enqueuedAt − headStart(priority)`, then order of
   * creation) until `decide` has closed all lanes or `limit` is reached, and commit its changes together. An offered
   * job is reserved until the commit has ended; if that fails, all of them keep their place.
   * @returns the committed changes, possibly none.
   * @throws StoreUnavailable when the changes could not be persisted; nothing is claimed then.
   */
  claim(demand: Demand, decide: Decide): Promise<JobChange[]>;
  /** Place of a ready job in its lane, from 1; null when the job is not ready. */
  position(id: string): Promise<number | null>;

  /**
   * The totals of the ledger between two times, in quarter-hours that start at or after `from` and before `to` (epoch
   * ms), in no order, without empty ones. It covers this month and the two before it (UTC); older ones are kept for
   * ever, but no report uses them.
   */
  costBuckets(from: number, to: number, dimension: CostDimension): Promise<CostBucket[]>;

  workers(): Promise<WorkerRecord[]>;
  keys(): Promise<KeyRecord[]>;
  /** The last committed state of the queue; `untouchedQueue` before the first change. */
  queue(): Promise<QueueState>;
  /** The holds on providers, one a provider. */
  providers(): Promise<ProviderHold[]>;
  /** The runs, in order of creation, with the totals of their jobs, archived ones included. */
  runs(): Promise<RunRecord[]>;
  /** What is known of every file, in order of creation; its bytes are elsewhere, see `blobs.ts`. */
  files(): Promise<FileRecord[]>;
  /** What is noted about the answer of a job; undefined for most. */
  annotation(jobId: string): Promise<Annotation | undefined>;
  /** The webhook endpoints, and what is or was sent to them, each in order of creation. */
  webhooks(): Promise<{ webhooks: WebhookRecord[]; deliveries: Delivery[] }>;
  /** Entries of the audit log, newest first. @throws StoreUnavailable when they cannot be read. */
  audit(query: AuditQuery): Promise<AuditPage>;
  /** The job of an idempotency key, while it is remembered. */
  idempotent(key: string): Promise<IdempotencyRecord | undefined>;
  /** How many idempotency keys of an owner are remembered, see `partsOfIdempotencyKey`. */
  idempotencyKeys(owner: string): Promise<number>;
}

/** Which jobs leave for the archive. */
export interface ArchiveRule {
  /** Epoch ms: jobs that ended before it. */
  endedBefore: number;
  /** How many ended jobs stay at most, the newest. */
  keep: number;
  /**
   * Epoch ms until which a due job stays, from its record. It is not called again for a job before that time, unless
   * the job changes: jobs that stay cost a call nothing. By default none stays.
   */
  staysUntil?: ((job: JobRecord) => number) | undefined;
  /** Most jobs to move: bounds the work of one call. */
  limit: number;
}

export interface StoreHealth {
  /**
   * `failing`: writes are refused now, or wait for an unknown outcome; reads work; it recovers by itself. `failed`:
   * final.
   */
  status: StoreStatus;
  /** One sentence when it is not ok. */
  detail: string | null;
  /** How much the next start has to replay, bytes. */
  replayBytes: number;
  /** Bytes of memory that hold jobs outside of the heap; in the heap they will take as many. */
  unreadBytes: number;
}

export interface JobQuery extends JobFilter {
  /** 1..1000. */
  limit: number;
  offset: number;
}

export interface RunPage {
  /** null for all. */
  state: JobState | null;
  /** The ordinal of the last job of the page before; 0 for the first page. */
  after: number;
  limit: number;
}

export interface JobPage {
  /** Newest first. */
  jobs: JobRecord[];
  total: number;
  /** Whether counting stopped at 10,000. Never without filters other than status, state and provider. */
  totalCapped: boolean;
}

/** Filters are joined by and; null or empty means no filter. */
export interface AuditQuery {
  /** Epoch ms, inclusive. */
  since: number | null;
  /** Epoch ms, exclusive. */
  until: number | null;
  /** Key id or name. */
  actor: string | null;
  actions: AuditAction[];
  /** 1..1000. */
  limit: number;
  offset: number;
}

export interface AuditPage {
  /** Newest first. */
  entries: AuditEntry[];
  total: number;
  /** Whether counting stopped at 10,000, or at the end of the page when that is later. */
  totalCapped: boolean;
}

export interface JobCounts {
  total: number;
  byStatus: Record<JobStatus, number>;
  byState: Record<JobState, number>;
}

/** Ready jobs of one priority whose first candidate is one provider. */
export interface BacklogGroup {
  provider: string;
  priority: string;
  ready: number;
  /** Epoch ms. */
  oldestEnqueuedAt: number;
}

/** Ready jobs with the same candidates and strategy. */
export interface LaneSummary {
  key: string;
  strategy: StrategyName;
  candidates: [Target, ...Target[]];
  ready: number;
  /** `enqueuedAt` of the job at its head, epoch ms. */
  headEnqueuedAt: number;
  /** Id of the run that all of them belong to; null outside of runs. */
  run: string | null;
}

export interface Demand {
  /** Keys of the lanes that are wanted. */
  lanes: readonly string[];
  /** Most jobs to claim. */
  limit: number;
}

/**
 * What to do with an offered job.
 * - a change: it is claimed.
 * - `skip`: not this job, now; the next of the lane is offered.
 * - `close`: no more of this lane in this claim.
 */
export type Decide = (job: JobRecord, lane: string) => JobChange | 'skip' | 'close';
