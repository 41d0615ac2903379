/* Everything the store knows, with its indexes, and the effect of a change on it. Filled once from the log while it
   opens, then changed only by what is durable, in the order of the log. It is lost in a crash; the log fills it again. */

import { partsOfIdempotencyKey } from '../../domain/idempotency.ts';
import type { JobHead, JobRecord } from '../../domain/job.ts';
import { applyToRegistry, createRegistry, leavingJob, nextJob, type Registry } from '../changes/apply.ts';
import type { CostMonth } from '../changes/costMonth.ts';
import type { Load, RegistryRecords, StoredChange, UnreadJobs } from '../durableLog.ts';
import type { IdempotencyRecord } from '../store.ts';
import { AuditLog } from './auditLog.ts';
import { CostBook } from './costBook.ts';
import { BacklogIndex } from './index/backlogIndex.ts';
import { JobIndex } from './index/jobIndex.ts';
import { LaneIndex } from './index/laneIndex.ts';
import type { Scan } from './search/jobSearch.ts';
import { Sharing } from './sharing.ts';

/** What `Memory` calls outside. */
export interface MemoryOptions {
  /** Milliseconds that a priority is ahead of its time of arrival. */
  headStart: (priority: string) => number;
  /** Epoch ms. */
  now: () => number;
  /** A job that is read shows damage. */
  onDamaged: (error: unknown) => void;
}

/** Everything the store knows, as of the last durable commit, with its indexes. Never ahead of the log. */
export class Memory implements Load {
  readonly jobs: JobIndex;
  readonly lanes: LaneIndex;
  readonly backlog = new BacklogIndex();
  /** Running scans. */
  readonly scans = new Set<Scan>();
  /** Applied to everything from JSON.parse before it is stored. */
  readonly sharing = new Sharing();
  readonly #now: () => number;
  readonly costs: CostBook;
  readonly audit = new AuditLog();
  #registry: Registry;
  /** By key, in order of arrival, which with one time to live is also the order of expiry. */
  readonly #idempotency = new Map<string, IdempotencyRecord>();
  /** How many keys each owner has. */
  readonly #keysOfOwner = new Map<string, number>();
  #isIndexed = false;

  constructor(options: MemoryOptions) {
    const { onDamaged } = options;
    this.jobs = new JobIndex({ onRead: (job) => this.#share(job), onDamaged });
    this.lanes = new LaneIndex(options.headStart);
    this.#now = options.now;
    this.costs = new CostBook(options.now);
    this.#registry = createRegistry(this);
  }

  /** Everything except jobs. */
  get records(): Readonly<Registry> {
    return this.#registry;
  }

  registry(records: Partial<RegistryRecords>): void {
    this.#registry = createRegistry(this, records);
  }

  keepsMonth(month: string): boolean {
    return this.costs.keeps(month);
  }

  month(month: CostMonth): void {
    this.costs.load(month);
  }

  job(job: JobRecord): void {
    this.#share(job);
    this.jobs.put(job);
  }

  unread(jobs: UnreadJobs, index: number): void {
    this.jobs.putUnread(jobs, index);
  }

  idempotency(record: IdempotencyRecord): void {
    this.#remember(record);
  }

  lastOrdinal(ordinal: number): void {
    this.jobs.skipTo(ordinal);
  }

  change(change: StoredChange): void {
    this.sharing.change(change);
    this.apply(change);
  }

  /** Build the indexes: after loading (which is faster without) and before the first commit. */
  buildIndexes(): void {
    this.#isIndexed = true;
    this.jobs.buildSets((job) => {
      if (job.state === 'pending.ready') this.#enterQueue(job);
    });
  }

  /**
   * Apply a durable change.
   * @returns the job when it is a new one.
   * @throws Error when it does not fit, see `nextJob` and `leavingJob`.
   */
  apply(change: StoredChange): JobRecord | null {
    applyToRegistry(this.#registry, change);
    if (change.kind === 'archived') for (const ordinal of change.ordinals) this.#remove(ordinal);
    if (change.kind !== 'job') return null;
    const previous = this.jobs.get(change.id);
    const job = nextJob(previous, change, previous?.ordinal ?? this.jobs.lastOrdinal + 1);
    if (this.#isIndexed && previous?.state === 'pending.ready') {
      this.lanes.remove(previous);
      this.backlog.remove(previous);
    }
    this.jobs.put(job);
    if (this.#isIndexed && job.state === 'pending.ready') this.#enterQueue(job);
    if (change.created?.idempotency !== undefined) this.#remember(change.created.idempotency);
    return previous === undefined ? job : null;
  }

  /** Remove a job from its lane while it has a running commit: it may not be offered twice. */
  hold(job: JobRecord): void {
    if (job.state === 'pending.ready') this.lanes.remove(job);
  }

  /** Return a job to its lane: its commit has failed. */
  unhold(id: string): void {
    const job = this.jobs.get(id);
    if (job?.state === 'pending.ready') this.lanes.add(job);
  }

  /** The job of an idempotency key, until it expires. */
  idempotent(key: string): IdempotencyRecord | undefined {
    const record = this.#idempotency.get(key);
    return record !== undefined && record.expiresAt > this.#now() ? record : undefined;
  }

  /** How many keys of an owner are remembered. */
  idempotencyKeys(owner: string): number {
    this.#forgetExpiredKeys();
    return this.#keysOfOwner.get(owner) ?? 0;
  }

  #share(job: JobRecord): void {
    this.sharing.request(job.request);
    this.sharing.life(job.life);
    if (job.createdBy !== null) job.createdBy = this.sharing.creator(job.createdBy);
  }

  #enterQueue(job: JobHead): void {
    this.lanes.add(job);
    this.backlog.add(job);
  }

  #remove(ordinal: number): void {
    this.jobs.remove(leavingJob(this.jobs.at(ordinal), ordinal));
    for (const scan of this.scans) if (ordinal >= scan.below) scan.archived.add(ordinal);
  }

  #remember(record: IdempotencyRecord): void {
    this.#forgetExpiredKeys();
    if (record.expiresAt <= this.#now()) return;
    // Deleted first, so that a reused key moves to the end.
    this.#forgetKey(record.key);
    this.#idempotency.set(record.key, record);
    const { owner } = partsOfIdempotencyKey(record.key);
    this.#keysOfOwner.set(owner, (this.#keysOfOwner.get(owner) ?? 0) + 1);
  }

  #forgetExpiredKeys(): void {
    const now = this.#now();
    for (const oldest of this.#idempotency.values()) {
      if (oldest.expiresAt > now) break;
      this.#forgetKey(oldest.key);
    }
  }

  #forgetKey(key: string): void {
    if (!this.#idempotency.delete(key)) return;
    const { owner } = partsOfIdempotencyKey(key);
    const count = (this.#keysOfOwner.get(owner) ?? 0) - 1;
    if (count > 0) this.#keysOfOwner.set(owner, count);
    else this.#keysOfOwner.delete(owner);
  }
}
