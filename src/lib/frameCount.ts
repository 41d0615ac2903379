/** Counts frames in windows of time: a bound that needs only two numbers. */
export class FrameCount {
  readonly #max: number;
  readonly #windowMs: number;
  #from = Number.NEGATIVE_INFINITY;
  #count = 0;

  /** @param max frames within `windowMs`. */
  constructor(max: number, windowMs: number) {
    this.#max = max;
    this.#windowMs = windowMs;
  }

  /**
   * Count one more, or `count` of something else. @param now monotonic ms. @returns whether that exceeds the maximum.
   */
  isOver(now: number, count = 1): boolean {
    if (now - this.#from >= this.#windowMs) {
      this.#from = now;
      this.#count = 0;
    }
    this.#count += count;
    return this.#count > this.#max;
  }

  /** Until the next window begins, ms. */
  restMs(now: number): number {
    return Math.max(0, this.#from + this.#windowMs - now);
  }
}
