import { addAmounts, type CostAmounts, noAmounts } from '../../src/domain/cost.ts';
import type { Attempt, JobLife, JobRequest } from '../../src/domain/job.ts';

/** What one attempt or the end of one job counts for, and where: worked out from the jobs as they stand, without a ledger. */
export interface Count {
  at: number;
  provider: string;
  model: string | null;
  workerId: string;
  tier: string | null;
  tags: string[];
  outcome: string;
  amounts: CostAmounts;
}

/** Everything that a job counts for. */
export function countsOf({
  request,
  life,
}: {
  request: Pick<JobRequest, 'tier' | 'tags'>;
  life: JobLife;
}): Count[] {
  const { tier, tags } = request;
  const counts: Count[] = [];
  for (const attempt of life.attempts) {
    const { finishedAt, outcome, usage, cost } = attempt;
    if (finishedAt === null || outcome === null) continue;
    counts.push({
      ...placeOf(attempt),
      at: finishedAt,
      tier,
      tags,
      outcome,
      amounts: {
        jobs: 0,
        attempts: 1,
        nanoDollars: cost.status === 'known' ? (cost.nanoDollars ?? Number.NaN) : 0,
        unknown: cost.status === 'unknown' ? 1 : 0,
        inputTokens: usage?.inputTokens ?? 0,
        outputTokens: usage?.outputTokens ?? 0,
        cachedInputTokens: usage?.cachedInputTokens ?? 0,
        reasoningTokens: usage?.reasoningTokens ?? 0,
      },
    });
  }
  const last = life.attempts.at(-1);
  if (life.finishedAt !== null && last?.outcome) {
    const amounts = { ...noAmounts, jobs: 1 };
    counts.push({ ...placeOf(last), at: life.finishedAt, tier, tags, outcome: last.outcome, amounts });
  }
  return counts;
}

function placeOf({ provider, model, workerId }: Attempt): Pick<Count, 'provider' | 'model' | 'workerId'> {
  return { provider, model, workerId };
}

/** The amounts by key, those that come to nothing left out. */
export function sumBy<T extends { amounts: CostAmounts }>(
  counts: readonly T[],
  keysOf: (count: T) => string[],
): Record<string, CostAmounts> {
  const sums: Record<string, CostAmounts> = {};
  for (const count of counts) {
    for (const key of keysOf(count)) sums[key] = addAmounts(sums[key] ?? noAmounts, count.amounts);
  }
  return Object.fromEntries(
    Object.entries(sums)
      .filter(([, amounts]) => Object.values(amounts).some((amount) => amount !== 0))
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );
}
