import type { CostPeriod } from '../../../client/client.ts';
import { type BreakdownName, breakdowns, type PeriodName, periodNames } from '../../../domain/costReport.ts';
import type { WireCostBreakdown, WireCostLine, WireCostSummary } from '../../../domain/wire/cost.ts';
import { csvLine } from '../../../lib/csv.ts';
import { dollars } from '../../components/text.ts';

/** The parameters of a report in the address. */
export interface ReportQuery {
  period: PeriodName | 'custom';
  /** Dates, `2026-11-21`; empty unless the period is custom. */
  from: string;
  to: string;
  zone: string;
  by: BreakdownName;
}

const date = /^\d{4}-\d{2}-\d{2}$/;

/** Parse an address; unknown values are ignored. @param zone the default. */
export function readReportQuery(query: URLSearchParams, zone: string): ReportQuery {
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
export function askFor({ period, from, to, zone }: ReportQuery): CostPeriod {
  return period === 'custom' ? { from, to, tz: zone } : { period, tz: zone };
}

/** Whether its chart is by hours; else by days. */
export function isByHour({ period, from, to }: ReportQuery): boolean {
  return period === 'custom' ? from === to : period === 'day';
}

/** The current date in a zone. */
export function today(now: number, zone: string): string {
  return new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short' }).format(now);
}

/** A sum that may be partly unknown: never 0 for an unknown cost. */
export function sumText(usd: number, unknownAttempts: number): string {
  if (unknownAttempts === 0) return dollars(usd);
  return usd === 0 ? 'unknown' : `${dollars(usd)} or more`;
}

/** The change from the previous period; null where either is partly unknown, or the previous was 0. */
export function change(summary: WireCostSummary): { percent: number } | null {
  const { previous } = summary;
  if (summary.unknown_cost_attempts + previous.unknown_cost_attempts > 0) return null;
  if (previous.total_cost_usd === 0) return null;
  return { percent: ((summary.total_cost_usd - previous.total_cost_usd) / previous.total_cost_usd) * 100 };
}

/** A line of a breakdown with its displayed name. */
export interface ShownLine extends WireCostLine {
  name: string;
  /** Beside the name. */
  detail: string | null;
  /** Filters for the list of its jobs; null when there is no such list. */
  list: Record<string, string> | null;
}

/** The lines of any breakdown. */
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
      name: line.model ?? 'no model reported',
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

/** A breakdown as CSV. A line with an unknown cost has none, and not 0. */
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
