import { addAmounts, type CostAmounts, type CostBucket, type CostKey, noAmounts } from '../domain/cost.ts';
import type { CalendarPeriod, CostLine, CostSummary } from '../domain/costReport.ts';

/** @param buckets of the dimension `total`, from the start of the period before. */
export function summarise(period: CalendarPeriod, buckets: readonly CostBucket[]): CostSummary {
  const series = period.begins.map((from) => ({ from, amounts: noAmounts }));
  let previous = noAmounts;
  for (const { from, amounts } of buckets) {
    const part = series[lastAtOrBefore(period.begins, from)];
    if (part === undefined) previous = addAmounts(previous, amounts);
    else part.amounts = addAmounts(part.amounts, amounts);
  }
  const amounts = series.reduce((sum, part) => addAmounts(sum, part.amounts), noAmounts);
  return { period, amounts, previous, series };
}

/** Index of the last of the rising `begins` that is not after `at`; −1 when all are. */
function lastAtOrBefore(begins: readonly number[], at: number): number {
  let low = -1;
  let high = begins.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((begins[middle] ?? 0) <= at) low = middle;
    else high = middle - 1;
  }
  return low;
}

export function sumOf(buckets: readonly CostBucket[]): CostAmounts {
  return buckets.reduce((sum, { amounts }) => addAmounts(sum, amounts), noAmounts);
}

/**
 * The buckets by key, the most expensive first, then those with the most attempts, then by name. Lines that were
 * corrected to nothing are omitted.
 * @param keyOf lets several keys share a line.
 */
export function linesOf(
  buckets: readonly Pick<CostBucket, 'key' | 'amounts'>[],
  total: CostAmounts,
  keyOf: (key: CostKey) => CostKey = (key) => key,
): CostLine[] {
  const sums = new Map<string, { key: CostKey; amounts: CostAmounts }>();
  const known = new Map<CostKey, { key: CostKey; amounts: CostAmounts }>();
  for (const bucket of buckets) {
    // Buckets of a month share their keys, so the text of each is made only a few times.
    let sum = known.get(bucket.key);
    if (sum === undefined) {
      const key = keyOf(bucket.key);
      const text = JSON.stringify(key);
      sum = sums.get(text) ?? { key, amounts: noAmounts };
      sums.set(text, sum);
      known.set(bucket.key, sum);
    }
    sum.amounts = addAmounts(sum.amounts, bucket.amounts);
  }
  return [...sums]
    .filter(([, { amounts }]) => amounts.attempts !== 0 || amounts.jobs !== 0 || amounts.nanoDollars !== 0)
    .sort(
      ([aText, { amounts: a }], [bText, { amounts: b }]) =>
        b.nanoDollars - a.nanoDollars || b.attempts - a.attempts || (aText < bText ? -1 : 1),
    )
    .map(([, { key, amounts }]) => ({
      key,
      amounts,
      share: total.nanoDollars === 0 ? 0 : amounts.nanoDollars / total.nanoDollars,
    }));
}
