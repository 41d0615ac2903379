/** Tokens one attempt used, in billable units. */
export interface Usage {
  /** Includes cached input. */
  inputTokens: number;
  /** Includes reasoning. */
  outputTokens: number;
  cachedInputTokens: number;
  reasoningTokens: number;
  totalTokens: number;
}

/** Usage as workers send it and clients read it. */
export interface WireUsage {
  input_tokens: number;
  output_tokens: number;
  cached_input_tokens: number;
  reasoning_tokens: number;
  total_tokens: number;
}

/** Fill what a worker left out: the missing total is the sum, everything else 0. */
export function usageFromWire(wire: Partial<WireUsage>): Usage {
  const inputTokens = wire.input_tokens ?? 0;
  const outputTokens = wire.output_tokens ?? 0;
  return {
    inputTokens,
    outputTokens,
    cachedInputTokens: wire.cached_input_tokens ?? 0,
    reasoningTokens: wire.reasoning_tokens ?? 0,
    totalTokens: wire.total_tokens ?? inputTokens + outputTokens,
  };
}

export function usageToWire(usage: Usage): WireUsage {
  return {
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    cached_input_tokens: usage.cachedInputTokens,
    reasoning_tokens: usage.reasoningTokens,
    total_tokens: usage.totalTokens,
  };
}
