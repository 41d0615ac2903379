import type { CostPeriod } from '../../../client/client.ts';
import { type BreakdownName, breakdowns, type PeriodName, periodNames } from '../../../domain/costReport.ts';
import type { WireCostBreakdown, WireCostLine, WireCostSummary } from '../../../domain/wire/cost.ts';
import { csvLine } from '../../../lib/csv.ts';
import { dollars } from '../../components/text.ts';

/** What a report is of, as it stands in the address. */
export interface Asked {
  period: PeriodName | 'custom';
  /** Dates, `2026-11-21`; empty unless the period is custom. */
  from: string;
  to: string;
  zone: string;
  by: BreakdownName;
}

const date = /^\d{4}-\d{2}-\d{2}$/;

/** What an address asks for; what it does not know it passes over. @param zone where it names none. */
export function readAsked(query: URLSearchParams, zone: string): Asked {
  const from = query.get('from') ?? '';
  const to = query.get('to') ?? '';
  const isCustom = date.test(from) && date.test(to);
  return {
    period: isCustom ? 'custom' : (periodNames.find((name) => name === query.get('period')) ?? 'day'),
    from: isCustom ? from : '',
    to: isCustom ? to : '',
    zone: query.get('tz') || zone,
    by: breakdowns.find((name) => name === query.get('by')) ?? 'provider',
  };
}

/** The same for the API. */
export function askFor({ period, from, to, zone }: Asked): CostPeriod {
  return period === 'custom' ? { from, to, tz: zone } : { period, tz: zone };
}

/** Whether its course is by hours; else by days. */
export function isByHour({ period, from, to }: Asked): boolean {
  return period === 'custom' ? from === to : period === 'day';
}

/** Today in a zone, as a date. */
export function today(now: number, zone: string): string {
  return new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short' }).format(now);
}

/** A sum of which some may be unknown: never a 0 for what nobody knows. */
export function sumText(usd: number, unknownAttempts: number): string {
  if (unknownAttempts === 0) return dollars(usd);
  return usd === 0 ? 'unknown' : `${dollars(usd)} or more`;
}

/** How a sum compares with that of before; null where either is not known whole, or there was nothing. */
export function change(summary: WireCostSummary): { percent: number } | null {
  const { previous } = summary;
  if (summary.unknown_cost_attempts + previous.unknown_cost_attempts > 0) return null;
  if (previous.total_cost_usd === 0) return null;
  return { percent: ((summary.total_cost_usd - previous.total_cost_usd) / previous.total_cost_usd) * 100 };
}

/** A line of a breakdown with the name that it is shown by. */
export interface ShownLine extends WireCostLine {
  name: string;
  /** Beside the name. */
  detail: string | null;
  /** Filters of the list of its jobs; null when there is no such list. */
  list: Record<string, string> | null;
}

/** The lines of a breakdown, whatever it is by. */
export function linesOf(breakdown: WireCostBreakdown): ShownLine[] {
  const { providers, models, workers, tags, tiers } = breakdown;
  if (providers !== undefined)
    return providers.map((line) => ({
      ...line,
      name: line.provider,
      detail: null,
      list: { provider: line.provider },
    }));
  if (models !== undefined)
    return models.map((line) => ({
      ...line,
      name: line.model ?? 'no model told',
      detail: line.provider,
      list: line.model === null ? null : { model: line.model },
    }));
  if (workers !== undefined)
    return workers.map((line) => ({
      ...line,
      name: line.name ?? line.worker_id,
      detail: line.name === null ? 'forgotten' : null,
      list: { worker: line.worker_id },
    }));
  if (tags !== undefined)
    return tags.map((line) => ({
      ...line,
      name: line.tag ?? 'without a tag',
      detail: null,
      list: line.tag === null ? null : { tag: line.tag },
    }));
  return (tiers ?? []).map((line) => ({
    ...line,
    name: line.tier ?? 'without a tier',
    detail: null,
    list: line.tier === null ? null : { tier: line.tier },
  }));
}

/** A breakdown as CSV. A line of which nothing is known has no cost, and not 0. */
export function csvOf(lines: readonly ShownLine[], by: BreakdownName): string {
  const head = [
    by,
    'detail',
    'cost_usd',
    'unknown_cost_attempts',
    'jobs',
    'attempts',
    'input_tokens',
    'output_tokens',
  ];
  const rows = lines.map((line) => [
    line.name,
    line.detail,
    line.cost_usd === 0 && line.unknown_cost_attempts > 0 ? null : line.cost_usd,
    line.unknown_cost_attempts,
    line.jobs,
    line.attempts,
    line.input_tokens,
    line.output_tokens,
  ]);
  return [head, ...rows].map(csvLine).join('');
}
