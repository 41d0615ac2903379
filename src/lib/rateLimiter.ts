/** Sources that are remembered at once; beyond it the one that has been quiet for longest is forgotten. */
const sourcesMax = 10_000;
const secondMs = 1000;

/**
 * A token bucket for each source: one second's worth of requests may come at once, at least one, and then as many a
 * second as `perSecond` says. Kept as the moment at which a source has its whole bucket back (the generic cell rate
 * algorithm, ITU-T I.371), so that a source that is quiet costs nothing and one that is not costs a number.
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
   * @param perSecond above 0; another one than last time gives every source its whole bucket. @param now monotonic ms.
   * @returns 0 when it may pass, else in how many ms the next one may. One that may not pass costs its source nothing.
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
    // Times are sums of fractions: a microsecond is no reason to refuse.
    if (waitMs > 1e-3) return waitMs;
    // The one that came last stands last.
    this.#fullAt.delete(source);
    this.#fullAt.set(source, fullAt);
    const [quietest] = this.#fullAt.size > sourcesMax ? this.#fullAt.keys() : [];
    if (quietest !== undefined) this.#fullAt.delete(quietest);
    return 0;
  }
}
