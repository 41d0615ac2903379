/** The value below which `share` of them lie, by nearest rank; NaN of nothing. @param share 0..1. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))] ?? Number.NaN;
}

/** The middle one: what a noisy machine spoils last. */
export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}
