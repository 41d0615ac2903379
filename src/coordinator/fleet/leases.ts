import type { LeaseRef } from '../../domain/job.ts';

/**
 * One slot taken on one worker. `assigning`: its commit is under way; `running`: the worker has it; `ending`: the job
 * has ended without the worker's word (cancelled, timed out) and the slot stays taken until that word, the worker's
 * disconnect, or two heartbeat intervals.
 */
export interface Lease extends LeaseRef {
  readonly workerId: string;
  readonly provider: string;
  readonly model: string | null;
  /** Monotonic ms: given, and the last heartbeat that listed it. */
  readonly assignedAt: number;
  /** Monotonic ms from which the worker has its time to list it: the assignment, or the end of a stall of our own. */
  graceFrom: number;
  beatAt: number;
  /** Epoch ms of the last heartbeat that listed it, for `heartbeat_at`. */
  beatWall: number | null;
  /** Whether output of it has come. */
  hasStreamed: boolean;
  /** Monotonic ms when the job's timeout passes; null for none. */
  readonly timeoutAt: number | null;
  readonly timeoutMs: number;
  phase: 'assigning' | 'running' | 'ending';
}

/**
 * Every lease that takes a slot: who holds how many, and how many a provider has. A slot is exactly an entry of this
 * table, so none can leak: whatever ends a lease removes the entry.
 */
export class Leases {
  /** The lease that each job is on; there is one at most. */
  readonly #byJob = new Map<string, Lease>();
  /** Those that are ending, by number within their job: it may have gone on with others. */
  readonly #ending = new Map<string, Map<number, Lease>>();
  readonly #byWorker = new Map<string, Set<Lease>>();
  readonly #byProvider = new Map<string, number>();

  add(lease: Lease): void {
    this.#byJob.set(lease.jobId, lease);
    const held = this.#byWorker.get(lease.workerId) ?? new Set();
    this.#byWorker.set(lease.workerId, held.add(lease));
    this.#byProvider.set(lease.provider, this.ofProvider(lease.provider) + 1);
  }

  remove(lease: Lease): void {
    const { jobId, workerId, provider } = lease;
    if (this.get(lease) !== lease) return;
    const ending = this.#ending.get(jobId);
    if (this.#byJob.get(jobId) === lease) this.#byJob.delete(jobId);
    else if (ending?.delete(lease.lease) && ending.size === 0) this.#ending.delete(jobId);
    const held = this.#byWorker.get(workerId);
    held?.delete(lease);
    if (held?.size === 0) this.#byWorker.delete(workerId);
    const count = this.ofProvider(provider) - 1;
    if (count > 0) this.#byProvider.set(provider, count);
    else this.#byProvider.delete(provider);
  }

  /** The job has ended, the worker has not said so yet. */
  end(lease: Lease): void {
    const { jobId } = lease;
    lease.phase = 'ending';
    if (this.#byJob.get(jobId) !== lease) return;
    this.#byJob.delete(jobId);
    const ending = this.#ending.get(jobId) ?? new Map<number, Lease>();
    this.#ending.set(jobId, ending.set(lease.lease, lease));
  }

  get({ jobId, lease }: LeaseRef): Lease | undefined {
    const running = this.#byJob.get(jobId);
    return running?.lease === lease ? running : this.#ending.get(jobId)?.get(lease);
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

  *all(): Generator<Lease> {
    for (const held of this.#byWorker.values()) yield* held;
  }
}
