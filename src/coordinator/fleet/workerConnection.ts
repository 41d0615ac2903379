import type { Config } from '../../config/config.ts';
import { type AuditDetails, type Doer, nobody } from '../../domain/audit.ts';
import { type ChunkPart, textOfParts } from '../../domain/chunkParts.ts';
import type { Clock } from '../../domain/clock.ts';
import type { LeaseRef } from '../../domain/job.ts';
import type { KeyBounds } from '../../domain/key.ts';
import { iso } from '../../domain/wire/iso.ts';
import type { WorkerHello, WorkerKey, WorkerOwner } from '../../domain/worker.ts';
import { closeCodes, features, refusalCodes } from '../../domain/workerProtocol.ts';
import type { Logger } from '../../lib/log.ts';
import { type Audit, type Deadlines, type EventBus, storeRetryMs } from '../core/index.ts';
import type { Outcome, Outcomes } from '../jobs/index.ts';
import type { Providers } from '../limits/index.ts';
import { boundedModels } from './boundedWorker.ts';
import { misfitOf } from './keyFit.ts';
import type { LeaseKeeper } from './leaseKeeper.ts';
import type { Leases } from './leases.ts';
import type { Liveness } from './liveness.ts';
import { heartbeatMs } from './pulse.ts';
import type { RefusedWorkers } from './refusedWorkers.ts';
import type { Registration } from './registration.ts';
import { toWireLease, type WorkerLink, WorkerSession } from './workerSession.ts';
import type { WorkerSignals } from './workerSignals.ts';
import type { Workers } from './workers.ts';

/** Leases younger than this many heartbeat intervals need not be listed in a heartbeat yet. */
const graceIntervals = 2;

/** `last_heartbeat_at` is exact to this, as long as frames come in time. */
const noticeEveryMs = 1_000;

/** Who decides when jobs are assigned, as far as connections need it. */
interface Assigner {
  /** Something has changed that may let a job start. */
  workArrived(): void;
  /** Call `listener` whenever a slot has become free. The returned function ends it. */
  onSlotFreed(listener: () => void): () => void;
}

/** Who assigns jobs, as far as connections need it. */
interface Sparer {
  /** Leave jobs alone for a moment: their worker may be about to deliver their results. */
  spare(jobIds: readonly string[]): void;
}

/** What a hello says besides who connects and what runs. */
interface HelloOptions {
  free?: readonly string[] | undefined;
  features?: readonly string[] | undefined;
}

const knownFeatures: readonly string[] = Object.values(features);

export interface ConnectionParts {
  config: () => Config;
  clock: Clock;
  deadlines: Deadlines;
  workers: Workers;
  registration: Registration;
  signals: WorkerSignals;
  keeper: LeaseKeeper;
  outcomes: Outcomes;
  leases: Leases;
  providers: Providers;
  liveness: Liveness;
  dispatcher: Sparer;
  supervisor: Assigner;
  bus: EventBus;
  audit: Audit;
  refusedWorkers: RefusedWorkers;
  logger: Logger;
}

/** What a worker says over one connection, frame by frame. The gateway has checked the frames' form. */
export class WorkerConnection {
  readonly #parts: ConnectionParts;
  readonly #session: WorkerSession;
  /** Who connected, and from where: for the audit log. */
  readonly #by: Doer;
  /** Monotonic ms when the worker's actor last got an event for a frame. */
  #noticedAt = Number.NEGATIVE_INFINITY;

  constructor(parts: ConnectionParts, link: WorkerLink, key: WorkerKey, by: Doer = nobody) {
    this.#parts = parts;
    this.#by = by;
    this.#session = new WorkerSession({
      link,
      key,
      heardAt: parts.clock.monotonic(),
      onReplaced: () => this.#replaced(),
    });
  }

  get workerId(): string {
    return this.#session.workerId;
  }

  /**
   * The first frame: register, take up what still runs, and answer what is lost.
   * @param options.free providers that the worker says charge nothing. @param options.features what it can do besides.
   * @throws StoreUnavailable when the registration could not be made durable.
   */
  async hello(
    said: WorkerHello,
    running: readonly LeaseRef[],
    { free = [], features: offered }: HelloOptions = {},
  ): Promise<void> {
    const { registration, refusedWorkers } = this.#parts;
    const session = this.#session;
    session.free = new Set(free);
    if (!this.#isAllowed(said)) return;
    const hello = { ...said, models: boundedModels(said.models, said.providers) };
    const joined = await registration.join(hello, session);
    if (joined.kind === 'nameTaken') {
      session.close(closeCodes.nameTaken, `a live worker is called ${hello.name}; choose another name`);
      return;
    }
    if (joined.kind === 'nameTakenByKey') {
      this.#nameTakenByKey(hello.name, joined.owner);
      return;
    }
    refusedWorkers.joined(hello.name);
    session.registered(joined.id);
    // The socket may have ended while the registration was made durable.
    if (session.isClosed) {
      registration.leave(session, false);
      return;
    }
    // The bounds of the key may be others since.
    if (this.#isAllowed(hello)) this.#welcome(hello, running, offered);
  }

  /** It is registered: answer what is lost of what it runs, and give it work. */
  #welcome(
    { name, providers, concurrency }: WorkerHello,
    running: readonly LeaseRef[],
    offered: readonly string[] | undefined,
  ): void {
    const { workers, keeper, liveness, dispatcher, supervisor, config, clock, logger } = this.#parts;
    const session = this.#session;
    const { workerId } = this;
    const lost = keeper.heartbeat(workerId, running, 0);
    const life = workers.life(workerId);
    session.beatMs = heartbeatMs(config().jobs);
    session.sharesFrames = offered?.includes(features.sharedFrames) === true;
    session.holdsAhead = offered?.includes(features.holdsAhead) === true;
    session.send({
      type: 'welcome',
      worker_id: workerId,
      paused: life?.paused ?? false,
      concurrency: life?.concurrency ?? concurrency,
      heartbeat_interval_seconds: session.beatMs / 1000,
      server_time: iso(clock.now()),
      lost: lost.map(toWireLease),
      // A worker that knows nothing of features gets the welcome that it knows.
      ...(offered === undefined
        ? {}
        : { features: knownFeatures.filter((known) => offered.includes(known)) }),
    });
    logger.info({ worker_id: workerId, name, providers }, 'worker connected');
    session.heardAt = clock.monotonic();
    dispatcher.spare(lost.map(({ jobId }) => jobId));
    liveness.watch(session, () => this.lost(false));
    supervisor.workArrived();
  }

  /** Any frame came: the worker lives. */
  heard(): void {
    const { clock, workers, signals, supervisor } = this.#parts;
    const now = clock.monotonic();
    this.#session.heardAt = now;
    const wasLate = !workers.isAssignable(this.workerId);
    // A busy worker sends thousands of frames a second; its actor need not get an event for each.
    if (!wasLate && now < this.#noticedAt + noticeEveryMs) return;
    this.#noticedAt = now;
    signals.noticed(this.workerId, { type: 'worker.heard', at: clock.now() });
    if (wasLate && workers.isAssignable(this.workerId)) supervisor.workArrived();
  }

  heartbeat(running: readonly LeaseRef[], models: Record<string, string[]> | undefined): void {
    const { keeper, workers, signals, clock, supervisor } = this.#parts;
    const graceMs = graceIntervals * this.#session.beatMs;
    const lost = keeper.heartbeat(this.workerId, running, graceMs);
    const life = workers.life(this.workerId);
    // Of other providers than those of its hello it says nothing that counts.
    const served = models === undefined ? undefined : boundedModels(models, life?.providers ?? []);
    if (served !== undefined && JSON.stringify(served) !== JSON.stringify(life?.models)) {
      signals.noticed(this.workerId, { type: 'worker.modelsChanged', models: served, at: clock.now() });
      supervisor.workArrived();
    }
    this.#session.send({ type: 'heartbeat_ack', lost: lost.map(toWireLease) });
  }

  /** The worker's last word on a lease; the ack leaves when it is durable. */
  async conclude(ref: LeaseRef, outcome: Outcome): Promise<void> {
    const { outcomes, leases, logger } = this.#parts;
    try {
      // Not every worker says `begun`; one that has sent output need not.
      const hasStreamed = leases.get(ref)?.hasStreamed === true;
      const known = hasStreamed ? { ...outcome, begun: true } : outcome;
      const ack = await outcomes.conclude(this.workerId, ref, known);
      this.#session.ack({ ...toWireLease(ref), ...ack });
    } catch (error) {
      logger.error({ job_id: ref.jobId, lease: ref.lease, err: error }, 'outcome not durable yet');
      this.#parts.clock.after(storeRetryMs, () => {
        if (!this.#session.isClosed) void this.conclude(ref, outcome);
      });
    }
  }

  /** Output as it streams: shown, never stored. A chunk of a lease that is not this worker's is dropped. */
  chunk(ref: LeaseRef, seq: number, parts: readonly ChunkPart[]): void {
    const { leases, providers, signals, bus, clock } = this.#parts;
    const lease = leases.get(ref);
    if (lease?.workerId !== this.workerId || lease.phase !== 'running') return;
    if (!lease.hasStreamed) {
      lease.hasStreamed = true;
      signals.streamed(lease);
      providers.streamed(lease);
    }
    bus.publish({ type: 'job.progress', at: clock.now(), ...ref, seq, text: textOfParts(parts), parts });
  }

  /** Its key is revoked, rotated away or has expired: the jobs it runs fail, in the spec's words, and it is out. */
  keyRefused(): void {
    const { keeper, logger } = this.#parts;
    logger.warn({ worker_id: this.workerId }, 'the key of a worker is no longer taken');
    keeper.failRevoked(this.workerId);
    this.#session.close(closeCodes.keyRefused, 'the key is no longer taken');
    if (this.workerId !== '') this.lost(true);
  }

  /** Its key is bound otherwise now: a worker that goes beyond it is closed, others get the slots that are left. */
  boundsChanged(bounds: KeyBounds | null): void {
    const { workers, registration } = this.#parts;
    const session = this.#session;
    session.key = { ...session.key, bounds };
    const life = workers.life(this.workerId);
    if (life === undefined) return;
    const misfit = misfitOf(life, bounds);
    if (misfit === null) registration.boundsChanged(session);
    else this.#notAllowed(life.name, misfit);
  }

  /** Whether a worker keeps to what its key allows; one that does not is refused. */
  #isAllowed(said: WorkerHello): boolean {
    const misfit = misfitOf(said, this.#session.key.bounds);
    if (misfit !== null) this.#notAllowed(said.name, misfit);
    return misfit === null;
  }

  #nameTakenByKey(name: string, { keyId: ownerId }: WorkerOwner): void {
    this.#parts.logger.warn(
      { name, key_id: this.#session.key.keyId, owner_key_id: ownerId },
      'a worker said a name that belongs to another key and is refused; svc workers forget frees the name',
    );
    this.#parts.refusedWorkers.add(this.#by.address, name, 'its name belongs to another key');
    this.#audit(name, { code: refusalCodes.nameTakenByKey, owner_key_id: ownerId });
    this.#refuse(closeCodes.nameTaken, refusalCodes.nameTakenByKey, nameOfAnother(name));
  }

  #notAllowed(name: string, misfit: string): void {
    const { keyId } = this.#session.key;
    this.#parts.logger.warn({ name, key_id: keyId, misfit }, 'a worker goes beyond its key and is refused');
    this.#parts.refusedWorkers.add(this.#by.address, name, misfit);
    this.#audit(name, { code: refusalCodes.keyNotAllowed, misfit });
    const advice = 'change the settings of the worker, or what the key allows (svc keys change)';
    this.#refuse(closeCodes.keyNotAllowed, refusalCodes.keyNotAllowed, `${misfit}; ${advice}`);
  }

  #audit(name: string, details: AuditDetails): void {
    const target = { kind: 'worker', id: this.workerId === '' ? null : this.workerId, name } as const;
    void this.#parts.audit.refused({ by: this.#by, action: 'worker.refused', target, details });
  }

  #refuse(closeCode: number, code: string, message: string): void {
    this.#session.send({ type: 'error', code, message });
    this.#session.close(closeCode, code);
  }

  drain(): void {
    this.#parts.signals.noticed(this.workerId, { type: 'worker.draining', at: this.#parts.clock.now() });
  }

  /** The socket has ended. @param code of the close frame that came. */
  gone(code: number): void {
    const wasClosed = this.#session.isClosed;
    this.#session.ended();
    if (this.workerId === '') return;
    const isDraining = this.#parts.workers.status(this.workerId) === 'draining';
    if (!wasClosed && isDraining && code === closeCodes.goingAway) this.#left();
    else this.lost(wasClosed);
  }

  /** The coordinator has closed the connection, or the worker has. */
  lost(expected: boolean): void {
    const { keeper, logger } = this.#parts;
    if (!this.#leave(!expected)) return;
    keeper.workerLost(this.workerId);
    logger[expected ? 'info' : 'warn']({ worker_id: this.workerId }, 'worker disconnected');
  }

  /** The worker has drained and says that nothing is left with it. */
  #left(): void {
    const { keeper, logger } = this.#parts;
    if (!this.#leave(false)) return;
    keeper.workerLeft(this.workerId);
    logger.info({ worker_id: this.workerId }, 'worker left');
  }

  /** @returns whether it was this connection that the worker had. */
  #leave(isLost: boolean): boolean {
    const { workers, registration, liveness, supervisor } = this.#parts;
    liveness.forget(this.#session);
    if (workers.session(this.workerId) !== this.#session) return false;
    registration.leave(this.#session, isLost);
    supervisor.workArrived();
    return true;
  }

  /** The same worker process has connected again; its leases are the new connection's. */
  #replaced(): void {
    this.#parts.liveness.forget(this.#session);
    this.#session.close(closeCodes.nameTaken, 'the same worker has connected again');
  }
}

function nameOfAnother(name: string): string {
  return `the name ${JSON.stringify(name)} belongs to another key, also while its worker is away and when that key is revoked. Give this worker another name, or have an operator free this one: svc workers forget ${JSON.stringify(name)}`;
}
