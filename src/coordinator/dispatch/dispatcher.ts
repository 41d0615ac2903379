import type { Clock } from '../../domain/clock.ts';
import { type JobRecord, laneOf, lastAttempt, type RouteStep } from '../../domain/job.ts';
import { type Assignment, heldMsMax } from '../../domain/workerProtocol.ts';
import type { Decide, Store } from '../../store/store.ts';
import type { Supervisor } from '../core/index.ts';
import type { Lease, LeaseKeeper, Workers } from '../fleet/index.ts';
import {
  type Creation,
  draftOf,
  type HeldGroup,
  type JobHost,
  type NewJob,
  type Step,
} from '../jobs/index.ts';
import type { Providers } from '../limits/index.ts';
import type { Reservation, RunBudget } from '../runs/index.ts';
import { type Candidates, triedAt } from './candidates.ts';

/** Jobs claimed in one commit at most: bounds the work of one turn of the event loop to some 10 ms. */
const claimSizeMax = 500;

/** A worker that is back sends what it has within a round trip; half a second is many. */
const spareMs = 500;

/** A job that is about to be a worker's; nothing of it is durable yet. */
interface Claim {
  step: Step;
  lease: Lease;
  /** The budget of its run. */
  reservation: Reservation;
  model: string | null;
}

/**
 * Hands jobs to workers. One pass at a time: it looks at the lanes that have ready jobs, asks the store for as many as
 * there are free slots, lets each job's machine decide, and sends the assignments when the claim is durable. A pass
 * runs when something has changed that may let a job start; nothing is polled.
 */
export class Dispatcher {
  readonly #clock: Clock;
  readonly #store: Store;
  readonly #host: JobHost;
  readonly #candidates: Candidates;
  readonly #keeper: LeaseKeeper;
  readonly #workers: Workers;
  readonly #providers: Providers;
  readonly #supervisor: Supervisor;
  readonly #budget: RunBudget;
  /** Jobs that are left alone, each with the list by which it was spared last. */
  readonly #spared = new Map<string, readonly string[]>();
  /** Ends of events in flight after which another pass is due. */
  readonly #awaited = new Set<Promise<void>>();
  /** Jobs whose creation is under way. */
  #creating = 0;

  constructor(options: {
    clock: Clock;
    store: Store;
    host: JobHost;
    candidates: Candidates;
    keeper: LeaseKeeper;
    workers: Workers;
    providers: Providers;
    supervisor: Supervisor;
    budget: RunBudget;
  }) {
    this.#clock = options.clock;
    this.#store = options.store;
    this.#host = options.host;
    this.#candidates = options.candidates;
    this.#keeper = options.keeper;
    this.#workers = options.workers;
    this.#providers = options.providers;
    this.#supervisor = options.supervisor;
    this.#budget = options.budget;
  }

  /**
   * Make a job durable. When it comes alone, a slot is free for it and nobody waits before it, its assignment is part of
   * the same commit, so that its worker has it one sync earlier. Jobs that come in a rush are better handed out together:
   * one by one, the frames and wake-ups of each made a flood with a fast worker half as slow again.
   * @returns the job as it was created, whether or not it has been assigned since.
   * @throws StoreUnavailable when it could not be made durable; then there is no such job.
   */
  async create(job: NewJob): Promise<JobRecord> {
    const isAlone = this.#creating === 0 && !this.#supervisor.isPassing;
    this.#creating += 1;
    try {
      const creation = this.#host.begin(job);
      const held = this.#host.holdGroup();
      const claim = isAlone ? this.#claimNew(creation, held) : null;
      return claim === null
        ? await this.#host.create(creation)
        : await this.#createClaimed(creation, claim, held);
    } finally {
      this.#creating -= 1;
    }
  }

  /**
   * Leave jobs alone for a moment: a worker has come back that had them, and may be about to deliver their results, which
   * are still taken as long as nobody has overtaken them.
   */
  spare(jobIds: readonly string[]): void {
    if (jobIds.length === 0) return;
    for (const id of jobIds) this.#spared.set(id, jobIds);
    this.#clock.after(spareMs, () => {
      // Not by the time: a timer may come a little before it, and nobody would look again.
      for (const id of jobIds) if (this.#spared.get(id) === jobIds) this.#spared.delete(id);
      this.#supervisor.workArrived();
    });
  }

  /**
   * Hand out as many jobs as free slots can take now, up to 500 of them.
   * @throws StoreUnavailable when the claim could not be made durable; nothing of it has happened then.
   */
  async pass(): Promise<void> {
    const room = this.#candidates.room();
    if (room === 0) return;
    const open: string[] = [];
    for (const lane of await this.#store.lanes()) {
      if (!this.#budget.isOpen(lane.run)) continue;
      const [target, ...chain] = lane.candidates;
      const picked = this.#candidates.pick(lane, lane.key, this.#candidates.of({ target, chain }));
      if (picked !== null && this.#candidates.workerFor(picked) !== null) open.push(lane.key);
    }
    if (open.length === 0) return;
    const claims = new Map<string, Claim>();
    const held = this.#host.holdGroup();
    const limit = Math.min(room, claimSizeMax);
    try {
      const committed = await this.#store.claim({ lanes: open, limit }, this.#decide(claims, held));
      for (const change of committed) {
        const claim = claims.get(change.id);
        if (claim === undefined) continue;
        claims.delete(change.id);
        this.#hand(claim, held);
      }
      if (committed.length === limit) this.#supervisor.workArrived();
    } finally {
      // Whatever was decided and is not durable has not happened.
      for (const claim of claims.values()) this.#abandon(claim);
      held.end();
    }
  }

  /**
   * Claim a job that is about to be created; null when it has to wait its turn. No pass may be under way: then the last
   * one has looked since anything changed, and whatever waits has no use for a slot that is free.
   */
  #claimNew(creation: Creation, held: HeldGroup): Claim | null {
    if (!this.#supervisor.isAssigning) return null;
    const draft = draftOf(creation);
    if (draft.state !== 'pending.ready') return null;
    const claim = this.#claim(draft, laneOf(draft), held);
    return typeof claim === 'string' ? null : claim;
  }

  async #createClaimed(creation: Creation, claim: Claim, held: HeldGroup): Promise<JobRecord> {
    try {
      const { created, step } = await this.#host.createWith(creation, claim.step).catch((error: unknown) => {
        this.#abandon(claim);
        throw error;
      });
      this.#hand({ ...claim, step }, held);
      return created;
    } finally {
      held.end();
    }
  }

  #decide(claims: Map<string, Claim>, held: HeldGroup): Decide {
    return (job, lane) => {
      // The queue may be paused while a long claim is made.
      if (!this.#supervisor.isAssigning) return 'close';
      if (this.#isInFlight(job.id) || this.#spared.has(job.id)) return 'skip';
      const claim = this.#claim(job, lane, held);
      if (typeof claim === 'string') return claim;
      claims.set(job.id, claim);
      return claim.step.change;
    };
  }

  /**
   * Choose a worker, let the job's machine take it, reserve the slot, and hold the job.
   * @returns why not: `close` when no job of its lane could be had now, `skip` when this one cannot.
   */
  #claim(job: JobRecord, lane: string, held: HeldGroup): Claim | 'skip' | 'close' {
    const candidates = this.#candidates.of(job.life);
    const picked = this.#candidates.pick(job.life, lane, candidates);
    if (picked === null) return 'close';
    const worker = this.#candidates.workerFor(picked, triedAt(job.life, picked.target.provider));
    if (worker === null) return 'close';
    const isHeld = this.#workers.freeSlots(worker) === 0;
    const { model } = picked;
    const { provider } = picked.target;
    const reservation = this.#budget.reserve(job, { workerId: worker.id, provider, model });
    if (reservation === null) return 'close';
    const at = this.#clock.now();
    const skipped = candidates
      .filter((candidate) => candidate.state === 'skipped')
      .map(({ target, model: skippedModel, why }): RouteStep => {
        return {
          provider: target.provider,
          model: skippedModel,
          workerId: null,
          outcome: 'skipped',
          why,
          at,
        };
      });
    const reason = isHeld ? 'has a slot for it soon' : 'had a free slot';
    const why = `${candidates.length > 1 ? `${job.life.strategy}: ` : ''}${worker.name} ${reason}`;
    const step = this.#host.step(job, {
      type: 'job.assigned',
      at,
      workerId: worker.id,
      provider,
      model,
      why,
      skipped,
      ...(reservation.estimate === null ? {} : { estimate: reservation.estimate }),
    });
    if (step === null) {
      reservation.release();
      return 'skip';
    }
    const lease = this.#keeper.reserve(job, { workerId: worker.id, provider, model }, isHeld ? heldMsMax : 0);
    this.#providers.sent(provider);
    this.#candidates.took(lane);
    held.hold(job.id);
    return { step, lease, model, reservation };
  }

  /** Its commit has failed. */
  #abandon({ step, lease, reservation }: Claim): void {
    reservation.release();
    this.#host.abandon(step);
    this.#keeper.unreserve(lease);
  }

  /**
   * Whether an event of the job is in flight. There is another pass when it has ended: one that is refused, such as the
   * second of two retries, changes nothing, and nobody else would say that the job can be had now.
   */
  #isInFlight(jobId: string): boolean {
    const end = this.#host.inFlight(jobId);
    if (end === null) return false;
    if (this.#awaited.has(end)) return true;
    this.#awaited.add(end);
    void end.then(() => {
      this.#awaited.delete(end);
      this.#supervisor.workArrived();
    });
    return true;
  }

  /** The claim is durable: out with the assignment. */
  #hand({ step, lease, model, reservation }: Claim, held: HeldGroup): void {
    reservation.release();
    const { after, effects } = this.#host.settle(step);
    held.letGo(after.id);
    if (!effects.some(({ type }) => type === 'handToWorker')) return;
    const session = this.#workers.session(lease.workerId);
    if (session === null) this.#keeper.undelivered(lease);
    else session.assign(assignment(after, model, lease.timeoutMs / 1000));
  }
}

function assignment(job: JobRecord, model: string | null, timeoutSeconds: number): Assignment {
  const { prompt, input, messages, params } = job.request;
  return {
    job_id: job.id,
    lease: job.life.lease,
    attempt: job.life.attempts.length,
    prompt,
    input,
    messages,
    params,
    provider: lastAttempt(job.life)?.provider ?? job.life.target.provider,
    model,
    timeout_seconds: timeoutSeconds,
  };
}
