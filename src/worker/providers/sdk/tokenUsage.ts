import type { WireUsage } from '../../../domain/usage.ts';

/** The counts of one answer; undefined: not reported by the provider. */
export interface TokenCounts {
  /** Includes cache reads and writes. */
  input: number | undefined;
  cached: number | undefined;
  written: number | undefined;
  /** Includes reasoning. */
  output: number | undefined;
  reasoning: number | undefined;
}

/** The counts as workers report them. An unknown one is omitted, not 0. */
export function tokenUsage({ input, cached, written, output, reasoning }: TokenCounts): Partial<WireUsage> {
  return {
    ...(input === undefined ? {} : { input_tokens: input }),
    ...(output === undefined ? {} : { output_tokens: output }),
    ...(cached === undefined ? {} : { cached_input_tokens: cached }),
    ...(written === undefined ? {} : { cache_write_tokens: written }),
    ...(reasoning === undefined ? {} : { reasoning_tokens: reasoning }),
    ...(input === undefined || output === undefined ? {} : { total_tokens: input + output }),
  };
}

/** A count, if it is one. */
export function countOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}
