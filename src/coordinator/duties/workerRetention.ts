import type { Clock } from '../../domain/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type { Deadlines, EventBus } from '../core/index.ts';
import type { WorkerAdmin } from '../fleet/index.ts';

const dayMs = 86_400_000;
const lookEveryMs = 3_600_000;
/** So long a worker that does not come back is remembered. */
const keptMs = 30 * dayMs;
/** Workers that are known at most, unless more are connected: as many as `http.max_connections` lets in by default. */
export const workersMax = 10_000;
/** Workers that are forgotten in one commit. */
const sliceSize = 100;

/**
 * Forgets workers that have gone for good, such as containers with a new name each: those that were not heard for a month,
 * and of too many the ones that were heard longest ago.
 */
export class WorkerRetention {
  readonly #clock: Clock;
  readonly #deadlines: Deadlines;
  readonly #workers: WorkerAdmin;
  readonly #bus: EventBus;
  readonly #logger: Logger;
  #unfollow = (): void => {};
  #isSweeping = false;
  #isClosed = false;

  constructor(options: {
    clock: Clock;
    deadlines: Deadlines;
    workers: WorkerAdmin;
    bus: EventBus;
    logger: Logger;
  }) {
    this.#clock = options.clock;
    this.#deadlines = options.deadlines;
    this.#workers = options.workers;
    this.#bus = options.bus;
    this.#logger = options.logger;
  }

  /** Look in an hour, when those that come back after a restart are back, and then every hour; and when there are too many. */
  start(): void {
    this.#unfollow = this.#bus.subscribe(({ type }) => {
      if (type === 'worker.disconnected' && this.#workers.count > workersMax) void this.#sweep();
    });
    this.#lookLater();
  }

  close(): void {
    this.#isClosed = true;
    this.#unfollow();
  }

  #lookLater(): void {
    if (this.#isClosed) return;
    this.#deadlines.set(this.#clock.monotonic() + lookEveryMs, () => {
      this.#sweep().then(() => this.#lookLater());
    });
  }

  async #sweep(): Promise<void> {
    if (this.#isSweeping) return;
    this.#isSweeping = true;
    try {
      await this.#workers.keepHeard(this.#clock.now() - dayMs);
      const leaving = this.#leaving();
      for (let done = 0; done < leaving.length && !this.#isClosed; done += sliceSize) {
        const slice = leaving.slice(done, done + sliceSize);
        await Promise.all(slice.map((id) => this.#workers.forget(id, null)));
      }
      if (leaving.length > 0) this.#logger.info({ workers: leaving.length }, 'forgot workers that are gone');
    } catch (error) {
      // One has come back meanwhile, or the store takes no writes.
      this.#logger.warn({ err: error }, 'not all workers that are gone were forgotten');
    } finally {
      this.#isSweeping = false;
    }
  }

  #leaving(): string[] {
    const tooMany = this.#workers.count - workersMax;
    const heardBefore = this.#clock.now() - keptMs;
    return this.#workers
      .forgettable()
      .filter(({ lastHeartbeatAt }, place) => place < tooMany || (lastHeartbeatAt ?? 0) < heardBefore)
      .map(({ id }) => id);
  }
}
