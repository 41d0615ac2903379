/** How fast the jobs of a run end: counts of the last minute, in steps of five seconds. In memory only. */

/** Milliseconds that one count covers. */
const stepMs = 5_000;
const steps = 12;

export class RunPace {
  readonly #counts = new Array<number>(steps).fill(0);
  /** The step of the last count, and of the first ever. */
  #last = Number.NEGATIVE_INFINITY;
  #first = Number.POSITIVE_INFINITY;

  /** A job has ended. @param at monotonic ms. */
  count(at: number): void {
    const step = Math.floor(at / stepMs);
    this.#moveTo(step);
    this.#counts[step % steps] = (this.#counts[step % steps] ?? 0) + 1;
    this.#first = Math.min(this.#first, step);
  }

  /** Jobs a minute over the last minute, or since the first one when that is later; 0 when none has ended since. */
  perMinute(at: number): number {
    const step = Math.floor(at / stepMs);
    this.#moveTo(step);
    const ended = this.#counts.reduce((sum, count) => sum + count, 0);
    if (ended === 0) return 0;
    const sinceFirst = at - this.#first * stepMs;
    const window = Math.min(steps * stepMs - (stepMs - (at % stepMs)), Math.max(stepMs, sinceFirst));
    return (ended * 60_000) / window;
  }

  #moveTo(step: number): void {
    const passed = Math.min(steps, step - this.#last);
    for (let index = 1; index <= passed; index += 1) this.#counts[(this.#last + index) % steps] = 0;
    if (passed === steps) this.#counts.fill(0);
    this.#last = Math.max(this.#last, step);
  }
}
