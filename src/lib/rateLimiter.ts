/** Sources remembered at once; beyond it the one idle for longest is forgotten. */
const sourcesMax = 10_000;
const secondMs = 1000;

/** What a source may still send. */
export interface Allowance {
  /** Requests that may arrive at once from a full bucket. */
  limit: number;
  remaining: number;
  /** Until the bucket is full again. */
  fullInMs: number;
}

/**
 * A token bucket for each source: one second's worth of requests may arrive at once, at least one, and then `perSecond`
 * a second. Stored as the time at which a source has its full bucket again (the generic cell rate algorithm, ITU-T
 * I.371), so that an idle source costs nothing and an active one a number.
 */
export class RateLimiter {
  readonly #fullAt = new Map<string, number>();
  #perSecond = 0;

  /** How many sources are remembered: at most 10,000. */
  get size(): number {
    return this.#fullAt.size;
  }

  /**
   * Count a request.
   * @param perSecond above 0; a changed value gives every source a full bucket. @param now monotonic ms.
   * @returns 0 when it may pass, else in how many ms the next one may. A refused request costs its source nothing.
   */
  take(source: string, perSecond: number, now: number): number {
    if (perSecond !== this.#perSecond) {
      this.#fullAt.clear();
      this.#perSecond = perSecond;
    }
    const costMs = secondMs / perSecond;
    const bucketMs = Math.max(secondMs, costMs);
    const fullAt = Math.max(now, this.#fullAt.get(source) ?? now) + costMs;
    const waitMs = fullAt - bucketMs - now;
    // Times are sums of fractions: do not refuse for a microsecond.
    if (waitMs > 1e-3) return waitMs;
    // Keeps the map in the order of the last request.
    this.#fullAt.delete(source);
    this.#fullAt.set(source, fullAt);
    const [quietest] = this.#fullAt.size > sourcesMax ? this.#fullAt.keys() : [];
    if (quietest !== undefined) this.#fullAt.delete(quietest);
    return 0;
  }

  /** Take back the last `take` of a source that was let pass: the request has not happened. */
  giveBack(source: string): void {
    const fullAt = this.#fullAt.get(source);
    if (fullAt !== undefined) this.#fullAt.set(source, fullAt - secondMs / this.#perSecond);
  }

  /** What is left after the last `take` of a source, with the same arguments. */
  left(source: string, perSecond: number, now: number): Allowance {
    const costMs = secondMs / perSecond;
    const bucketMs = Math.max(secondMs, costMs);
    const fullInMs = Math.max(0, (this.#fullAt.get(source) ?? now) - now);
    // As above: times are sums of fractions.
    const requests = (ms: number) => Math.floor((ms + 1e-3) / costMs);
    return { limit: requests(bucketMs), remaining: requests(Math.max(0, bucketMs - fullInMs)), fullInMs };
  }
}
