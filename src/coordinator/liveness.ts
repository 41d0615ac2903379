import type { Config } from '../config/config.ts';
import type { Clock } from '../domain/clock.ts';
import { closeCodes } from '../domain/workerProtocol.ts';
import type { Deadline, Deadlines } from './deadlines.ts';
import type { WorkerSession } from './workerSession.ts';
import type { Workers } from './workers.ts';

/** In heartbeat intervals after the last frame: no new work, and taken for gone. */
const lateAfter = 1.5;
const goneAfter = 2.5;

/** Watches that every connected worker is heard in time. */
export class Liveness {
  readonly #config: () => Config;
  readonly #clock: Clock;
  readonly #deadlines: Deadlines;
  readonly #workers: Workers;
  readonly #onGone: (session: WorkerSession) => void;
  readonly #watched = new Map<WorkerSession, Deadline>();

  constructor(options: {
    config: () => Config;
    clock: Clock;
    deadlines: Deadlines;
    workers: Workers;
    onGone: (session: WorkerSession) => void;
  }) {
    this.#config = options.config;
    this.#clock = options.clock;
    this.#deadlines = options.deadlines;
    this.#workers = options.workers;
    this.#onGone = options.onGone;
  }

  watch(session: WorkerSession): void {
    this.#arm(session);
  }

  forget(session: WorkerSession): void {
    this.#deadlines.clear(this.#watched.get(session) ?? null);
    this.#watched.delete(session);
  }

  /** The coordinator itself stood still: whatever was sent meanwhile is still in the sockets. */
  refreshAll(): void {
    for (const session of this.#watched.keys()) session.heardAt = this.#clock.monotonic();
  }

  #intervalMs(): number {
    return this.#config().jobs.heartbeatIntervalSeconds * 1000;
  }

  #arm(session: WorkerSession): void {
    this.#deadlines.clear(this.#watched.get(session) ?? null);
    const silentMs = this.#clock.monotonic() - session.heardAt;
    const nextMs = (silentMs < lateAfter * this.#intervalMs() ? lateAfter : goneAfter) * this.#intervalMs();
    this.#watched.set(
      session,
      this.#deadlines.set(session.heardAt + nextMs, () => this.#look(session)),
    );
  }

  /** Beats do not move the deadline, they are counted when it comes: a beat costs nothing. */
  #look(session: WorkerSession): void {
    const silentMs = this.#clock.monotonic() - session.heardAt;
    if (silentMs >= goneAfter * this.#intervalMs()) {
      session.close(closeCodes.noHeartbeat, 'no heartbeat');
      this.#onGone(session);
      return;
    }
    if (silentMs >= lateAfter * this.#intervalMs()) {
      this.#workers.tell(session.workerId, { type: 'worker.late', at: this.#clock.now() });
    }
    this.#arm(session);
  }
}
