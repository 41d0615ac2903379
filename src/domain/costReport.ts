import type { CostAmounts, CostKey } from './cost.ts';

export const periodNames = ['day', 'week', 'month'] as const;
export type PeriodName = (typeof periodNames)[number];

/** A range of days, both included; days since 1970-01-01. */
export interface DayRange {
  firstDay: number;
  lastDay: number;
}

/** The period of a report: the current calendar period, or days. */
export type CostSpan = PeriodName | DayRange;

/** The dimensions of a breakdown. */
export const breakdowns = ['provider', 'model', 'worker', 'tag', 'tier'] as const;
export type BreakdownName = (typeof breakdowns)[number];

/** A calendar period or a range of days, up to now at most, with the start of the period before. Times are epoch ms. */
export interface CalendarPeriod {
  name: PeriodName | 'custom';
  /** IANA name. */
  zone: string;
  /** Start of the period before, which ends at `from`. */
  previousFrom: number;
  from: number;
  /** Now, or the end of the last day when that is over. */
  to: number;
  /** Exclusive: `to`; when that is now, one more, so that attempts ending at this moment count. */
  end: number;
  /** Starts of its parts, hours of a day and days of a week or month; the first is `from`, none is after `to`. */
  begins: readonly number[];
}

export interface CostSummary {
  period: CalendarPeriod;
  amounts: CostAmounts;
  /** Of the whole period before. */
  previous: CostAmounts;
  series: { from: number; amounts: CostAmounts }[];
}

/** One line of a breakdown. */
export interface CostLine {
  /** As in `CostDimension`; `[provider]` by provider. */
  key: CostKey;
  amounts: CostAmounts;
  /** Of the total cost, 0..1; 0 when nothing has a cost. */
  share: number;
}

export interface CostBreakdown {
  period: CalendarPeriod;
  by: BreakdownName;
  total: CostAmounts;
  /** The most expensive first. */
  lines: CostLine[];
  /** By provider: its models. By worker: their names, as far as known. */
  models: ReadonlyMap<string, CostLine[]>;
  workerNames: ReadonlyMap<string, string>;
}
