import type { CostAmounts, CostKey } from './cost.ts';

export const periodNames = ['day', 'week', 'month'] as const;
export type PeriodName = (typeof periodNames)[number];

/** Days of one's own choice, both included; days since 1970-01-01. */
export interface DayRange {
  firstDay: number;
  lastDay: number;
}

/** What a report is of: the period that runs now, or days. */
export type CostSpan = PeriodName | DayRange;

/** What a breakdown can be by. */
export const breakdowns = ['provider', 'model', 'worker', 'tag', 'tier'] as const;
export type BreakdownName = (typeof breakdowns)[number];

/** A calendar period or days, at most up to now, and where those before began. Times are epoch ms. */
export interface CalendarPeriod {
  name: PeriodName | 'custom';
  /** IANA name. */
  zone: string;
  /** Begin of the period before, which ends at `from`. */
  previousFrom: number;
  from: number;
  /** Now, or the end of the last day when that is over. */
  to: number;
  /** What is before it counts: `to`, and with now also what ends at this moment. */
  end: number;
  /** Begins of its parts, hours of a day and days of a week or month; the first is `from`, none is after `to`. */
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
  /** The dearest first. */
  lines: CostLine[];
  /** By provider: its models. By worker: how they are called, as far as they are known. */
  models: ReadonlyMap<string, CostLine[]>;
  workerNames: ReadonlyMap<string, string>;
}
