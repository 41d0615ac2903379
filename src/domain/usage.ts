/** Tokens used by one attempt, in billable units. */
export interface Usage {
  /** Includes cached input, and input written to a cache. */
  inputTokens: number;
  /** Includes reasoning. */
  outputTokens: number;
  /** Read from a cache. */
  cachedInputTokens: number;
  /** The part of the input written to a cache at its own price; absent when not reported. */
  cacheWriteTokens?: number;
  reasoningTokens: number;
  totalTokens: number;
  /** Input or output is unknown and stored as 0: the cost is then unknown. */
  isPartial?: true;
  /** More than an attempt can have used: stored as reported, but never counted. */
  isImplausible?: true;
  /** The cost that the provider reports, whole nano-dollars; absent when it reports none. */
  toldNanoDollars?: number;
}

/** Usage as workers send it and clients read it. */
export interface WireUsage {
  input_tokens: number;
  output_tokens: number;
  cached_input_tokens: number;
  cache_write_tokens?: number;
  reasoning_tokens: number;
  total_tokens: number;
  /** The cost that the provider reports. Workers send it; clients read the cost of the attempt. */
  cost_usd?: number;
}

/** Complete a worker's report: the missing total is the sum, everything else 0. */
export function usageFromWire(wire: Partial<WireUsage>): Usage {
  const inputTokens = wire.input_tokens ?? 0;
  const outputTokens = wire.output_tokens ?? 0;
  return {
    inputTokens,
    outputTokens,
    cachedInputTokens: wire.cached_input_tokens ?? 0,
    ...(wire.cache_write_tokens ? { cacheWriteTokens: wire.cache_write_tokens } : {}),
    reasoningTokens: wire.reasoning_tokens ?? 0,
    totalTokens: wire.total_tokens ?? inputTokens + outputTokens,
    ...(wire.cost_usd === undefined ? {} : { toldNanoDollars: Math.round(wire.cost_usd * 1e9) }),
  };
}

export function usageToWire(usage: Usage): WireUsage {
  return {
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    cached_input_tokens: usage.cachedInputTokens,
    ...(usage.cacheWriteTokens ? { cache_write_tokens: usage.cacheWriteTokens } : {}),
    reasoning_tokens: usage.reasoningTokens,
    total_tokens: usage.totalTokens,
  };
}

/** The usage, marked when a count exceeds what an attempt can have used. @param tokensMax of one attempt. */
export function judgedUsage(usage: Usage, tokensMax: number): Usage {
  const {
    inputTokens,
    outputTokens,
    cachedInputTokens,
    cacheWriteTokens = 0,
    reasoningTokens,
    totalTokens,
  } = usage;
  const counts = [
    inputTokens,
    outputTokens,
    cachedInputTokens,
    cacheWriteTokens,
    reasoningTokens,
    totalTokens,
  ];
  return counts.every((count) => count <= tokensMax) ? usage : { ...usage, isImplausible: true };
}
