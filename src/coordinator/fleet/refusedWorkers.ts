import type { Clock } from '../../domain/clock.ts';
import type { RefusedWorker } from '../../domain/worker.ts';

/** Anybody may be refused: beyond this many the ones that tried longest ago are forgotten. */
const refusedMax = 100;
/** A worker tries again every 30 s at most, so one that was not heard for so long has stopped trying, ms. */
const forgottenMs = 180_000;

/** Workers that try to connect and are refused, so that somebody sees them: they cannot say it themselves. */
export class RefusedWorkers {
  readonly #clock: Clock;
  /** In the order of their last try. */
  readonly #byKey = new Map<string, RefusedWorker>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A worker was refused. @param name null when it was refused before it could say one. */
  add(address: string | null, name: string | null, why: string): void {
    const at = this.#clock.now();
    const key = JSON.stringify([address, name, why]);
    const before = this.#byKey.get(key);
    this.#byKey.delete(key);
    this.#byKey.set(key, {
      address,
      name,
      why,
      since: before?.since ?? at,
      at,
      tries: (before?.tries ?? 0) + 1,
    });
    const [oldest] = this.#byKey.size > refusedMax ? this.#byKey.keys() : [];
    if (oldest !== undefined) this.#byKey.delete(oldest);
  }

  /** A worker of this name has connected. */
  joined(name: string): void {
    for (const [key, refused] of this.#byKey) if (refused.name === name) this.#byKey.delete(key);
  }

  /** Those that still try, the last one first. */
  list(): RefusedWorker[] {
    const after = this.#clock.now() - forgottenMs;
    return [...this.#byKey.values()].filter(({ at }) => at > after).reverse();
  }
}
