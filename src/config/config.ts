import type { StrategyName } from '../domain/job.ts';
import type { BreakerSettings, RateLimit } from '../domain/provider.ts';

/** The coordinator's whole configuration, validated and with every default filled in. docs/configuration.md is its public form. */
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
  /** `providers.defaults`: for every provider without a block of its own. */
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
  /** Tokens that one attempt can have used at most; a worker that reports more has its usage flagged, and the cost is unknown. */
  cost: { tokensMaxPerAttempt: number };
  http: {
    maxBodyBytes: number;
    /** Of a batch; one job in it may still have `maxBodyBytes`. */
    maxBatchBytes: number;
    /** Requests a second from one key; 0 = off. */
    rateLimitPerKey: number;
    /** TCP connections at once, sockets of workers and dashboards with them. */
    maxConnections: number;
    /** Until the head of a request must be there. */
    headTimeoutSeconds: number;
    /** Until all of a request must be there. */
    bodyTimeoutSeconds: number;
    /** How long an answer may lie unread without any progress. */
    unreadTimeoutSeconds: number;
    /** Refused keys from one address in a minute; 0 = no limit. */
    failedLoginsPerMinute: number;
    /** Reverse proxies that add to X-Forwarded-For; 0: the header is not looked at. */
    trustedProxies: number;
    /** Names for the Host check besides the usual ones. */
    allowedHosts: string[];
    /** Bytes of request bodies that are held at once. */
    bodyMemoryBytes: number;
    /** Bytes of answers and live events that wait for their readers at once. */
    answerMemoryBytes: number;
    /** A body that arrives more slowly loses its place; counted after the first ten seconds. */
    uploadMinBytesPerSecond: number;
    shares: Shares;
  };
  live: { maxSubscribers: number };
  log: { level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent' };
  shutdown: { graceSeconds: number };
  worker: WorkerSettings;
}

/** What one key may have of something that all keys share: a part of the whole, above 0 and at most 1. */
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
}

export interface ProviderConfig {
  rateLimit: RateLimit | null;
  /** Used by jobs that name no model. */
  model: string | null;
  baseUrl: string | null;
  apiKeyEnv: string | null;
  /** The file of a worker's machine that holds the key; absolute. */
  apiKeyFile?: string;
  /** Sent with every request, beside those that the provider needs. Their values may be secrets. */
  headers?: Record<string, string>;
  /** What the provider has, where it cannot be asked. */
  models?: string[];
  /** Which of OpenAI's two APIs is spoken; left out: chat completions. */
  api?: ProviderApi;
  /** How long a worker waits for its answers; what is left out has its default. */
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
  /** Input that was read from a cache; null: as input. */
  cachedInputPerMillion: number | null;
  /** Input that was written to a cache; null: as input. */
  cacheWritePerMillion: number | null;
  free: boolean;
}

/** The `worker:` block: so that one file can serve a whole machine. null: not set here. */
export interface WorkerSettings {
  name: string | null;
  providers: string[];
  concurrency: number | null;
  tags: string[];
  coordinator: string | null;
  apiKey: string | null;
}

/** The block under `providers` that is no provider, but holds for all of them. */
export const defaultsKey = 'defaults';

/** Names of the local providers that are built in: free, and allowed at the top level (`ollama.model`). */
export const localProviders: readonly string[] = ['echo', 'ollama', 'lmstudio', 'llamacpp', 'vllm'];
