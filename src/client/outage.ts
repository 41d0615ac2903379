import { ApiError, Unreachable } from './errors.ts';

/** How long the coordinator may be away, ms: a restart, even with an upgrade, is no reason to give up. */
const awayMs = 120_000;
const awayPauseMs = 1_000;

/** For repeated requests: which failures are temporary, and when to give up. */
export class Outage {
  readonly #now: () => number;
  #hasAnswered: boolean;
  /** The first failure since the last answer. It counts from there: a long request may have been running before it. */
  #since: number | null = null;

  /** @param hasAnswered whether the coordinator was reachable before; otherwise a failure is final. */
  constructor(hasAnswered: boolean, now: () => number = () => performance.now()) {
    this.#hasAnswered = hasAnswered;
    this.#now = now;
  }

  answered(): void {
    this.#hasAnswered = true;
    this.#since = null;
  }

  /** How long to pause before the next request after a temporary failure, ms. @throws any other failure. */
  pauseAfter(error: unknown): number {
    const isAway =
      error instanceof Unreachable || (error instanceof ApiError && [502, 503, 504].includes(error.status));
    if (isAway && this.#hasAnswered) {
      this.#since ??= this.#now();
      if (this.#now() - this.#since < awayMs) return awayPauseMs;
    }
    if (error instanceof ApiError && error.status === 429) return (error.retryAfterSeconds ?? 1) * 1000;
    throw error;
  }
}
