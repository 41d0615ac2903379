import test from 'ava';
import type { WorkerSettings } from '../../src/config/config.ts';
import type { ConfigFile } from '../../src/config/file.ts';
import { readWorkerEnvironment, type WorkerEnvironment } from '../../src/config/workerEnvironment.ts';
import { settle, settledChanges } from '../../src/worker/layers.ts';
import { providerKey } from '../../src/worker/providerKeys.ts';
import { SettingsError } from '../../src/worker/settings.ts';
import { load } from '../config/folder.ts';

const key = 'a-key-of-16-characters-and-more';

/** Sources with this local file; everything else is as good as empty. */
async function sourcesOf(t: Parameters<typeof load>[0], yaml: string, env: NodeJS.ProcessEnv = {}) {
  const flags: Partial<WorkerSettings> = {};
  const environment: WorkerEnvironment = {
    coordinator: null,
    configUrl: null,
    localModelHost: null,
    allowedVariables: [],
  };
  return { flags, environment, local: await load(t, yaml, { env }), env, host: 'box' };
}

test('a value comes from flag, environment, local file, remote configuration, default: the first that has it', async (t) => {
  const remote: ConfigFile = {
    worker: {
      providers: ['echo'],
      concurrency: 9,
      tags: ['remote'],
      coordinator: 'http://remote:1',
      api_key: 'the-remote-key-the-remote-key',
      name: 'remote',
    },
  };
  const sources = await sourcesOf(t, 'worker: { tags: [file], coordinator: "http://file:1" }', {
    SVC_API_KEY: key,
  });
  sources.flags = { name: 'flag' };
  sources.environment.coordinator = 'http://env:1';
  t.deepEqual(settle(sources, remote).settings, {
    name: 'flag',
    coordinator: 'http://env:1',
    tags: ['file'],
    concurrency: 9,
    providers: ['echo'],
    apiKey: key,
  });
  const bare = await sourcesOf(t, '');
  t.is(settle(bare, remote).settings.apiKey, 'the-remote-key-the-remote-key');
  t.is(settle(bare, remote).settings.name, 'remote');
});

test('each setting of a provider is taken by itself, and its key from the variable that is named', async (t) => {
  const sources = await sourcesOf(t, `worker: { api_key: ${key} }\nproviders: { ollama: { model: mine } }`, {
    OLLAMA_GPU_API_KEY: 'a-provider-key',
  });
  const remote: ConfigFile = {
    worker: { providers: ['ollama'] },
    ollama: { model: 'theirs' },
    providers: { ollama: { base_url: 'http://gpu:1', api_key_env: 'OLLAMA_GPU_API_KEY' } },
  } as ConfigFile;
  t.deepEqual(settle(sources, remote).providers, [
    { name: 'ollama', baseUrl: 'http://gpu:1', model: 'mine', apiKey: 'a-provider-key' },
  ]);
  sources.environment.localModelHost = 'http://elsewhere:2';
  t.is(settle(sources, remote).providers[0]?.baseUrl, 'http://elsewhere:2');
});

test('SVC_LOCAL_MODEL_HOST does not mean the echo, and is refused for two local servers', async (t) => {
  const sources = await sourcesOf(t, `worker: { api_key: ${key} }`);
  sources.environment.localModelHost = 'http://elsewhere:2';
  sources.flags = { providers: ['echo', 'ollama'] };
  t.deepEqual(
    settle(sources, null).providers.map(({ baseUrl }) => baseUrl),
    [null, 'http://elsewhere:2'],
  );
  sources.flags = { providers: ['lmstudio', 'ollama'] };
  t.throws(() => settle(sources, null), { message: /this worker serves lmstudio and ollama: set providers/ });
});

test('the stale time is the local one where the file sets it, else the remote one', async (t) => {
  const remote: ConfigFile = { jobs: { reap_stale_after_seconds: 33 } };
  const plain = await sourcesOf(t, `worker: { api_key: ${key}, providers: [echo] }`);
  t.is(settle(plain, null).staleSeconds, 120);
  t.is(settle(plain, remote).staleSeconds, 33);
  const own = await sourcesOf(
    t,
    `jobs: { reap_stale_after_seconds: 55 }\nworker: { api_key: ${key}, providers: [echo] }`,
  );
  t.is(settle(own, remote).staleSeconds, 55);
});

test('changes are sorted into those that hold at once and those that need a restart', async (t) => {
  const sources = await sourcesOf(t, `worker: { api_key: ${key} }`);
  const before = settle(sources, { worker: { providers: ['echo'], name: 'a', concurrency: 1 } });
  const after = settle(sources, {
    worker: { providers: ['echo'], name: 'b', concurrency: 2, tags: ['x'] },
    providers: { echo: { model: 'm' } },
    jobs: { reap_stale_after_seconds: 5 },
  });
  t.deepEqual(settledChanges(before, after), {
    live: ['worker.concurrency', 'worker.tags', 'providers.echo', 'jobs.reap_stale_after_seconds'],
    restart: ['worker.name'],
  });
  t.deepEqual(settledChanges(after, after), { live: [], restart: [] });
});

test('a provider has its key from its usual variable, but only for its own host', async (t) => {
  const yaml = `worker: { api_key: ${key}, providers: [openai] }`;
  const env = { OPENAI_API_KEY: 'the-key-of-openai', PROXY_KEY: 'the-key-of-a-proxy' };
  const keyOf = async (more: string): Promise<string | null | undefined> =>
    settle(await sourcesOf(t, `${yaml}\n${more}`, env), null).providers[0]?.apiKey;
  t.is(await keyOf(''), 'the-key-of-openai');
  t.is(await keyOf('providers: { openai: { base_url: "https://api.openai.com/v1" } }'), 'the-key-of-openai');
  t.is(await keyOf('providers: { openai: { base_url: "https://proxy.example/v1" } }'), null);
  t.is(
    await keyOf('providers: { openai: { base_url: "https://proxy.example/v1", api_key_env: PROXY_KEY } }'),
    'the-key-of-a-proxy',
  );
});

test('a key that is missing is said with the variable to set', async (t) => {
  const yaml = (providers: string): string =>
    `worker: { api_key: ${key}, providers: [google] }\n${providers}`;
  const plain = await sourcesOf(t, yaml(''));
  t.throws(() => settle(plain, null), {
    message:
      'no key for google: set GEMINI_API_KEY, or name another variable in providers.google.api_key_env',
  });
  const named = await sourcesOf(t, yaml('providers: { google: { api_key_env: MINE } }'));
  t.throws(() => settle(named, null), { message: /api_key_env names MINE, which is not set/ });
});

test('timeouts and the API of a provider are settings like the others', async (t) => {
  const sources = await sourcesOf(
    t,
    `worker: { api_key: ${key}, providers: [openai] }
providers: { openai: { api_key_env: K, api: responses, timeouts: { connect_seconds: 2, idle_seconds: 0.5 } } }`,
    { K: 'the-key-of-openai' },
  );
  t.like(settle(sources, null).providers[0], {
    api: 'responses',
    timeouts: { connectMs: 2000, idleMs: 500 },
  });
  const remote: ConfigFile = { providers: { openai: { timeouts: { total_seconds: 9 } } } };
  t.deepEqual(settle(sources, remote).providers[0]?.timeouts, { connectMs: 2000, idleMs: 500 });
});

test('the key of a provider loses the end of its line, and one that no header can carry is refused without being shown', (t) => {
  const keyOf = (value: string) => providerKey('openai', null, null, { OPENAI_API_KEY: value });
  t.is(keyOf('sk-0123456789\r\n'), 'sk-0123456789');
  for (const bad of ['sk-“0123456789”', 'sk-01234 56789', 'sk-01234\n56789']) {
    const error = t.throws(() => keyOf(bad), { instanceOf: SettingsError });
    t.regex(error?.message ?? '', /OPENAI_API_KEY/);
    t.notRegex(error?.message ?? '', /01234/);
  }
  t.throws(() => keyOf(' \n'), { instanceOf: SettingsError, message: /set OPENAI_API_KEY/ });
});

test('a remote configuration names variables of the providers that are served, and those that the owner allows', async (t) => {
  const env = {
    SVC_API_KEY: 'the-own-key-of-the-worker',
    OPENAI_API_KEY: 'the-key-of-openai',
    ANTHROPIC_API_KEY: 'the-key-of-anthropic',
    MY_VLLM_API_KEY: 'the-key-of-my-vllm',
    HOME: '/home/somebody',
  };
  const yaml = `worker: { api_key: ${key}, providers: [openai, my-vllm] }`;
  const sources = await sourcesOf(t, yaml, env);
  const keyOf = (provider: string, variable: string): string | null | undefined => {
    const block = { base_url: 'https://elsewhere.example/v1', api_key_env: variable };
    const remote: ConfigFile = { providers: { [provider]: block } };
    return settle(sources, remote).providers.find(({ name }) => name === provider)?.apiKey;
  };
  t.is(keyOf('openai', 'OPENAI_API_KEY'), 'the-key-of-openai');
  t.is(keyOf('my-vllm', 'MY_VLLM_API_KEY'), 'the-key-of-my-vllm');
  for (const variable of ['HOME', 'SVC_API_KEY', 'ANTHROPIC_API_KEY', 'OPENAI_ORG']) {
    t.throws(() => keyOf('openai', variable), {
      message: new RegExp(`names ${variable} in providers.openai.api_key_env.*--allow-env ${variable}`),
    });
  }
  sources.environment.allowedVariables = ['ANTHROPIC_API_KEY'];
  t.is(keyOf('openai', 'ANTHROPIC_API_KEY'), 'the-key-of-anthropic');
  const own = await sourcesOf(t, `${yaml}\nproviders: { openai: { api_key_env: HOME } }`, env);
  t.is(settle(own, null).providers[0]?.apiKey, '/home/somebody');
});

test('allowed variables come from the flag and from the environment', (t) => {
  const env = { SVC_WORKER_ALLOWED_ENV: 'ONE, TWO' };
  t.deepEqual(readWorkerEnvironment(env, ['THREE']).allowedVariables, ['THREE', 'ONE', 'TWO']);
});
