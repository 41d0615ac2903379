import type { Clock } from '../../domain/clock.ts';
import type { EventBus } from '../core/index.ts';

/** Requests that wait for the end of a job. */
export class JobWaits {
  readonly #clock: Clock;
  readonly #bus: EventBus;
  /** Each ends one wait. */
  readonly #ends = new Set<() => void>();
  #isOver = false;

  constructor({ clock, bus }: { clock: Clock; bus: EventBus }) {
    this.#clock = clock;
    this.#bus = bus;
  }

  /**
   * Wait until the job ends, `waitMs` have passed, the signal is aborted or all waits are ended.
   * @param hasEnded asked once the wait would notice the end, so that none is missed in between.
   */
  async untilEnd(
    id: string,
    waitMs: number,
    signal: AbortSignal,
    hasEnded: () => Promise<boolean>,
  ): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const forget = this.#bus.onEnd(id, () => resolve());
    const cancelTimer = this.#clock.after(waitMs, resolve);
    signal.addEventListener('abort', () => resolve(), { once: true });
    this.#ends.add(resolve);
    try {
      if (this.#isOver || signal.aborted || (await hasEnded())) return;
      await promise;
    } finally {
      this.#ends.delete(resolve);
      forget();
      cancelTimer();
    }
  }

  /** End all waits, those to come too. */
  endAll(): void {
    this.#isOver = true;
    for (const end of this.#ends) end();
  }
}
