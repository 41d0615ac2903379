/**
 * Money is an integer count of nano-dollars (1e-9 US dollars), so that sums never drift. A job of 10 input tokens at
 * 1,000 dollars a million costs 10,000,000 nano-dollars.
 */
export type NanoDollars = number;

/** `none`: nothing was used; `partial`: some costs are known and some unknown. */
export type CostStatus = 'none' | 'known' | 'unknown' | 'partial';

export interface Cost {
  /** null when there is none or it is unknown; never 0 for unknown. */
  nanoDollars: NanoDollars | null;
  status: CostStatus;
}

export const noCost: Cost = { nanoDollars: null, status: 'none' };
export const unknownCost: Cost = { nanoDollars: null, status: 'unknown' };

/** Dollars for the wire. */
export function toDollars(nanoDollars: NanoDollars | null): number | null {
  return nanoDollars === null ? null : nanoDollars / 1e9;
}

/** The cost of several attempts together. Unknown parts make it `partial`, or `unknown` when nothing is known. */
export function sumCosts(costs: readonly Cost[]): Cost {
  let known = 0;
  let hasKnown = false;
  let hasUnknown = false;
  for (const cost of costs) {
    if (cost.status === 'unknown' || cost.status === 'partial') hasUnknown = true;
    if (cost.nanoDollars !== null) {
      known += cost.nanoDollars;
      hasKnown = true;
    }
  }
  if (hasKnown) return { nanoDollars: known, status: hasUnknown ? 'partial' : 'known' };
  return hasUnknown ? unknownCost : noCost;
}
