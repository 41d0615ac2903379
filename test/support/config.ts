import type { Config } from '../../src/config/config.ts';

/** The defaults, with quick clocks. */
export function testConfig(
  overrides: Partial<Omit<Config, 'jobs'>> & { jobs?: Partial<Config['jobs']> } = {},
): Config {
  return {
    host: '127.0.0.1',
    port: 0,
    publicUrl: null,
    store: { kind: 'json', path: 'unset' },
    providers: {},
    providerDefaults: { rateLimit: null },
    routing: { strategy: 'direct', chain: [], rules: [], fallbackOnTimeout: true },
    pricing: {},
    retention: { keepDays: 30, keepJobs: 100_000, auditDays: 400 },
    cost: { tokensMaxPerAttempt: 50_000_000 },
    http: {
      fronts: 0,
      maxBodyBytes: 10 * 1024 ** 2,
      maxBatchBytes: 64 * 1024 ** 2,
      rateLimitPerKey: 0,
      maxConnections: 10_000,
      headTimeoutSeconds: 30,
      bodyTimeoutSeconds: 300,
      unreadTimeoutSeconds: 60,
      failedLoginsPerMinute: 300,
      trustedProxies: 0,
      allowedHosts: [],
      bodyMemoryBytes: 256 * 1024 ** 2,
      answerMemoryBytes: 256 * 1024 ** 2,
      uploadMinBytesPerSecond: 1024,
      shares: { pending: 0.8, live: 0.25, connections: 0.5, bytesIn: 0.5, bytesOut: 0.5, files: 0.5 },
    },
    live: { maxSubscribers: 100 },
    front: {
      openai: true,
      mcp: true,
      syncMaxSeconds: 240,
      files: { maxFileBytes: 512 * 1024 ** 2, maxBytes: 10 * 1024 ** 3, days: 30 },
    },
    webhooks: { allowHttp: false, allowPrivate: [], allowedHosts: [] },
    log: { level: 'silent' },
    shutdown: { graceSeconds: 30 },
    worker: { name: null, providers: [], concurrency: null, tags: [], coordinator: null, apiKey: null },
    ...overrides,
    jobs: {
      timeoutSeconds: 600,
      reapStaleAfterSeconds: 120,
      heartbeatIntervalSeconds: 10,
      maxAttempts: 3,
      maxReaps: 3,
      maxPending: 1_000_000,
      priorities: { critical: 86_400, high: 3_600, normal: 0, low: -3_600, background: -86_400 },
      defaultProvider: null,
      ...overrides.jobs,
    },
  };
}
