import type { Failure } from '../failure.ts';
import type { BreakerSettings, RateLimit } from '../provider.ts';
import type { ProviderStatus } from '../states.ts';
import type { Iso } from './iso.ts';

/** `rate_limit` of a provider: in the configuration and in the lists of providers. */
export interface WireRateLimit {
  max_concurrent: number | null;
  retry_after_seconds: number;
  max_retries: number;
  retry_after_max_seconds: number;
}

/** `breaker` of a provider, in the same places. */
export interface WireBreakerSettings {
  ratio: number;
  minimum: number;
  window_seconds: number;
  open_seconds: number;
}

export interface WireProvider {
  name: string;
  configured: boolean;
  status: ProviderStatus;
  until: Iso | null;
  changed_at: Iso | null;
  running: number;
  max_concurrent: number | null;
  latency_ms: number | null;
  model: string | null;
  rate_limit: WireRateLimit | null;
  limits_in_row: number;
  breaker: WireBreakerSettings & {
    attempts: number;
    failed: number;
    opens_in_row: number;
    opened_by: Failure | null;
  };
  /** Connected ones that serve it. */
  workers: number;
  slots: number;
  free_slots: number;
  models: string[];
}

export interface WireProviderList {
  providers: WireProvider[];
  total: number;
}

export function wireRateLimit(limit: RateLimit | null): WireRateLimit | null {
  if (limit === null) return null;
  return {
    max_concurrent: limit.maxConcurrent,
    retry_after_seconds: limit.retryAfterSeconds,
    max_retries: limit.maxRetries,
    retry_after_max_seconds: limit.retryAfterMaxSeconds,
  };
}

export function wireBreakerSettings(breaker: BreakerSettings): WireBreakerSettings {
  return {
    ratio: breaker.ratio,
    minimum: breaker.minimum,
    window_seconds: breaker.windowSeconds,
    open_seconds: breaker.openSeconds,
  };
}
