import type { LeaseRef } from '../domain/job.ts';

/**
 * One slot taken on one worker. `assigning`: its commit is under way; `running`: the worker has it; `ending`: the job
 * has ended without the worker's word (cancelled, timed out) and the slot stays taken until that word, the worker's
 * disconnect, or two heartbeat intervals.
 */
export interface Lease extends LeaseRef {
  readonly workerId: string;
  readonly provider: string;
  /** Monotonic ms: given, and the last heartbeat that listed it. */
  readonly assignedAt: number;
  /** Monotonic ms from which the worker has its time to list it: the assignment, or the end of a stall of our own. */
  graceFrom: number;
  beatAt: number;
  /** Epoch ms of the last heartbeat that listed it, for `heartbeat_at`. */
  beatWall: number | null;
  /** Monotonic ms when the job's timeout passes; null for none. */
  readonly timeoutAt: number | null;
  readonly timeoutMs: number;
  phase: 'assigning' | 'running' | 'ending';
}

const keyOf = (jobId: string, lease: number): string => `${jobId}#${lease}`;

/**
 * Every lease that takes a slot: who holds how many, and how many a provider has. A slot is exactly an entry of this
 * table, so none can leak: whatever ends a lease removes the entry.
 */
export class Leases {
  readonly #all = new Map<string, Lease>();
  /** The lease a job runs on; not those that are ending. */
  readonly #byJob = new Map<string, Lease>();
  readonly #byWorker = new Map<string, Set<Lease>>();
  readonly #byProvider = new Map<string, number>();

  get size(): number {
    return this.#all.size;
  }

  add(lease: Lease): void {
    this.#all.set(keyOf(lease.jobId, lease.lease), lease);
    this.#byJob.set(lease.jobId, lease);
    const held = this.#byWorker.get(lease.workerId) ?? new Set();
    this.#byWorker.set(lease.workerId, held.add(lease));
    this.#byProvider.set(lease.provider, this.ofProvider(lease.provider) + 1);
  }

  remove(lease: Lease): void {
    if (!this.#all.delete(keyOf(lease.jobId, lease.lease))) return;
    if (this.#byJob.get(lease.jobId) === lease) this.#byJob.delete(lease.jobId);
    const held = this.#byWorker.get(lease.workerId);
    held?.delete(lease);
    if (held?.size === 0) this.#byWorker.delete(lease.workerId);
    const count = this.ofProvider(lease.provider) - 1;
    if (count > 0) this.#byProvider.set(lease.provider, count);
    else this.#byProvider.delete(lease.provider);
  }

  /** The job has ended, the worker has not said so yet. */
  end(lease: Lease): void {
    lease.phase = 'ending';
    if (this.#byJob.get(lease.jobId) === lease) this.#byJob.delete(lease.jobId);
  }

  get(ref: LeaseRef): Lease | undefined {
    return this.#all.get(keyOf(ref.jobId, ref.lease));
  }

  /** The lease that a running job is on. */
  ofJob(jobId: string): Lease | undefined {
    return this.#byJob.get(jobId);
  }

  ofWorker(workerId: string): readonly Lease[] {
    return [...(this.#byWorker.get(workerId) ?? [])];
  }

  /** Slots taken on a worker. */
  held(workerId: string): number {
    return this.#byWorker.get(workerId)?.size ?? 0;
  }

  /** Requests under way at a provider, over all workers. */
  ofProvider(provider: string): number {
    return this.#byProvider.get(provider) ?? 0;
  }

  all(): IterableIterator<Lease> {
    return this.#all.values();
  }
}
