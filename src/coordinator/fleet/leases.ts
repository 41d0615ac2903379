import type { LeaseEvent } from '../../../machines/events.ts';
import { leaseTransitions } from '../../../machines/leaseMachine.ts';
import type { LeaseRef } from '../../domain/job.ts';

/** A state of the lease machine. */
export type LeasePhase = keyof typeof leaseTransitions;

/** One slot taken on one worker. */
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
  readonly phase: LeasePhase;
}

/** A lease of the table, whose phase only the table changes. */
type Kept = { -readonly [Key in keyof Lease]: Lease[Key] };

/** Shows how a phase has changed; `from` is null for a new lease. Called once a change, so be quick. */
export type LeaseObserver = (
  lease: Lease,
  from: LeasePhase | null,
  event: LeaseEvent['type'] | 'lease.reserved',
) => void;

/**
 * Every lease that takes a slot: who holds how many, and how many a provider has. A slot is exactly an entry of this
 * table, so none can leak: whatever ends a lease removes the entry. The lease machine says which phase follows.
 */
export class Leases {
  /** The lease that each job is on; there is one at most. */
  readonly #byJob = new Map<string, Kept>();
  /** Those that are ending, by number within their job: it may have gone on with others. */
  readonly #ending = new Map<string, Map<number, Kept>>();
  readonly #byWorker = new Map<string, Set<Kept>>();
  readonly #byProvider = new Map<string, number>();
  readonly #observe: LeaseObserver;

  constructor(observe: LeaseObserver) {
    this.#observe = observe;
  }

  /** Take a slot. */
  add(given: Omit<Lease, 'phase'>): Lease {
    const lease: Kept = { ...given, phase: 'assigning' };
    this.#byJob.set(lease.jobId, lease);
    const held = this.#byWorker.get(lease.workerId) ?? new Set();
    this.#byWorker.set(lease.workerId, held.add(lease));
    this.#byProvider.set(lease.provider, this.ofProvider(lease.provider) + 1);
    this.#observe(lease, null, 'lease.reserved');
    return lease;
  }

  /** Something happened to a lease. @returns whether it is in the table and its phase accepts that; if not, nothing changes. */
  take(given: Lease, event: LeaseEvent['type']): boolean {
    const lease = this.#get(given);
    const from = given.phase;
    const to = leaseTransitions[from][event];
    // An assignment that could not be committed leaves its number to the next one.
    if (lease !== given || lease === undefined || to === undefined) return false;
    if (to === 'ended') this.#remove(lease);
    if (to === 'ending') this.#setEnding(lease);
    lease.phase = to;
    this.#observe(lease, from, event);
    return true;
  }

  #remove(lease: Kept): void {
    const { jobId, workerId, provider } = lease;
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

  #setEnding(lease: Kept): void {
    const { jobId } = lease;
    if (this.#byJob.get(jobId) !== lease) return;
    this.#byJob.delete(jobId);
    const ending = this.#ending.get(jobId) ?? new Map<number, Kept>();
    this.#ending.set(jobId, ending.set(lease.lease, lease));
  }

  get(ref: LeaseRef): Lease | undefined {
    return this.#get(ref);
  }

  #get({ jobId, lease }: LeaseRef): Kept | undefined {
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

  /** The phase of each lease. */
  phases(): LeasePhase[] {
    return [...this.all()].map(({ phase }) => phase);
  }

  *all(): Generator<Lease> {
    for (const held of this.#byWorker.values()) yield* held;
  }
}
