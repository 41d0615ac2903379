import type { Clock } from '../../domain/clock.ts';
import { closeCodes } from '../../domain/workerProtocol.ts';
import type { Deadline, Deadlines } from '../core/index.ts';
import type { WorkerSession } from './workerSession.ts';
import type { WorkerSignals } from './workerSignals.ts';

/** In heartbeat intervals after the last frame: no new work, and taken for gone. */
const lateAfter = 1.5;
const goneAfter = 2.5;

/** Watches that every connected worker is heard in time. */
export class Liveness {
  readonly #clock: Clock;
  readonly #deadlines: Deadlines;
  readonly #signals: WorkerSignals;
  readonly #watched = new Map<WorkerSession, Deadline>();

  constructor(options: {
    clock: Clock;
    deadlines: Deadlines;
    signals: WorkerSignals;
  }) {
    this.#clock = options.clock;
    this.#deadlines = options.deadlines;
    this.#signals = options.signals;
  }

  /** @param onGone called when it has been silent for too long; it is closed then. */
  watch(session: WorkerSession, onGone: () => void): void {
    this.forget(session);
    this.#arm(session, onGone);
  }

  forget(session: WorkerSession): void {
    this.#deadlines.clear(this.#watched.get(session) ?? null);
    this.#watched.delete(session);
  }

  /** This process stalled: what was sent meanwhile is still in the sockets. */
  refreshAll(): void {
    for (const session of this.#watched.keys()) session.heardAt = this.#clock.monotonic();
  }

  /** Monotonic ms when nothing was heard of it for so many heartbeat intervals. */
  #silentAt(session: WorkerSession, intervals: number): number {
    return session.heardAt + intervals * session.beatMs;
  }

  /** By the sum that its deadline was set with: a difference may round the other way, and the sweep would never end. */
  #isSilent(session: WorkerSession, intervals: number): boolean {
    return this.#clock.monotonic() >= this.#silentAt(session, intervals);
  }

  #arm(session: WorkerSession, onGone: () => void): void {
    const after = this.#isSilent(session, lateAfter) ? goneAfter : lateAfter;
    const deadline = this.#deadlines.set(this.#silentAt(session, after), () => this.#look(session, onGone));
    this.#watched.set(session, deadline);
  }

  /** Beats do not move the deadline, they are counted when it comes: a beat costs nothing. */
  #look(session: WorkerSession, onGone: () => void): void {
    if (this.#isSilent(session, goneAfter)) {
      session.close(closeCodes.noHeartbeat, 'no heartbeat');
      onGone();
      return;
    }
    if (this.#isSilent(session, lateAfter)) {
      this.#signals.noticed(session.workerId, { type: 'worker.late', at: this.#clock.now() });
    }
    this.#arm(session, onGone);
  }
}
