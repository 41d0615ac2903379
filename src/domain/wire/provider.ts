import type { ProviderStatus } from '../states.ts';
import type { Iso } from './iso.ts';

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
  rate_limit: {
    max_concurrent: number | null;
    retry_after_seconds: number;
    max_retries: number;
    retry_after_max_seconds: number;
  } | null;
  limits_in_row: number;
  breaker: {
    ratio: number;
    minimum: number;
    window_seconds: number;
    open_seconds: number;
    attempts: number;
    failed: number;
    opens_in_row: number;
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
