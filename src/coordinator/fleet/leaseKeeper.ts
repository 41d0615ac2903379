import type { JobEvent, LeaseEvent } from '../../../machines/events.ts';
import type { Config } from '../../config/config.ts';
import type { Clock } from '../../domain/clock.ts';
import { isPassing } from '../../domain/failure.ts';
import { type JobRecord, type LeaseRef, lastAttempt } from '../../domain/job.ts';
import { statusOf } from '../../domain/states.ts';
import type { Logger } from '../../lib/log.ts';
import {
  type Committed,
  type Deadline,
  type Deadlines,
  type Supervisor,
  storeRetryMs,
} from '../core/index.ts';
import type { AttemptCosts, JobHost } from '../jobs/index.ts';
import type { Providers } from '../limits/index.ts';
import type { Ahead } from './ahead.ts';
import type { Lease, Leases } from './leases.ts';
import { heartbeatMs, staleMs } from './pulse.ts';
import { toWireLease } from './workerSession.ts';
import type { WorkerSignals } from './workerSignals.ts';
import type { Workers } from './workers.ts';

type AttemptFailed = Extract<JobEvent, { type: 'job.attemptFailed' }>;
/** Where an attempt runs. */
type Place = Pick<Lease, 'workerId' | 'provider' | 'model'>;

/** The life of leases: begin, heartbeats, end, and the deadlines for when the worker's word does not come. */
export class LeaseKeeper {
  readonly #config: () => Config;
  readonly #clock: Clock;
  readonly #deadlines: Deadlines;
  readonly #leases: Leases;
  readonly #ahead: Ahead;
  readonly #host: JobHost;
  readonly #workers: Workers;
  readonly #signals: WorkerSignals;
  readonly #providers: Providers;
  readonly #costs: AttemptCosts;
  readonly #logger: Logger;
  readonly #supervisor: Supervisor;
  readonly #watched = new Map<Lease, Deadline>();

  constructor(options: {
    config: () => Config;
    clock: Clock;
    deadlines: Deadlines;
    leases: Leases;
    ahead: Ahead;
    host: JobHost;
    workers: Workers;
    signals: WorkerSignals;
    providers: Providers;
    costs: AttemptCosts;
    logger: Logger;
    supervisor: Supervisor;
  }) {
    this.#config = options.config;
    this.#clock = options.clock;
    this.#deadlines = options.deadlines;
    this.#leases = options.leases;
    this.#ahead = options.ahead;
    this.#host = options.host;
    this.#workers = options.workers;
    this.#signals = options.signals;
    this.#providers = options.providers;
    this.#costs = options.costs;
    this.#logger = options.logger;
    this.#supervisor = options.supervisor;
  }

  /** A job's timeout, ms; 0 for none. */
  timeoutMs(job: JobRecord): number {
    return (job.request.timeoutSeconds ?? this.#config().jobs.timeoutSeconds) * 1000;
  }

  /** Take a slot for an assignment whose commit is about to be made. @param heldMs added to its timeout: it may not begin at once. */
  reserve(job: JobRecord, place: Place, heldMs: number): Lease {
    const timeoutMs = this.timeoutMs(job);
    const lease = this.#add(job, job.life.lease + 1, place, timeoutMs === 0 ? 0 : timeoutMs + heldMs);
    this.#signals.sent(lease);
    return lease;
  }

  /** The commit of the assignment has failed. */
  unreserve(lease: Lease): void {
    this.#drop(lease, 'lease.abandoned');
  }

  /** Take up the lease of a job that was running when the coordinator stopped, with fresh grace. */
  adopt(job: JobRecord): void {
    const attempt = lastAttempt(job.life);
    if (attempt === undefined) return;
    const timeoutMs = this.timeoutMs(job);
    // The wall clock may have been set back since.
    const ranMs = Math.max(0, this.#clock.now() - attempt.startedAt);
    const leftMs = timeoutMs === 0 ? 0 : Math.max(1, timeoutMs - ranMs);
    const lease = this.#add(job, job.life.lease, attempt, leftMs);
    this.#leases.take(lease, 'lease.assigned');
    this.#watch(lease);
  }

  /** Every lease gets fresh grace: the coordinator itself stood still, and that is not the workers' death. */
  refreshAll(): void {
    const now = this.#clock.monotonic();
    for (const lease of this.#leases.all()) {
      lease.beatAt = now;
      lease.graceFrom = now;
    }
  }

  /** The time after which a silent lease is reaped may be another one now. */
  rewatchAll(): void {
    for (const lease of this.#leases.all()) if (lease.phase === 'running') this.#watch(lease);
  }

  /** A change of a job has been committed: keep slots, deadlines and the provider's state in step with it. */
  follow(committed: Committed): void {
    const { before, after, event } = committed;
    // A worker that is back is held to the timeout again.
    if (event?.type === 'job.assigned' || event?.type === 'job.workerReturned') {
      const lease = this.#leases.get({ jobId: after.id, lease: after.life.lease });
      if (lease === undefined) return;
      this.#leases.take(lease, 'lease.assigned');
      this.#watch(lease);
    } else if (
      before !== null &&
      statusOf(before.state) === 'running' &&
      statusOf(after.state) !== 'running'
    ) {
      const lease = this.#leases.get({ jobId: before.id, lease: before.life.lease });
      if (lease !== undefined) this.#end(lease, committed);
    }
  }

  #end(lease: Lease, { event, effects }: Committed): void {
    if (event?.type === 'job.completed') {
      this.#providers.completed(lease, this.#clock.monotonic() - lease.assignedAt);
      this.#signals.succeeded(lease);
      this.#ahead.completed(lease.workerId, event.result.latencyMs);
    }
    if (event?.type === 'job.released') this.#ahead.forget(lease.workerId);
    if (event?.type === 'job.attemptFailed') this.#failed(lease, event);
    const abort = effects.find((effect) => effect.type === 'abortWorker');
    const session = this.#workers.session(lease.workerId);
    if (abort !== undefined && session !== null) {
      session.send({ type: 'abort', ...toWireLease(lease), reason: abort.reason });
      this.#leases.take(lease, 'lease.aborted');
      this.#watch(lease);
      return;
    }
    this.#drop(lease, 'lease.concluded');
  }

  /** What a failure says goes to its worker first, and to the provider unless it says nothing of that. */
  #failed(lease: Lease, { error, fault, retryAfterMs = null }: AttemptFailed): void {
    if (fault !== null) this.#signals.failed(lease, fault, error);
    else if (error.class !== 'rate_limited') this.#signals.succeeded(lease);
    if (!isPassing(fault)) this.#providers.failed(lease, { ...error, retryAfterMs }, fault);
  }

  /** The key of the worker was revoked: its running jobs fail in the spec's words. */
  failRevoked(workerId: string): void {
    for (const { jobId, lease, phase } of this.#leases.ofWorker(workerId)) {
      if (phase === 'ending') continue;
      this.#tryUnreported(jobId, { type: 'job.keyRevoked', at: this.#clock.now(), lease });
    }
  }

  /**
   * A worker says which leases it runs.
   * @param graceMs leases younger than this need not be listed yet: the assignment may still be on its way.
   * @returns those it lists and no longer owns.
   */
  heartbeat(workerId: string, listed: readonly LeaseRef[], graceMs: number): LeaseRef[] {
    this.#deadlines.noticeStall();
    const now = this.#clock.monotonic();
    const wall = this.#clock.now();
    const lost: LeaseRef[] = [];
    const alive = new Set<Lease>();
    for (const ref of listed) {
      const lease = this.#leases.get(ref);
      if (lease === undefined || lease.workerId !== workerId || lease.phase === 'ending') {
        lost.push(ref);
        continue;
      }
      lease.beatAt = now;
      lease.beatWall = wall;
      alive.add(lease);
      this.#notify(lease, { type: 'job.workerReturned', at: wall, lease: lease.lease }, 'running.stuck');
    }
    for (const lease of this.#leases.ofWorker(workerId)) {
      if (lease.phase !== 'running' || alive.has(lease) || lease.graceFrom > now - graceMs) continue;
      this.#reap(lease, 'lost');
    }
    return lost;
  }

  /** The worker's connection is gone: its jobs are stuck, and slots that only waited for its word are free. */
  workerLost(workerId: string): void {
    this.#ahead.forget(workerId);
    for (const lease of this.#leases.ofWorker(workerId)) {
      if (lease.phase === 'ending') this.#drop(lease, 'lease.workerLost');
      else
        this.#notify(
          lease,
          { type: 'job.workerLost', at: this.#clock.now(), lease: lease.lease },
          'running.active',
        );
    }
  }

  /** A worker has drained and gone, and nothing was left with it: what it still has here had not reached it. */
  workerLeft(workerId: string): void {
    this.#ahead.forget(workerId);
    for (const lease of this.#leases.ofWorker(workerId)) {
      if (lease.phase === 'ending') this.#drop(lease, 'lease.workerLost');
      else this.undelivered(lease);
    }
  }

  /** The worker has said its last word on a lease: if it was only waited for, its slot is free. */
  letGo(ref: LeaseRef, workerId: string): void {
    const lease = this.#leases.get(ref);
    if (lease?.phase === 'ending' && lease.workerId === workerId) this.#drop(lease, 'lease.concluded');
  }

  /** The assignment was committed and its worker is gone before it could be sent: nothing ran, nothing is burnt. */
  undelivered(ref: LeaseRef): void {
    this.#try(ref.jobId, { type: 'job.released', at: this.#clock.now(), lease: ref.lease });
  }

  #add(job: JobRecord, lease: number, { workerId, provider, model }: Place, timeoutMs: number): Lease {
    const now = this.#clock.monotonic();
    return this.#leases.add({
      jobId: job.id,
      lease,
      workerId,
      provider,
      model,
      assignedAt: now,
      graceFrom: now,
      beatAt: now,
      beatWall: null,
      hasStreamed: false,
      timeoutAt: timeoutMs === 0 ? null : now + timeoutMs,
      timeoutMs: this.timeoutMs(job),
    });
  }

  /** The slot is free, unless the phase of the lease does not accept that. */
  #drop(lease: Lease, event: LeaseEvent['type']): void {
    if (!this.#leases.take(lease, event)) return;
    this.#deadlines.clear(this.#watched.get(lease) ?? null);
    this.#watched.delete(lease);
    this.#providers.returned(lease);
    this.#signals.returned(lease);
    this.#supervisor.slotFreed();
  }

  /** Set the one deadline of a lease: the earliest of what could end it. */
  #watch(lease: Lease): void {
    this.#deadlines.clear(this.#watched.get(lease) ?? null);
    const at =
      lease.phase === 'ending'
        ? this.#clock.monotonic() + 2 * heartbeatMs(this.#config().jobs)
        : Math.min(this.#timeoutAt(lease), lease.beatAt + this.#staleMs(lease));
    if (at === Number.POSITIVE_INFINITY) return;
    // One that has passed already (the configuration changed) is no sign that this process stood still.
    const due = Math.max(at, this.#clock.monotonic());
    this.#watched.set(
      lease,
      this.#deadlines.set(due, () => this.#expire(lease)),
    );
  }

  /** A deadline of the lease has come; a heartbeat may have moved it meanwhile. */
  #expire(lease: Lease): void {
    const now = this.#clock.monotonic();
    if (lease.phase === 'ending') {
      this.#drop(lease, 'lease.expired');
    } else if (this.#timeoutAt(lease) <= now) {
      const { timeoutMs } = lease;
      this.#tryUnreported(lease.jobId, {
        type: 'job.timedOut',
        at: this.#clock.now(),
        lease: lease.lease,
        timeoutMs,
      });
    } else if (lease.beatAt + this.#staleMs(lease) <= now) {
      this.#reap(lease, 'reaped');
    } else {
      this.#watch(lease);
    }
  }

  /** When its timeout passes. With reaping off nobody but an operator ends a job whose worker is gone. */
  #timeoutAt({ jobId, timeoutAt }: Lease): number {
    const isLeftAlone =
      this.#config().jobs.reapStaleAfterSeconds === 0 && this.#host.liveState(jobId) === 'running.stuck';
    return timeoutAt === null || isLeftAlone ? Number.POSITIVE_INFINITY : timeoutAt;
  }

  #staleMs({ workerId }: Lease): number {
    return staleMs(this.#config().jobs, this.#workers.session(workerId)?.beatMs ?? 0);
  }

  #reap(lease: Lease, outcome: 'reaped' | 'lost'): void {
    this.#logger.warn(
      { job_id: lease.jobId, lease: lease.lease, worker_id: lease.workerId, outcome },
      'lease taken back',
    );
    const { maxReaps } = this.#config().jobs;
    this.#tryUnreported(lease.jobId, {
      type: 'job.reaped',
      at: this.#clock.now(),
      lease: lease.lease,
      outcome,
      maxReaps,
    });
  }

  /** Send an event only to a job that is in `state`, which the live actor knows: most heartbeats change nothing. */
  #notify(lease: Lease, event: JobEvent, state: 'running.active' | 'running.stuck'): void {
    if (this.#host.liveState(lease.jobId) === state || this.#host.liveState(lease.jobId) === null) {
      this.#try(lease.jobId, event);
    }
  }

  /** Apply an event that ends an attempt of which its worker has said nothing. */
  #tryUnreported(jobId: string, event: JobEvent): void {
    this.#try(jobId, event, (job) => ({ ...event, cost: this.#costs.unreported(job) }));
  }

  /** Apply an event that nobody waits for; when the store refuses it, again a little later. */
  #try(jobId: string, event: JobEvent, complete: (job: JobRecord) => JobEvent = () => event): void {
    this.#host
      .apply(jobId, (job) => [complete(job)])
      .catch((error: unknown): undefined => {
        this.#logger.error({ job_id: jobId, event: event.type, err: error }, 'change put off');
        this.#deadlines.set(this.#clock.monotonic() + storeRetryMs, () => this.#try(jobId, event, complete));
      });
  }
}
