import type { StrategyName } from '../domain/job.ts';
import type { BreakerSettings, RateLimit } from '../domain/provider.ts';

/** The coordinator's whole configuration, validated, with every default. docs/configuration.md documents it. */
export interface Config {
  host: string;
  port: number;
  /** For links and the Host check behind a proxy. */
  publicUrl: string | null;
  store: { kind: 'json'; path: string };
  jobs: {
    /** 0 = none. */
    timeoutSeconds: number;
    /** 0 turns reaping off. */
    reapStaleAfterSeconds: number;
    /** Fractions allowed. */
    heartbeatIntervalSeconds: number;
    maxAttempts: number;
    maxReaps: number;
    maxPending: number;
    /** Label → seconds of head start. */
    priorities: Record<string, number>;
    defaultProvider: string | null;
  };
  providers: Record<string, ProviderConfig>;
  /** `providers.defaults`: for every provider without its own block. */
  providerDefaults: { rateLimit: RateLimit | null };
  routing: {
    strategy: StrategyName;
    chain: string[];
    rules: RoutingRule[];
    fallbackOnTimeout: boolean;
  };
  /** Provider → model → price. */
  pricing: Record<string, Record<string, Price>>;
  retention: { keepDays: number; keepJobs: number; auditDays: number };
  /** Most tokens of one attempt; when a worker reports more, the usage is flagged, and the cost is unknown. */
  cost: { tokensMaxPerAttempt: number };
  http: {
    /** Processes in front of the core, which parse and check requests; null: by the number of processors. */
    fronts: number | null;
    maxBodyBytes: number;
    /** Of a batch; one job in it may still have `maxBodyBytes`. */
    maxBatchBytes: number;
    /** Requests a second from one key; 0 = off. */
    rateLimitPerKey: number;
    /** TCP connections at once, including sockets of workers and dashboards. */
    maxConnections: number;
    /** Until the head of a request has arrived. */
    headTimeoutSeconds: number;
    /** Until the whole request has arrived. */
    bodyTimeoutSeconds: number;
    /** How long an answer may stay unread without any progress. */
    unreadTimeoutSeconds: number;
    /** Refused keys from one address in a minute; 0 = no limit. */
    failedLoginsPerMinute: number;
    /** Reverse proxies that add to X-Forwarded-For; 0: the header is ignored. */
    trustedProxies: number;
    /** Names for the Host check besides the usual ones. */
    allowedHosts: string[];
    /** Bytes of request bodies held at once. */
    bodyMemoryBytes: number;
    /** Bytes of answers and live events waiting for their readers at once. */
    answerMemoryBytes: number;
    /** A slower body loses its place; checked after the first ten seconds. */
    uploadMinBytesPerSecond: number;
    shares: Shares;
  };
  live: { maxSubscribers: number };
  front: FrontSettings;
  webhooks: WebhookSettings;
  log: { level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent' };
  shutdown: { graceSeconds: number };
  worker: WorkerSettings;
}

/** Where webhooks may point. */
export interface WebhookSettings {
  /** Whether also to `http://`. */
  allowHttp: boolean;
  /** Hosts, addresses and ranges (`10.0.0.0/8`) that are not on the internet and may be sent to. */
  allowPrivate: string[];
  /** Hosts for which jobs and batches may name any URL, where an endpoint has the same host. */
  allowedHosts: string[];
}

/** The APIs of others that the coordinator speaks besides its own. */
export interface FrontSettings {
  /** Whether `/v1` answers as OpenAI's API does. */
  openai: boolean;
  /** Whether `/mcp` answers clients of the Model Context Protocol. */
  mcp: boolean;
  /** How long a request to one of them waits for its job when it does not stream. */
  syncMaxSeconds: number;
  files: FileSettings;
}

/** How much there may be of files that clients upload and batches write. */
export interface FileSettings {
  /** Of one that is uploaded. */
  maxFileBytes: number;
  /** Of all of them, also those that are being uploaded. */
  maxBytes: number;
  /** How long one for a batch is kept when it names no expiry. */
  days: number;
}

/** The part of a shared resource that one key may use, above 0 and at most 1. */
export interface Shares {
  /** Of `jobs.maxPending`. */
  pending: number;
  /** Of `live.maxSubscribers`. */
  live: number;
  /** Of `http.maxConnections`. */
  connections: number;
  /** Of `http.bodyMemoryBytes`. */
  bytesIn: number;
  /** Of `http.answerMemoryBytes`. */
  bytesOut: number;
  /** Of `front.files.maxBytes`, and of the number of files. */
  files: number;
}

export interface ProviderConfig {
  rateLimit: RateLimit | null;
  /** Used by jobs that name no model. */
  model: string | null;
  baseUrl: string | null;
  apiKeyEnv: string | null;
  /** The file with the key on a worker's machine; absolute. */
  apiKeyFile?: string;
  /** Sent with every request, besides those of the adapter. Their values may be secrets. */
  headers?: Record<string, string>;
  /** The provider's models, where it does not list them. */
  models?: string[];
  /** Which of OpenAI's two APIs to use; absent: chat completions. */
  api?: ProviderApi;
  /** A worker's timeouts for its answers; absent ones have their default. */
  timeouts?: ProviderTimeouts;
  breaker: BreakerSettings;
}

export type ProviderApi = 'chat' | 'responses';

/** All of them seconds. */
export interface ProviderTimeouts {
  connect?: number;
  firstToken?: number;
  /** Between two tokens. */
  idle?: number;
  /** 0: none but the job's own. */
  total?: number;
}

export interface RoutingRule {
  match: {
    /** All of them. */
    tags?: string[] | undefined;
    anyTags?: string[] | undefined;
    provider?: string | undefined;
    model?: string | undefined;
    tier?: string | undefined;
    priority?: string | undefined;
  };
  chain?: string[] | undefined;
  provider?: string | undefined;
  model?: string | undefined;
  worker?: string | undefined;
  workerTag?: string | undefined;
}

export interface Price {
  /** Dollars a million tokens. */
  inputPerMillion: number;
  outputPerMillion: number;
  /** Cached input; null: as input. */
  cachedInputPerMillion: number | null;
  /** Input written to a cache; null: as input. */
  cacheWritePerMillion: number | null;
  free: boolean;
}

/** The `worker:` block: one file can serve a whole machine. null: not set here. */
export interface WorkerSettings {
  name: string | null;
  providers: string[];
  concurrency: number | null;
  tags: string[];
  coordinator: string | null;
  apiKey: string | null;
}

/** The block under `providers` that is not a provider, but applies to all of them. */
export const defaultsKey = 'defaults';

/** Names of the built-in local providers: free, and allowed at the top level (`ollama.model`). */
export const localProviders: readonly string[] = ['echo', 'ollama', 'lmstudio', 'llamacpp', 'vllm'];
