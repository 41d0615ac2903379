import { join } from 'node:path';
import test from 'ava';
import { loadConfig } from '../../src/config/load.ts';
import { presentConfig } from '../../src/config/present.ts';
import { folderWith, load } from './folder.ts';

test('without a file everything has the default that the documentation tells', async (t) => {
  const cwd = await folderWith(t);
  const { config, file, warnings, apiKey } = await loadConfig({ env: {}, cwd });

  t.is(file, null);
  t.is(apiKey, null);
  t.deepEqual(warnings, []);
  t.deepEqual(presentConfig(config), {
    host: '127.0.0.1',
    port: 7420,
    public_url: null,
    store: { kind: 'json', path: join(cwd, 'data') },
    jobs: {
      timeout_seconds: 600,
      reap_stale_after_seconds: 120,
      heartbeat_interval_seconds: 10,
      max_attempts: 3,
      max_reaps: 3,
      max_pending: 1_000_000,
      priorities: { critical: 86_400, high: 3600, normal: 0, low: -3600, background: -86_400 },
      default_provider: null,
    },
    providers: {},
    routing: { strategy: 'direct', chain: [], rules: [], fallback_on_timeout: true },
    pricing: {},
    retention: { keep_days: 30, keep_jobs: 100_000, audit_days: 400 },
    cost: { tokens_max_per_attempt: 50_000_000 },
    http: {
      fronts: null,
      max_body_bytes: 10_485_760,
      max_batch_bytes: 67_108_864,
      rate_limit_per_key: 0,
      max_connections: 10_000,
      head_timeout_seconds: 30,
      body_timeout_seconds: 300,
      unread_timeout_seconds: 60,
      failed_logins_per_minute: 300,
      trusted_proxies: 0,
      allowed_hosts: [],
      body_memory_bytes: 268_435_456,
      answer_memory_bytes: 268_435_456,
      upload_min_bytes_per_second: 1024,
      shares: { pending: 0.8, live: 0.25, connections: 0.5, bytes_in: 0.5, bytes_out: 0.5, files: 0.5 },
    },
    live: { max_subscribers: 1000 },
    front: {
      openai: true,
      mcp: true,
      sync_max_seconds: 240,
      files: { max_file_bytes: 536_870_912, max_bytes: 10_737_418_240, days: 30 },
    },
    webhooks: { allow_http: false, allow_private: [], allowed_hosts: [] },
    log: { level: 'info' },
    shutdown: { grace_seconds: 30 },
    worker: { name: null, providers: [], concurrency: null, tags: [], coordinator: null, api_key: null },
  });
});

test('a provider has its defaults, and a rate limit only where one is asked for', async (t) => {
  const { config } = await load(
    t,
    `
providers:
  plain: { model: m }
  limited:
    rate_limit: { max_concurrent: 2 }
  asked:
    rate_limit:
`,
  );

  const breaker = { ratio: 0.5, minimum: 10, windowSeconds: 60, openSeconds: 30 };
  t.deepEqual(config.providers.plain, {
    rateLimit: null,
    model: 'm',
    baseUrl: null,
    apiKeyEnv: null,
    breaker,
  });
  const defaults = { retryAfterSeconds: 30, maxRetries: 5, retryAfterMaxSeconds: 300 };
  t.deepEqual(config.providers.limited?.rateLimit, { maxConcurrent: 2, ...defaults });
  t.deepEqual(config.providers.asked?.rateLimit, { maxConcurrent: null, ...defaults });
});

test('every key of the file reaches the configuration', async (t) => {
  const { config } = await load(
    t,
    `
host: 0.0.0.0
port: 8000
public_url: https://svc.example
store: { kind: json, path: /var/lib/svc }
jobs:
  timeout_seconds: 0
  reap_stale_after_seconds: 3
  heartbeat_interval_seconds: 0.75
  max_attempts: 1
  max_reaps: 0
  max_pending: 5
  priorities: { urgent: 60 }
  default_provider: echo
providers:
  alpha:
    model: alpha-1
    base_url: http://10.0.0.2:8000/v1
    api_key_env: ALPHA_KEY
    rate_limit: { max_concurrent: 2, retry_after_seconds: 1, max_retries: 4, retry_after_max_seconds: 9 }
    breaker: { ratio: 0.9, minimum: 2, window_seconds: 0.5, open_seconds: 1 }
routing:
  strategy: fallback
  chain: [alpha, echo]
  fallback_on_timeout: false
  rules:
    - match: { tags: [a], any_tags: [b, c], provider: alpha, model: m, tier: t, priority: urgent }
      chain: [echo]
      model: n
      worker: w
      worker_tag: gpu
pricing:
  alpha:
    alpha-1.5: { input_per_million: 1.25, output_per_million: 10, cached_input_per_million: 0.1, cache_write_per_million: 1.5 }
    beta: { free: true }
retention: { keep_days: 1, keep_jobs: 2, audit_days: 3 }
cost: { tokens_max_per_attempt: 6 }
http:
  fronts: 3
  max_body_bytes: 2048
  max_batch_bytes: 4096
  rate_limit_per_key: 7
  max_connections: 8
  head_timeout_seconds: 0.5
  body_timeout_seconds: 9
  unread_timeout_seconds: 10
  failed_logins_per_minute: 11
  trusted_proxies: 2
  allowed_hosts: [svc.internal]
  body_memory_bytes: 2097152
  answer_memory_bytes: 3145728
  upload_min_bytes_per_second: 12
  shares: { pending: 0.1, live: 0.2, connections: 0.3, bytes_in: 0.4, bytes_out: 1, files: 0.6 }
live: { max_subscribers: 3 }
front: { openai: false, mcp: false, sync_max_seconds: 5, files: { max_file_bytes: 1024, max_bytes: 0, days: 0.5 } }
webhooks: { allow_http: true, allow_private: [10.0.0.0/8], allowed_hosts: [hooks.example] }
log: { level: debug }
shutdown: { grace_seconds: 1.5 }
worker: { name: box, providers: [echo], concurrency: 0, tags: [gpu], coordinator: "http://c:7420", api_key: abcdefghijklmnop }
`,
  );

  t.like(config, { host: '0.0.0.0', port: 8000, publicUrl: 'https://svc.example' });
  t.is(config.store.path, '/var/lib/svc');
  t.like(config.jobs, {
    timeoutSeconds: 0,
    reapStaleAfterSeconds: 3,
    heartbeatIntervalSeconds: 0.75,
    maxAttempts: 1,
  });
  t.like(config.jobs, { maxReaps: 0, maxPending: 5, defaultProvider: 'echo' });
  t.deepEqual({ ...config.jobs.priorities }, { normal: 0, urgent: 60 });
  t.deepEqual(config.providers.alpha, {
    rateLimit: { maxConcurrent: 2, retryAfterSeconds: 1, maxRetries: 4, retryAfterMaxSeconds: 9 },
    model: 'alpha-1',
    baseUrl: 'http://10.0.0.2:8000/v1',
    apiKeyEnv: 'ALPHA_KEY',
    breaker: { ratio: 0.9, minimum: 2, windowSeconds: 0.5, openSeconds: 1 },
  });
  t.like(config.routing, { strategy: 'fallback', chain: ['alpha', 'echo'], fallbackOnTimeout: false });
  t.deepEqual(config.routing.rules, [
    {
      match: {
        tags: ['a'],
        anyTags: ['b', 'c'],
        provider: 'alpha',
        model: 'm',
        tier: 't',
        priority: 'urgent',
      },
      chain: ['echo'],
      provider: undefined,
      model: 'n',
      worker: 'w',
      workerTag: 'gpu',
    },
  ]);
  const price = {
    inputPerMillion: 1.25,
    outputPerMillion: 10,
    cachedInputPerMillion: 0.1,
    cacheWritePerMillion: 1.5,
    free: false,
  };
  t.deepEqual(config.pricing.alpha?.['alpha-1.5'], price);
  t.like(config.pricing.alpha?.beta, { free: true, inputPerMillion: 0, outputPerMillion: 0 });
  t.deepEqual(config.retention, { keepDays: 1, keepJobs: 2, auditDays: 3 });
  t.deepEqual(config.cost, { tokensMaxPerAttempt: 6 });
  t.deepEqual(config.http, {
    fronts: 3,
    maxBodyBytes: 2048,
    maxBatchBytes: 4096,
    rateLimitPerKey: 7,
    maxConnections: 8,
    headTimeoutSeconds: 0.5,
    bodyTimeoutSeconds: 9,
    unreadTimeoutSeconds: 10,
    failedLoginsPerMinute: 11,
    trustedProxies: 2,
    allowedHosts: ['svc.internal'],
    bodyMemoryBytes: 2_097_152,
    answerMemoryBytes: 3_145_728,
    uploadMinBytesPerSecond: 12,
    shares: { pending: 0.1, live: 0.2, connections: 0.3, bytesIn: 0.4, bytesOut: 1, files: 0.6 },
  });
  t.deepEqual(config.front, {
    openai: false,
    mcp: false,
    syncMaxSeconds: 5,
    files: { maxFileBytes: 1024, maxBytes: 0, days: 0.5 },
  });
  t.deepEqual(config.webhooks, {
    allowHttp: true,
    allowPrivate: ['10.0.0.0/8'],
    allowedHosts: ['hooks.example'],
  });
  t.deepEqual(
    [config.live.maxSubscribers, config.log.level, config.shutdown.graceSeconds],
    [3, 'debug', 1.5],
  );
  const worker = {
    name: 'box',
    providers: ['echo'],
    concurrency: 0,
    tags: ['gpu'],
    coordinator: 'http://c:7420',
  };
  t.deepEqual(config.worker, { ...worker, apiKey: 'abcdefghijklmnop' });
});

test('a key of the worker is never shown', async (t) => {
  const { config } = await load(t, 'worker: { api_key: abcdefghijklmnop }');
  t.notRegex(JSON.stringify(presentConfig(config)), /abcdefghij/);
});

test('what is shown can be read again and gives the same', async (t) => {
  const first = await load(
    t,
    'ollama: { model: x }\nrouting: { rules: [{ match: { tags: [a] }, provider: ollama }] }',
  );
  const shown = presentConfig(first.config);
  const second = await load(t, JSON.stringify(shown));
  t.deepEqual(presentConfig(second.config), { ...shown, providers: presentConfig(second.config).providers });
  t.is(second.config.providers.ollama?.model, 'x');
});

test('blocks and keys without a value are the same as none', async (t) => {
  const { config } = await load(t, 'host:\njobs:\nproviders:\n  openai:\nrouting:\n  rules:\n');
  t.is(config.host, '127.0.0.1');
  t.is(config.jobs.timeoutSeconds, 600);
  t.is(config.providers.openai?.model, null);
});

test('an empty file is a configuration of defaults', async (t) => {
  const { config, file } = await load(t, '# nothing yet\n');
  t.is(config.port, 7420);
  t.regex(file ?? '', /svc\.config\.yaml$/);
});

test('a name that every JavaScript object has finds no provider, price or priority', async (t) => {
  const { config } = await load(t, 'providers: { openai: { model: x } }');
  t.false('constructor' in config.providers);
  t.false('constructor' in config.pricing);
  t.false('constructor' in config.jobs.priorities);
});

test('the model of a local provider may stand at the top, as the specification shows it', async (t) => {
  const top = await load(t, 'ollama: { model: llama3.2:3b }');
  t.is(top.config.providers.ollama?.model, 'llama3.2:3b');
  t.is(top.sources['providers.ollama.model'], 'file');

  const named = await load(t, 'my-box: { model: m }\nproviders: { my-box: { base_url: "http://10.0.0.9" } }');
  t.like(named.config.providers['my-box'], { model: 'm', baseUrl: 'http://10.0.0.9' });

  const both = await load(t, 'ollama: { model: same }\nproviders: { ollama: { model: same } }');
  t.is(both.config.providers.ollama?.model, 'same');
});

test('rate_limit of providers.defaults holds for all providers, and defaults is none of them', async (t) => {
  const { config } = await load(
    t,
    'providers: { defaults: { rate_limit: { max_retries: 7 } }, openai: { model: x } }',
  );
  t.deepEqual(Object.keys(config.providers), ['openai']);
  t.deepEqual(config.providerDefaults.rateLimit, {
    maxConcurrent: null,
    retryAfterSeconds: 30,
    maxRetries: 7,
    retryAfterMaxSeconds: 300,
  });
  t.like(presentConfig(config), {
    providers: { defaults: { rate_limit: { max_retries: 7 } }, openai: { rate_limit: null } },
  });
  t.is((await load(t, '')).config.providerDefaults.rateLimit, null);
});
