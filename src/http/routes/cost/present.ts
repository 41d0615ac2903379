import type { CostAmounts } from '../../../domain/cost.ts';
import type { CalendarPeriod, CostBreakdown, CostLine, CostSummary } from '../../../domain/costReport.ts';
import type {
  WireCostBreakdown,
  WireCostLine,
  WireCostPeriod,
  WireCostSummary,
  WireCostTotals,
} from '../../../domain/wire/cost.ts';
import { iso } from '../../../domain/wire/iso.ts';

const dollars = (nanoDollars: number): number => nanoDollars / 1e9;

export function presentSummary({ period, amounts, previous, series }: CostSummary): WireCostSummary {
  return {
    ...presentPeriod(period),
    ...presentTotals(amounts),
    previous: { from: iso(period.previousFrom), to: iso(period.from), ...presentTotals(previous) },
    series: series.map((part) => ({
      from: iso(part.from),
      cost_usd: dollars(part.amounts.nanoDollars),
      jobs: part.amounts.jobs,
      unknown_cost_attempts: part.amounts.unknown,
    })),
  };
}

export function presentBreakdown(breakdown: CostBreakdown): WireCostBreakdown {
  const { period, by, total, lines, models, workerNames } = breakdown;
  const head = { ...presentPeriod(period), total_cost_usd: dollars(total.nanoDollars) };
  const modelOf = ({ key: [, model = null], ...line }: CostLine) => ({ model, ...presentLine(line) });
  switch (by) {
    case 'provider':
      return {
        ...head,
        providers: lines.map(({ key: [provider], ...line }) => ({
          provider: provider ?? '',
          ...presentLine(line),
          models: (models.get(provider ?? '') ?? []).map(modelOf),
        })),
      };
    case 'model':
      return { ...head, models: lines.map((line) => ({ provider: line.key[0] ?? '', ...modelOf(line) })) };
    case 'worker':
      return {
        ...head,
        workers: lines.map(({ key: [id], ...line }) => ({
          worker_id: id ?? '',
          name: workerNames.get(id ?? '') ?? null,
          ...presentLine(line),
        })),
      };
    case 'tag':
      return {
        ...head,
        tags: lines.map(({ key: [tag = null], ...line }) => ({ tag, ...presentLine(line) })),
      };
    case 'tier':
      return {
        ...head,
        tiers: lines.map(({ key: [tier = null], ...line }) => ({ tier, ...presentLine(line) })),
      };
  }
}

function presentPeriod({ name, from, to, zone }: CalendarPeriod): WireCostPeriod {
  return { period: name, from: iso(from), to: iso(to), timezone: zone, currency: 'USD' };
}

function presentTotals(amounts: CostAmounts): WireCostTotals {
  return {
    total_cost_usd: dollars(amounts.nanoDollars),
    jobs: amounts.jobs,
    attempts: amounts.attempts,
    input_tokens: amounts.inputTokens,
    output_tokens: amounts.outputTokens,
    cached_input_tokens: amounts.cachedInputTokens,
    reasoning_tokens: amounts.reasoningTokens,
    unknown_cost_attempts: amounts.unknown,
  };
}

/** The figures of a line, without its key. */
export function presentLine({ amounts, share }: Omit<CostLine, 'key'>): WireCostLine {
  return {
    cost_usd: dollars(amounts.nanoDollars),
    share,
    jobs: amounts.jobs,
    attempts: amounts.attempts,
    input_tokens: amounts.inputTokens,
    output_tokens: amounts.outputTokens,
    unknown_cost_attempts: amounts.unknown,
  };
}
