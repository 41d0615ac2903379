import { wireBreakerSettings, wireRateLimit } from '../domain/wire/provider.ts';
import {
  type Config,
  defaultsKey,
  type Price,
  type ProviderConfig,
  type ProviderTimeouts,
  type RoutingRule,
} from './config.ts';

/** Replaces a secret. */
const hidden = '[hidden]';

/** Whether secrets are shown: `masked` for people and logs. */
export type Secrets = 'masked' | 'plain';

/**
 * The effective configuration, with the keys of the file: what `svc config show` prints. It includes defaults; what is
 * not set is null. Masked are API keys, the values of headers, and the passwords and queries of addresses. One literal
 * with the shape of the file, which is why it is longer than 60 lines.
 */
export function presentConfig(config: Config, secrets: Secrets = 'masked') {
  const { store, jobs, routing, retention, cost, http, front, webhooks, worker } = config;
  const headers = (map: Record<string, string>): Record<string, string> =>
    secrets === 'plain' ? { ...map } : mapValues(map, () => hidden);
  const address = (url: string | null): string | null => (secrets === 'plain' ? url : maskedUrl(url));
  return {
    host: config.host,
    port: config.port,
    public_url: address(config.publicUrl),
    store: { kind: store.kind, path: store.path },
    jobs: {
      timeout_seconds: jobs.timeoutSeconds,
      reap_stale_after_seconds: jobs.reapStaleAfterSeconds,
      heartbeat_interval_seconds: jobs.heartbeatIntervalSeconds,
      max_attempts: jobs.maxAttempts,
      max_reaps: jobs.maxReaps,
      max_pending: jobs.maxPending,
      priorities: { ...jobs.priorities },
      default_provider: jobs.defaultProvider,
    },
    providers: {
      ...presentDefaults(config.providerDefaults),
      ...mapValues(config.providers, (provider) => ({
        ...presentProvider(provider),
        base_url: secrets === 'plain' ? provider.baseUrl : maskedQuery(maskedUrl(provider.baseUrl)),
        ...(provider.headers === undefined ? {} : { headers: headers(provider.headers) }),
      })),
    },
    routing: {
      strategy: routing.strategy,
      chain: routing.chain,
      rules: routing.rules.map(presentRule),
      fallback_on_timeout: routing.fallbackOnTimeout,
    },
    pricing: mapValues(config.pricing, (models) => mapValues(models, presentPrice)),
    retention: {
      keep_days: retention.keepDays,
      keep_jobs: retention.keepJobs,
      audit_days: retention.auditDays,
    },
    cost: { tokens_max_per_attempt: cost.tokensMaxPerAttempt },
    http: {
      fronts: http.fronts,
      max_body_bytes: http.maxBodyBytes,
      max_batch_bytes: http.maxBatchBytes,
      rate_limit_per_key: http.rateLimitPerKey,
      max_connections: http.maxConnections,
      head_timeout_seconds: http.headTimeoutSeconds,
      body_timeout_seconds: http.bodyTimeoutSeconds,
      unread_timeout_seconds: http.unreadTimeoutSeconds,
      failed_logins_per_minute: http.failedLoginsPerMinute,
      trusted_proxies: http.trustedProxies,
      allowed_hosts: http.allowedHosts,
      body_memory_bytes: http.bodyMemoryBytes,
      answer_memory_bytes: http.answerMemoryBytes,
      upload_min_bytes_per_second: http.uploadMinBytesPerSecond,
      shares: {
        pending: http.shares.pending,
        live: http.shares.live,
        connections: http.shares.connections,
        bytes_in: http.shares.bytesIn,
        bytes_out: http.shares.bytesOut,
        files: http.shares.files,
      },
    },
    live: { max_subscribers: config.live.maxSubscribers },
    front: {
      openai: front.openai,
      mcp: front.mcp,
      sync_max_seconds: front.syncMaxSeconds,
      files: {
        max_file_bytes: front.files.maxFileBytes,
        max_bytes: front.files.maxBytes,
        days: front.files.days,
      },
    },
    webhooks: {
      allow_http: webhooks.allowHttp,
      allow_private: webhooks.allowPrivate,
      allowed_hosts: webhooks.allowedHosts,
    },
    log: { level: config.log.level },
    shutdown: { grace_seconds: config.shutdown.graceSeconds },
    worker: {
      name: worker.name,
      providers: worker.providers,
      concurrency: worker.concurrency,
      tags: worker.tags,
      coordinator: address(worker.coordinator),
      api_key: worker.apiKey === null || secrets === 'plain' ? worker.apiKey : hidden,
    },
  };
}

/** An address without its password: `https://name:[hidden]@host`. */
function maskedUrl(url: string | null): string | null {
  if (url === null || !URL.canParse(url) || new URL(url).password === '') return url;
  return url.replace(/(?<=^[a-z]+:\/\/[^/?#]*?:)[^/?#]*(?=@)/i, hidden);
}

/** The query of a base_url may contain a key; an api-version is not one. */
function maskedQuery(url: string | null): string | null {
  return url?.replace(/([?&](?!api-version=)[^=&]*=)[^&]*/gi, `$1${hidden}`) ?? null;
}

function mapValues<T, U>(map: Record<string, T>, change: (value: T) => U): Record<string, U> {
  return Object.fromEntries(Object.entries(map).map(([key, value]) => [key, change(value)]));
}

/** What is not set has the default of the worker's adapter. */
export function presentTimeouts(timeouts: ProviderTimeouts | undefined) {
  if (timeouts === undefined) return null;
  return {
    connect_seconds: timeouts.connect ?? null,
    first_token_seconds: timeouts.firstToken ?? null,
    idle_seconds: timeouts.idle ?? null,
    total_seconds: timeouts.total ?? null,
  };
}

function presentDefaults({ rateLimit }: Config['providerDefaults']): Record<string, object> {
  return rateLimit === null ? {} : { [defaultsKey]: { rate_limit: wireRateLimit(rateLimit) } };
}

function presentProvider(provider: ProviderConfig) {
  const { rateLimit, model, baseUrl, apiKeyEnv, apiKeyFile, models, api, timeouts, breaker } = provider;
  return {
    rate_limit: wireRateLimit(rateLimit),
    model,
    base_url: baseUrl,
    api_key_env: apiKeyEnv,
    ...(apiKeyFile === undefined ? {} : { api_key_file: apiKeyFile }),
    ...(models === undefined ? {} : { models }),
    ...(api === undefined ? {} : { api }),
    ...(timeouts === undefined ? {} : { timeouts: presentTimeouts(timeouts) }),
    breaker: wireBreakerSettings(breaker),
  };
}

function presentRule({ match, chain, provider, model, worker, workerTag }: RoutingRule) {
  const { anyTags, ...plain } = match;
  return onlySet({
    match: onlySet({ ...plain, any_tags: anyTags }),
    chain,
    provider,
    model,
    worker,
    worker_tag: workerTag,
  });
}

function onlySet(record: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined));
}

function presentPrice(price: Price) {
  const { inputPerMillion, outputPerMillion, cachedInputPerMillion, cacheWritePerMillion, free } = price;
  if (free) return { free };
  return {
    input_per_million: inputPerMillion,
    output_per_million: outputPerMillion,
    cached_input_per_million: cachedInputPerMillion,
    cache_write_per_million: cacheWritePerMillion,
    free,
  };
}
