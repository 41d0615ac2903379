import { spanAt } from '../../cost/periods.ts';
import { linesOf, summarise, sumOf } from '../../cost/reports.ts';
import type { Clock } from '../../domain/clock.ts';
import type { CostDimension } from '../../domain/cost.ts';
import type {
  BreakdownName,
  CostBreakdown,
  CostLine,
  CostSpan,
  CostSummary,
} from '../../domain/costReport.ts';
import type { Store } from '../../store/store.ts';

/** What a report reads. */
interface Sources {
  store: Store;
  clock: Clock;
}

/** A calendar period of a zone up to now, or days of it: what was spent, and on what time of it. */
export async function costSummary(
  { store, clock }: Sources,
  span: CostSpan,
  zone: string,
): Promise<CostSummary> {
  const period = spanAt(span, zone, clock.now());
  return summarise(period, await store.costBuckets(period.previousFrom, period.end, 'total'));
}

const dimensionOf: Record<BreakdownName, CostDimension> = {
  provider: 'model',
  model: 'model',
  worker: 'worker',
  tag: 'tag',
  tier: 'tier',
};

/** The same period, by what it was spent on. Both figures of it are of the same moment: lines and total agree. */
export async function costBreakdown(
  { store, clock }: Sources,
  by: BreakdownName,
  span: CostSpan,
  zone: string,
): Promise<CostBreakdown> {
  const period = spanAt(span, zone, clock.now());
  const [totals, buckets, workers] = await Promise.all([
    store.costBuckets(period.from, period.end, 'total'),
    store.costBuckets(period.from, period.end, dimensionOf[by]),
    by === 'worker' ? store.workers() : [],
  ]);
  const total = sumOf(totals);
  const found = linesOf(buckets, total);
  const lines = by === 'provider' ? linesOf(found, total, ([provider = null]) => [provider]) : found;
  const models = new Map<string, CostLine[]>();
  if (by === 'provider') {
    for (const line of found) {
      const provider = line.key[0] ?? '';
      const others = models.get(provider);
      if (others === undefined) models.set(provider, [line]);
      else others.push(line);
    }
  }
  const workerNames = new Map(workers.map(({ life }) => [life.id, life.name]));
  return { period, by, total, lines, models, workerNames };
}
