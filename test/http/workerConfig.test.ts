import test from 'ava';
import { LiveConfig } from '../../src/config/liveConfig.ts';
import { loadConfig, parseConfig } from '../../src/config/load.ts';
import { silent } from '../../src/lib/log.ts';
import { startService } from '../../src/service.ts';
import { setupApi } from '../support/api.ts';
import { testConfig } from '../support/config.ts';
import { temporaryFolder } from '../support/folder.ts';
import { checkedFetch } from '../support/openapi.ts';

const workerKey = 'the-key-of-all-the-workers';
const provider = {
  rateLimit: { maxConcurrent: 3, retryAfterSeconds: 1, maxRetries: 1, retryAfterMaxSeconds: 1 },
  model: 'llama3.2',
  baseUrl: 'http://gpu:11434',
  apiKeyEnv: 'OLLAMA_KEY',
  breaker: { ratio: 0.5, minimum: 10, windowSeconds: 60, openSeconds: 30 },
};

test('workers read the part of the configuration that they use, and no secret of it', async (t) => {
  const { api, keys } = await setupApi(t, {
    publicUrl: 'https://user:a-password@svc.example',
    providers: {
      ollama: { ...provider, baseUrl: 'http://somebody:a-password@gpu:11434/v1?a=b' },
      openai: { ...provider, model: null, baseUrl: null, rateLimit: null },
    },
    worker: {
      name: 'box',
      providers: ['ollama'],
      concurrency: 0,
      tags: ['gpu'],
      coordinator: 'https://svc:a-password@svc.example/at',
      apiKey: workerKey,
    },
    // Enough for its heartbeats, and not for those by default.
    jobs: { reapStaleAfterSeconds: 15, heartbeatIntervalSeconds: 5 },
  });
  const { status, json, text } = await api('GET', '/api/worker-config', undefined, {
    authorization: `Bearer ${keys.worker}`,
  });
  t.is(status, 200);
  t.deepEqual(json, {
    jobs: { reap_stale_after_seconds: 15, heartbeat_interval_seconds: 5 },
    providers: {
      ollama: { model: 'llama3.2', base_url: 'http://gpu:11434/v1?a=b', api_key_env: 'OLLAMA_KEY' },
      openai: { api_key_env: 'OLLAMA_KEY' },
    },
    ollama: { model: 'llama3.2' },
    worker: {
      providers: ['ollama'],
      concurrency: 0,
      tags: ['gpu'],
      coordinator: 'https://svc.example/at',
    },
  });
  t.false(text.includes(workerKey));
  t.false(text.includes('password'));
  t.like(parseConfig(text, 'worker-config.json'), { problems: [], warnings: [] });
});

test('the key of the workers is not made up: without one in the file there is none', async (t) => {
  const { api } = await setupApi(t);
  const { json } = await api('GET', '/api/worker-config');
  t.deepEqual(json, {
    jobs: { reap_stale_after_seconds: 120, heartbeat_interval_seconds: 10 },
    providers: {},
    worker: {},
  });
});

test('other roles may not read it', async (t) => {
  const { api, keys } = await setupApi(t);
  for (const role of ['viewer', 'client', 'operator'] as const) {
    const reply = await api('GET', '/api/worker-config', undefined, {
      authorization: `Bearer ${keys[role]}`,
    });
    t.is(reply.status, 403, role);
  }
});

test('its ETag is strong, answers 304 while nothing has changed, and changes with it', async (t) => {
  const { config } = await loadConfig({ env: {}, cwd: temporaryFolder(t), overrides: { port: 0 } });
  let next = config;
  const loaded = (of: typeof config) => ({ config: of, file: null, warnings: [], sources: {}, apiKey: null });
  const live = new LiveConfig(loaded(config), async () => loaded(next));
  const apiKey = 'an-admin-key-for-tests';
  const service = await startService({ config: live, apiKey, logger: silent });
  t.teardown(() => service.stop(0));
  const ask = (ifNoneMatch?: string) =>
    checkedFetch(`${service.url}/api/worker-config`, {
      headers: {
        authorization: `Bearer ${apiKey}`,
        ...(ifNoneMatch === undefined ? {} : { 'if-none-match': ifNoneMatch }),
      },
    });

  const first = await ask();
  const etag = first.headers.get('etag') ?? '';
  t.regex(etag, /^"[\w-]{43}"$/);
  for (const match of [etag, `"other", ${etag}`, `W/${etag}`, '*']) {
    const again = await ask(match);
    t.is(again.status, 304, match);
    t.is(await again.text(), '');
    t.is(again.headers.get('etag'), etag);
  }
  t.is((await ask('"other"')).status, 200);

  next = { ...config, worker: { ...testConfig().worker, tags: ['other'] } };
  await live.reload();
  const changed = await ask(etag);
  t.is(changed.status, 200);
  t.like(await changed.json(), { worker: { tags: ['other'] } });
});
