import type { ProviderApi } from './config.ts';

/**
 * The configuration in a file: snake_case, everything optional, null the same as absent. schema.ts checks this shape;
 * defaults.ts turns it into the whole `Config`.
 */
export interface ConfigFile {
  host?: string | null;
  port?: number | null;
  public_url?: string | null;
  store?: { kind?: 'json' | null; path?: string | null } | null;
  jobs?: JobsFile | null;
  providers?: Record<string, ProviderFile | null> | null;
  routing?: RoutingFile | null;
  pricing?: Record<string, Record<string, PriceFile> | null> | null;
  retention?: { keep_days?: number | null; keep_jobs?: number | null; audit_days?: number | null } | null;
  cost?: { tokens_max_per_attempt?: number | null } | null;
  http?: HttpFile | null;
  live?: { max_subscribers?: number | null } | null;
  front?: FrontFile | null;
  webhooks?: WebhooksFile | null;
  log?: { level?: LogLevel | null } | null;
  shutdown?: { grace_seconds?: number | null } | null;
  worker?: WorkerFile | null;
}

export interface HttpFile {
  fronts?: number | null;
  max_body_bytes?: number | null;
  max_batch_bytes?: number | null;
  rate_limit_per_key?: number | null;
  max_connections?: number | null;
  head_timeout_seconds?: number | null;
  body_timeout_seconds?: number | null;
  unread_timeout_seconds?: number | null;
  failed_logins_per_minute?: number | null;
  trusted_proxies?: number | null;
  allowed_hosts?: string[] | null;
  body_memory_bytes?: number | null;
  answer_memory_bytes?: number | null;
  upload_min_bytes_per_second?: number | null;
  shares?: SharesFile | null;
}

export interface FrontFile {
  openai?: boolean | null;
  mcp?: boolean | null;
  sync_max_seconds?: number | null;
  files?: { max_file_bytes?: number | null; max_bytes?: number | null; days?: number | null } | null;
}

export interface WebhooksFile {
  allow_http?: boolean | null;
  allow_private?: string[] | null;
  allowed_hosts?: string[] | null;
}

/** Parts of a whole, above 0 and at most 1. */
export interface SharesFile {
  pending?: number | null;
  live?: number | null;
  connections?: number | null;
  bytes_in?: number | null;
  bytes_out?: number | null;
  files?: number | null;
}

export interface JobsFile {
  timeout_seconds?: number | null;
  reap_stale_after_seconds?: number | null;
  heartbeat_interval_seconds?: number | null;
  max_attempts?: number | null;
  max_reaps?: number | null;
  max_pending?: number | null;
  priorities?: Record<string, number> | null;
  default_provider?: string | null;
}

export interface ProviderFile {
  rate_limit?: RateLimitFile | null;
  model?: string | null;
  base_url?: string | null;
  api_key_env?: string | null;
  api_key_file?: string | null;
  headers?: Record<string, string> | null;
  models?: string[] | null;
  api?: ProviderApi | null;
  timeouts?: TimeoutsFile | null;
  breaker?: BreakerFile | null;
}

/** Seconds. */
export interface TimeoutsFile {
  connect_seconds?: number | null;
  first_token_seconds?: number | null;
  idle_seconds?: number | null;
  total_seconds?: number | null;
}

export interface RateLimitFile {
  max_concurrent?: number | null;
  retry_after_seconds?: number | null;
  max_retries?: number | null;
  retry_after_max_seconds?: number | null;
}

export interface BreakerFile {
  ratio?: number | null;
  minimum?: number | null;
  window_seconds?: number | null;
  open_seconds?: number | null;
}

export interface RoutingFile {
  strategy?: Strategy | null;
  chain?: string[] | null;
  rules?: RuleFile[] | null;
  fallback_on_timeout?: boolean | null;
}

export interface RuleFile {
  match?: {
    tags?: string[];
    any_tags?: string[];
    provider?: string;
    model?: string;
    tier?: string;
    priority?: string;
  };
  chain?: string[];
  provider?: string;
  model?: string;
  worker?: string;
  worker_tag?: string;
}

export interface PriceFile {
  input_per_million?: number | null;
  output_per_million?: number | null;
  cached_input_per_million?: number | null;
  cache_write_per_million?: number | null;
  free?: boolean | null;
}

export interface WorkerFile {
  name?: string | null;
  providers?: string[] | null;
  concurrency?: number | null;
  tags?: string[] | null;
  coordinator?: string | null;
  api_key?: string | null;
}

export const strategies = ['direct', 'fallback', 'round_robin', 'least_busy', 'cheapest', 'fastest'] as const;
export type Strategy = (typeof strategies)[number];

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];
