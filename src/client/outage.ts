import { ApiError, Unreachable } from './errors.ts';

/** A restart of the coordinator, with an upgrade in it, is no reason to give up: so long it may be away, ms. */
const awayMs = 120_000;
const awayPauseMs = 1_000;

/** Of questions that are asked again and again: which failures pass by themselves, and when one has waited long enough. */
export class Outage {
  readonly #now: () => number;
  #hasAnswered: boolean;
  /** The first failure since the last answer. It counts from there: a long question may have been under way before it. */
  #since: number | null = null;

  /** @param hasAnswered whether the coordinator was there before; one that never was is not waited for. */
  constructor(hasAnswered: boolean, now: () => number = () => performance.now()) {
    this.#hasAnswered = hasAnswered;
    this.#now = now;
  }

  answered(): void {
    this.#hasAnswered = true;
    this.#since = null;
  }

  /** How long to pause before the next question after a failure that passes by itself, ms. @throws any other failure. */
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
