import { resolve } from 'node:path';
import type { BreakerSettings, RateLimit } from '../domain/provider.ts';
import { configuredProviders, topLevelModel } from './checks.ts';
import type { Config, Price, ProviderConfig, ProviderTimeouts, RoutingRule } from './config.ts';
import type {
  BreakerFile,
  ConfigFile,
  PriceFile,
  ProviderFile,
  RateLimitFile,
  RuleFile,
  TimeoutsFile,
} from './file.ts';

/** Label → seconds of head start. `normal` is the default label of jobs, so it always exists. */
const priorities: Readonly<Record<string, number>> = {
  critical: 86_400,
  high: 3_600,
  normal: 0,
  low: -3_600,
  background: -86_400,
};

/**
 * The whole configuration from a file, with defaults for everything else. Maps with keys chosen by the user have no
 * prototype, so that a job for the provider `constructor` finds nothing. One literal with the shape of `Config`, which
 * is why it is longer than 60 lines.
 * @param file validated by the schema and the checks. @param cwd base of relative paths.
 */
export function withDefaults(file: ConfigFile, cwd: string): Config {
  const { store, jobs, routing, retention, cost, http, worker } = file;
  return {
    host: file.host ?? '127.0.0.1',
    port: file.port ?? 7420,
    publicUrl: file.public_url ?? null,
    store: { kind: store?.kind ?? 'json', path: resolve(cwd, store?.path ?? 'data') },
    jobs: {
      timeoutSeconds: jobs?.timeout_seconds ?? 600,
      reapStaleAfterSeconds: jobs?.reap_stale_after_seconds ?? 120,
      heartbeatIntervalSeconds: jobs?.heartbeat_interval_seconds ?? 10,
      maxAttempts: jobs?.max_attempts ?? 3,
      maxReaps: jobs?.max_reaps ?? 3,
      maxPending: jobs?.max_pending ?? 1_000_000,
      priorities: bare(Object.entries({ normal: 0, ...(jobs?.priorities ?? priorities) })),
      defaultProvider: jobs?.default_provider ?? null,
    },
    providerDefaults: { rateLimit: handling(file.providers?.defaults ?? {}) },
    providers: bare(configuredProviders(file).map((name) => [name, providerConfig(file, name, cwd)])),
    routing: {
      strategy: routing?.strategy ?? 'direct',
      chain: routing?.chain ?? [],
      rules: (routing?.rules ?? []).map(routingRule),
      fallbackOnTimeout: routing?.fallback_on_timeout ?? true,
    },
    pricing: bare(
      Object.entries(file.pricing ?? {}).map(([provider, models]) => [
        provider,
        bare(Object.entries(models ?? {}).map(([model, price]) => [model, priceOf(price)])),
      ]),
    ),
    retention: {
      keepDays: retention?.keep_days ?? 30,
      keepJobs: retention?.keep_jobs ?? 100_000,
      auditDays: retention?.audit_days ?? 400,
    },
    cost: { tokensMaxPerAttempt: cost?.tokens_max_per_attempt ?? 50_000_000 },
    http: {
      fronts: http?.fronts ?? null,
      maxBodyBytes: http?.max_body_bytes ?? 10 * 1024 ** 2,
      maxBatchBytes: http?.max_batch_bytes ?? 64 * 1024 ** 2,
      rateLimitPerKey: http?.rate_limit_per_key ?? 0,
      maxConnections: http?.max_connections ?? 10_000,
      headTimeoutSeconds: http?.head_timeout_seconds ?? 30,
      bodyTimeoutSeconds: http?.body_timeout_seconds ?? 300,
      unreadTimeoutSeconds: http?.unread_timeout_seconds ?? 60,
      failedLoginsPerMinute: http?.failed_logins_per_minute ?? 300,
      trustedProxies: http?.trusted_proxies ?? 0,
      allowedHosts: http?.allowed_hosts ?? [],
      bodyMemoryBytes: http?.body_memory_bytes ?? 256 * 1024 ** 2,
      answerMemoryBytes: http?.answer_memory_bytes ?? 256 * 1024 ** 2,
      uploadMinBytesPerSecond: http?.upload_min_bytes_per_second ?? 1024,
      shares: {
        pending: http?.shares?.pending ?? 0.8,
        live: http?.shares?.live ?? 0.25,
        connections: http?.shares?.connections ?? 0.5,
        bytesIn: http?.shares?.bytes_in ?? 0.5,
        bytesOut: http?.shares?.bytes_out ?? 0.5,
        files: http?.shares?.files ?? 0.5,
      },
    },
    live: { maxSubscribers: file.live?.max_subscribers ?? 1_000 },
    front: {
      openai: file.front?.openai ?? true,
      mcp: file.front?.mcp ?? true,
      syncMaxSeconds: file.front?.sync_max_seconds ?? 240,
      files: {
        maxFileBytes: file.front?.files?.max_file_bytes ?? 512 * 1024 ** 2,
        maxBytes: file.front?.files?.max_bytes ?? 10 * 1024 ** 3,
        days: file.front?.files?.days ?? 30,
      },
    },
    webhooks: {
      allowHttp: file.webhooks?.allow_http ?? false,
      allowPrivate: file.webhooks?.allow_private ?? [],
      allowedHosts: file.webhooks?.allowed_hosts ?? [],
    },
    log: { level: file.log?.level ?? 'info' },
    shutdown: { graceSeconds: file.shutdown?.grace_seconds ?? 30 },
    worker: {
      name: worker?.name ?? null,
      providers: worker?.providers ?? [],
      concurrency: worker?.concurrency ?? null,
      tags: worker?.tags ?? [],
      coordinator: worker?.coordinator ?? null,
      apiKey: worker?.api_key ?? null,
    },
  };
}

function bare<T>(entries: [string, T][]): Record<string, T> {
  const map: Record<string, T> = Object.create(null);
  for (const [key, value] of entries) map[key] = value;
  return map;
}

function providerConfig(file: ConfigFile, name: string, cwd: string): ProviderConfig {
  const settings: ProviderFile = file.providers?.[name] ?? {};
  return {
    rateLimit: handling(settings),
    model: settings.model ?? topLevelModel(file, name),
    baseUrl: settings.base_url ?? null,
    apiKeyEnv: settings.api_key_env ?? null,
    ...(settings.api_key_file ? { apiKeyFile: resolve(cwd, settings.api_key_file) } : {}),
    ...(settings.headers
      ? { headers: bare(Object.entries(settings.headers).filter(([, value]) => value !== null)) }
      : {}),
    ...(settings.models ? { models: settings.models } : {}),
    ...(settings.api ? { api: settings.api } : {}),
    ...(settings.timeouts ? { timeouts: timeouts(settings.timeouts) } : {}),
    breaker: breaker(settings.breaker ?? {}),
  };
}

/** `rate_limit:` with nothing under it still enables rate-limit handling. */
function handling(settings: ProviderFile): RateLimit | null {
  return 'rate_limit' in settings ? rateLimit(settings.rate_limit ?? {}) : null;
}

function timeouts(file: TimeoutsFile): ProviderTimeouts {
  const seconds = {
    connect: file.connect_seconds,
    firstToken: file.first_token_seconds,
    idle: file.idle_seconds,
    total: file.total_seconds,
  };
  return Object.fromEntries(Object.entries(seconds).filter(([, value]) => (value ?? null) !== null));
}

function rateLimit(file: RateLimitFile): RateLimit {
  return {
    maxConcurrent: file.max_concurrent ?? null,
    retryAfterSeconds: file.retry_after_seconds ?? 30,
    maxRetries: file.max_retries ?? 5,
    retryAfterMaxSeconds: file.retry_after_max_seconds ?? 300,
  };
}

function breaker(file: BreakerFile): BreakerSettings {
  return {
    ratio: file.ratio ?? 0.5,
    minimum: file.minimum ?? 10,
    windowSeconds: file.window_seconds ?? 60,
    openSeconds: file.open_seconds ?? 30,
  };
}

function routingRule({ match, chain, provider, model, worker, worker_tag }: RuleFile): RoutingRule {
  return {
    match: {
      tags: match?.tags,
      anyTags: match?.any_tags,
      provider: match?.provider,
      model: match?.model,
      tier: match?.tier,
      priority: match?.priority,
    },
    chain,
    provider,
    model,
    worker,
    workerTag: worker_tag,
  };
}

function priceOf(file: PriceFile): Price {
  return {
    inputPerMillion: file.input_per_million ?? 0,
    outputPerMillion: file.output_per_million ?? 0,
    cachedInputPerMillion: file.cached_input_per_million ?? null,
    cacheWritePerMillion: file.cache_write_per_million ?? null,
    free: file.free ?? false,
  };
}
