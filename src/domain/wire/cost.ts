import type { PeriodName } from '../costReport.ts';
import type { Iso } from './iso.ts';

/** A calendar period in a time zone or a range of its days, up to now at most. */
export interface WireCostPeriod {
  period: PeriodName | 'custom';
  from: Iso;
  /** Now, or the end of the last day. */
  to: Iso;
  /** IANA name. */
  timezone: string;
  currency: 'USD';
}

export interface WireCostTotals {
  /** Of the attempts whose cost is known; the others are in `unknown_cost_attempts`. */
  total_cost_usd: number;
  jobs: number;
  attempts: number;
  input_tokens: number;
  output_tokens: number;
  cached_input_tokens: number;
  reasoning_tokens: number;
  unknown_cost_attempts: number;
}

export interface WireCostSummary extends WireCostPeriod, WireCostTotals {
  /** The whole period before. */
  previous: WireCostTotals & { from: Iso; to: Iso };
  /** Hours of a day, days of a week or month; none after now. */
  series: { from: Iso; cost_usd: number; jobs: number; unknown_cost_attempts: number }[];
}

export interface WireCostLine {
  cost_usd: number;
  /** Of the total, 0..1. */
  share: number;
  jobs: number;
  attempts: number;
  input_tokens: number;
  output_tokens: number;
  unknown_cost_attempts: number;
}

export type WireCostModel = { model: string | null } & WireCostLine;
export type WireCostProvider = { provider: string } & WireCostLine & { models: WireCostModel[] };

/** By `by`: one of the lists, the most expensive first. */
export interface WireCostBreakdown extends WireCostPeriod {
  total_cost_usd: number;
  providers?: WireCostProvider[];
  models?: ({ provider: string } & WireCostModel)[];
  workers?: ({ worker_id: string; name: string | null } & WireCostLine)[];
  tags?: ({ tag: string | null } & WireCostLine)[];
  tiers?: ({ tier: string | null } & WireCostLine)[];
}
