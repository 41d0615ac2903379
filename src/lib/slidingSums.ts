/**
 * Sums over the last seconds, of several things at once: a ring with one row a second, so that adding has a constant
 * cost and the memory is fixed. The current second counts as a whole one.
 */
export class SlidingSums<Name extends string> {
  readonly #names: readonly Name[];
  readonly #seconds: number;
  readonly #rows: Float64Array;
  /** The second of the newest row. */
  #newest = Number.NEGATIVE_INFINITY;

  /** @param seconds it covers at most. */
  constructor(names: readonly Name[], seconds: number) {
    this.#names = names;
    this.#seconds = seconds;
    this.#rows = new Float64Array(names.length * seconds);
  }

  /** @param nowMs of a clock that never goes back. */
  add(nowMs: number, name: Name, amount = 1): void {
    const second = this.#turn(nowMs);
    const place = (second % this.#seconds) * this.#names.length + this.#names.indexOf(name);
    this.#rows[place] = (this.#rows[place] ?? 0) + amount;
  }

  /** @param seconds to sum; no more than it covers. */
  sums(nowMs: number, seconds: number): Record<Name, number> {
    const last = this.#turn(nowMs);
    const sums = new Float64Array(this.#names.length);
    for (let back = 0; back < Math.min(seconds, this.#seconds, last + 1); back += 1) {
      const row = ((last - back) % this.#seconds) * sums.length;
      for (let index = 0; index < sums.length; index += 1)
        sums[index] = (sums[index] ?? 0) + (this.#rows[row + index] ?? 0);
    }
    return Object.fromEntries(this.#names.map((name, index) => [name, sums[index] ?? 0])) as Record<
      Name,
      number
    >;
  }

  /** Clear the rows of the seconds that have passed since the newest. @returns the current second. */
  #turn(nowMs: number): number {
    const second = Math.floor(nowMs / 1000);
    if (second - this.#newest >= this.#seconds) this.#rows.fill(0);
    else {
      for (let passed = this.#newest + 1; passed <= second; passed += 1) {
        const row = (passed % this.#seconds) * this.#names.length;
        this.#rows.fill(0, row, row + this.#names.length);
      }
    }
    this.#newest = Math.max(this.#newest, second);
    return this.#newest;
  }
}
