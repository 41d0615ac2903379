/** The totals of attempts and jobs in every report. Whole numbers, so that sums never drift. */
export const amountNames = [
  'jobs',
  'attempts',
  'nanoDollars',
  'unknown',
  'inputTokens',
  'outputTokens',
  'cachedInputTokens',
  'reasoningTokens',
] as const;

/**
 * - `jobs`         that have ended, each counted once, where its last attempt ran
 * - `attempts`     that have ended
 * - `nanoDollars`  of the attempts whose cost is known
 * - `unknown`      attempts whose cost is not known (yet); they are not in `nanoDollars`
 * - tokens         as reported by workers, without implausible usage; input includes cached, output includes reasoning
 */
export type CostAmounts = Record<(typeof amountNames)[number], number>;

export const noAmounts: CostAmounts = Object.freeze({
  jobs: 0,
  attempts: 0,
  nanoDollars: 0,
  unknown: 0,
  inputTokens: 0,
  outputTokens: 0,
  cachedInputTokens: 0,
  reasoningTokens: 0,
});

/** `a` plus `sign` times `b`, as new amounts. */
export function addAmounts(a: CostAmounts, b: CostAmounts, sign: 1 | -1 = 1): CostAmounts {
  return {
    jobs: a.jobs + sign * b.jobs,
    attempts: a.attempts + sign * b.attempts,
    nanoDollars: a.nanoDollars + sign * b.nanoDollars,
    unknown: a.unknown + sign * b.unknown,
    inputTokens: a.inputTokens + sign * b.inputTokens,
    outputTokens: a.outputTokens + sign * b.outputTokens,
    cachedInputTokens: a.cachedInputTokens + sign * b.cachedInputTokens,
    reasoningTokens: a.reasoningTokens + sign * b.reasoningTokens,
  };
}

export function isNothing(amounts: CostAmounts): boolean {
  return amountNames.every((name) => amounts[name] === 0);
}

/**
 * The dimensions of the totals; in brackets the key of a bucket. A provider is the sum of its models.
 * - `total` `[]`; `model` `[provider, model]`; `worker` `[id]`; `tier` `[tier]`; `tag` `[tag]`
 * - null is none: no known model, no tier, no tags. A job with several tags counts for each of them.
 */
export const costDimensions = ['total', 'model', 'worker', 'tier', 'tag'] as const;
export type CostDimension = (typeof costDimensions)[number];
export type CostKey = readonly (string | null)[];

/** Every local midnight in use falls on an edge: see docs/decisions/0005-quarter-hour-buckets.md. */
export const bucketMs = 900_000;

/** The totals of attempts that ended within one quarter of an hour, for one key of a dimension. */
export interface CostBucket {
  /** Its start, epoch ms, a multiple of `bucketMs`. */
  from: number;
  key: CostKey;
  amounts: CostAmounts;
}
