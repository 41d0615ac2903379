/** Sources remembered at once; beyond it the one idle for longest is forgotten. */
const sourcesMax = 10_000;
const secondMs = 1000;

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
}
