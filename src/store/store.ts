/*
 * The port: what the coordinator sees of the store. It owns the words of that contract (changes, queries, pages, errors)
 * and no data. What every store promises, and what a crash leaves of a commit, is said at `Store`.
 */

import type { AuditAction, AuditEntry, AuditRecord } from '../domain/audit.ts';
import type { CostAmounts, CostBucket, CostDimension } from '../domain/cost.ts';
import { CoordinatorError } from '../domain/errors.ts';
import type {
  AttemptOutcome,
  JobCreator,
  JobLife,
  JobRecord,
  JobRequest,
  StrategyName,
  Target,
} from '../domain/job.ts';
import type { KeyRecord } from '../domain/key.ts';
import type { ProviderHold } from '../domain/provider.ts';
import type { QueueState } from '../domain/queue.ts';
import type { JobState, JobStatus } from '../domain/states.ts';
import type { WorkerLife, WorkerRecord } from '../domain/worker.ts';

/**
 * What survives. Every implementation passes `test/conformance/store.ts`.
 *
 * Promises of every store:
 * 1. `commit` resolves when all its changes are durable, and then every read shows them; it takes all of them or none.
 * 2. A change whose `expectedVersion` is not the stored one is refused with `VersionConflict`, a new job whose
 *    idempotency key is remembered or on its way with `KeyTaken`, and nothing is written.
 * 3. A commit that fails leaves the store as it was; a later one may succeed. After `OutcomeUnknown` alone the next `open`
 *    shows either all of its changes or none.
 * 4. A job is handed to one claim at a time.
 * 5. What a reader holds never changes under it: records are replaced, not edited.
 */
export interface Store {
  /** Open it, alone, and bring back what was committed. @throws StoreLocked, StoreFormatTooNew, StoreUnusable, DataDamaged. */
  open(): Promise<void>;
  /** Finish what is under way and let go. A commit whose outcome is not known is not waited for. Idempotent; never rejects. */
  close(): Promise<void>;
  health(): StoreHealth;
  /** Resolves when the store can no longer be trusted (what was written may be lost): the process must end without a further ack. */
  readonly failed: Promise<Error>;

  /**
   * Make the changes durable, all or none.
   * @param changes are gone through once, with turns of the event loop in between when they are many.
   * @returns the jobs that are new, in the order of their changes.
   * @throws VersionConflict, KeyTaken, StoreUnavailable (503, retryable), OutcomeUnknown.
   */
  commit(changes: Iterable<Change>): Promise<JobRecord[]>;

  /** A job that has not been archived. */
  job(id: string): Promise<JobRecord | undefined>;
  /** Archived jobs are not among them. @param signal ends a long search: the page has what was found by then. */
  jobs(query: JobQuery, signal?: AbortSignal): Promise<JobPage>;
  /** Every job that is running: what a coordinator needs to take up its leases again. */
  runningJobs(): Promise<JobRecord[]>;
  /** Pending jobs that wait for a time. */
  delayedJobs(): Promise<JobRecord[]>;
  counts(): Promise<JobCounts>;
  /** How many pending jobs each key has, by key id; those that no key is known of are left out. Walks through all of them. */
  pendingByKey(): Promise<Map<string, number>>;

  /** How many ready jobs there are and since when, by provider and priority: for figures. */
  backlog(): Promise<BacklogGroup[]>;

  /**
   * Move jobs that have ended out of the hot set: those that ended before a time, and the oldest of those that are more
   * than are to stay. From then on they do not change, no list and no count has them, and `archivedJob` gives them. A
   * job that is offered is reserved until the move has ended; its idempotency key is remembered as before. Costs stay.
   * @param mayLeave whether a job that is due may go now.
   * @returns how many have left, at most `rule.limit`. @throws StoreUnavailable; none of them has left then.
   */
  archive(rule: ArchiveRule, mayLeave: (job: JobRecord) => boolean): Promise<number>;
  /** A job that was archived. @throws StoreUnavailable when the archive cannot be read. */
  archivedJob(id: string): Promise<JobRecord | undefined>;
  /**
   * Every job that the filter takes, in batches: newest first, and then, if they are wanted, the archived ones. Each job
   * is given once, as it is when its turn comes; one that is created meanwhile is not. Whoever reads slowly costs nobody.
   * @throws StoreUnavailable when the archive cannot be read.
   */
  scan(filter: JobFilter, isArchivedToo: boolean): AsyncGenerator<JobRecord[]>;

  /** The lanes that have ready jobs, with what stands at their head. */
  lanes(): Promise<LaneSummary[]>;
  /**
   * Offer ready jobs of the wanted lanes in claim order (smallest `enqueuedAt − headStart(priority)`, then order of
   * creation) until `decide` has no use for any lane or `limit` is reached, and commit what it made of them in one go.
   * A job that is offered is reserved until the commit has ended; when that fails all of them stand where they stood.
   * @returns the changes that were committed, possibly none.
   * @throws StoreUnavailable when the changes could not be made durable; nothing is claimed then.
   */
  claim(demand: Demand, decide: Decide): Promise<JobChange[]>;
  /** Ready jobs of the same lane that go first, plus one; null when the job is not ready. */
  position(id: string): Promise<number | null>;

  /**
   * What the ledger came to between two times, in quarter-hours that begin at or after `from` and before `to` (epoch
   * ms), in no order, those without entries left out. It answers for this month and the two before it (UTC); what is
   * older is kept for ever, and no report asks for it.
   */
  costBuckets(from: number, to: number, dimension: CostDimension): Promise<CostBucket[]>;

  workers(): Promise<WorkerRecord[]>;
  keys(): Promise<KeyRecord[]>;
  /** Whether the queue is paused, as it was committed last; `untouchedQueue` before the first time. */
  queue(): Promise<QueueState>;
  /** What holds providers back, one a provider. */
  providers(): Promise<ProviderHold[]>;
  /** Entries of the audit log, newest first. @throws StoreUnavailable when they cannot be read. */
  audit(query: AuditQuery): Promise<AuditPage>;
  /** The job that an idempotency key stands for, while it is remembered. */
  idempotent(key: string): Promise<IdempotencyRecord | undefined>;
  /** How many idempotency keys of an owner are remembered, see `partsOfIdempotencyKey`. */
  idempotencyKeys(owner: string): Promise<number>;
}

/** Which jobs leave for the archive. */
export interface ArchiveRule {
  /** Epoch ms: jobs that ended before it. */
  endedBefore: number;
  /** How many jobs that have ended stay at most, the last ones. */
  keep: number;
  /**
   * Epoch ms until which a job stays although it is due, by what is in its record. It is not asked about one job again
   * before that, unless the job changes: those that stay cost a call nothing. Unless given, none stays.
   */
  staysUntil?: ((job: JobRecord) => number) | undefined;
  /** Most jobs to move: bounds the work of one call. */
  limit: number;
}

/** Everything that can change. */
export type Change =
  | JobChange
  | WorkerChange
  | WorkerRemoval
  | KeyChange
  | KeyRemoval
  | AuditChange
  | QueueChange
  | ProviderChange
  | ProviderRemoval;

export interface JobChange {
  kind: 'job';
  id: string;
  /** 0 for a job that is new. The stored version becomes this plus one. */
  expectedVersion: number;
  /** With a new job only. */
  created?:
    | {
        at: number;
        request: JobRequest;
        /** Absent when no key is known of. */
        by?: JobCreator | undefined;
        idempotency?: IdempotencyRecord | undefined;
      }
    | undefined;
  /** Version of the job machine that made the snapshot. */
  machineVersion: number;
  state: JobState;
  life: JobLife;
  /** By how much this change makes the sums of cost, jobs and attempts differ. */
  ledger?: LedgerEntry[] | undefined;
}

export interface WorkerChange {
  kind: 'worker';
  life: WorkerLife;
}

export interface WorkerRemoval {
  kind: 'workerRemoved';
  id: string;
}

export interface KeyChange {
  kind: 'key';
  key: KeyRecord;
}

export interface KeyRemoval {
  kind: 'keyRemoved';
  id: string;
}

/** Adds an entry to the audit log; nothing changes or removes one before its time is over. */
export interface AuditChange {
  kind: 'audit';
  record: AuditRecord;
}

/** Pauses or resumes the queue. */
export interface QueueChange {
  kind: 'queue';
  queue: QueueState;
}

export interface ProviderChange {
  kind: 'provider';
  hold: ProviderHold;
}

/** Nothing holds the provider back any more. */
export interface ProviderRemoval {
  kind: 'providerRemoved';
  name: string;
}

export interface IdempotencyRecord {
  /** As `ownIdempotencyKey` makes it; in records of older versions what the client sent, without an owner. */
  key: string;
  /** The job that was made with it; of a batch the first, see `batchId`. */
  jobId: string;
  /** SHA-256 of the request, or of those of a batch, hex. */
  bodyHash: string;
  /** Epoch ms after which it is forgotten. */
  expiresAt: number;
}

/** One line of the ledger: a difference, so that the sum of all lines is what the attempts and jobs come to. */
export interface LedgerEntry {
  /** Epoch ms: the quarter-hour it counts in. */
  at: number;
  provider: string;
  model: string | null;
  workerId: string;
  /** Of the attempt: what it was counted as for its worker. */
  outcome: AttemptOutcome | null;
  tier: string | null;
  tags: string[];
  /** Negative for what is taken back. */
  amounts: CostAmounts;
}

export interface StoreHealth {
  /** `failing`: writes are refused now, or wait to be known; reads work; it recovers by itself. `failed`: final. */
  status: 'ok' | 'failing' | 'failed' | 'closed';
  /** One sentence when it is not ok. */
  detail: string | null;
  /** How much the next start has to go through again, bytes. */
  replayBytes: number;
}

/** Filters are joined by and; null or empty means no filter. */
export interface JobFilter {
  statuses: JobStatus[];
  states: JobState[];
  /** What was asked for, not what ran. */
  provider: string | null;
  model: string | null;
  /** Id of the worker of the last attempt. */
  worker: string | null;
  /** Id of the key that made it. */
  createdBy: string | null;
  /** All of them. */
  tags: string[];
  priority: string | null;
  tier: string | null;
  /** Names and values that the job's metadata has, all of them. */
  metadata: (readonly [name: string, value: string])[];
  /** Epoch ms, inclusive. */
  createdAfter: number | null;
  /** Epoch ms, exclusive. */
  createdBefore: number | null;
  /** Text in prompt or id, without regard to case. */
  text: string | null;
  /** Id of a job that lists show: those created after it are left out, so that pages keep their places. */
  newest: string | null;
}

export interface JobQuery extends JobFilter {
  /** 1..1000. */
  limit: number;
  offset: number;
}

export interface JobPage {
  /** Newest first. */
  jobs: JobRecord[];
  total: number;
  /** Whether counting stopped at 10,000. Never for no filter but status, state and provider. */
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

/** Ready jobs that share their candidates and the way to pick one of them. */
export interface LaneSummary {
  key: string;
  strategy: StrategyName;
  candidates: [Target, ...Target[]];
  ready: number;
  /** `enqueuedAt` of the job at its head, epoch ms. */
  headEnqueuedAt: number;
}

export interface Demand {
  /** Keys of the lanes that are wanted. */
  lanes: readonly string[];
  /** Most jobs to claim. */
  limit: number;
}

/**
 * What to make of a job that is offered.
 * - a change: it is claimed.
 * - `skip`: not this job, now; the next of the lane is offered.
 * - `close`: no more of this lane in this claim.
 */
export type Decide = (job: JobRecord, lane: string) => JobChange | 'skip' | 'close';

/** The stored version is another than the change expects: somebody else was faster. Read the job and decide again. */
export class VersionConflict extends Error {
  constructor(id: string, expected: number, actual: number) {
    super(`job ${id} is at version ${actual}, the change expects ${expected}`);
    this.name = 'VersionConflict';
  }
}

/**
 * The idempotency key stands for another job, which is remembered or whose commit is under way. Answer with that job: look
 * for the key again.
 */
export class KeyTaken extends Error {
  /** The job that it stands for. */
  readonly jobId: string;
  constructor(key: string, jobId: string) {
    super(`the idempotency key ${key} stands for job ${jobId}`);
    this.name = 'KeyTaken';
    this.jobId = jobId;
  }
}

/**
 * The store was closed, or has failed, before it was known whether a commit is durable: the next start may show it, whole, or
 * not. The same request is not to be sent again unseen.
 */
export class OutcomeUnknown extends CoordinatorError {
  /** @param what in a sentence. */
  constructor(what: string, cause?: unknown) {
    super('store_unavailable', what, {}, { cause });
    this.name = 'OutcomeUnknown';
  }
}

/** The place of the data cannot be used: it cannot be reached, read or written. */
export class StoreUnusable extends Error {
  /** @param what in a sentence, with what to do. */
  constructor(what: string, cause: unknown) {
    super(what, { cause });
    this.name = 'StoreUnusable';
  }
}

/** Another process has the store open. */
export class StoreLocked extends Error {}

/** The data was written by a newer version of this program. */
export class StoreFormatTooNew extends Error {}
