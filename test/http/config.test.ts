import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { LiveConfig } from '../../src/config/liveConfig.ts';
import { loadConfig } from '../../src/config/load.ts';
import { silent } from '../../src/lib/log.ts';
import { startService } from '../../src/service.ts';
import { temporaryFolder } from '../support/folder.ts';
import { checkedFetch } from '../support/openapi.ts';

const apiKey = 'an-admin-key-for-tests';

/** What the tests look into. */
interface Json {
  config: { http: { max_body_bytes: number } };
  needs_restart: string[];
  errors: unknown;
}

/** The whole service on a configuration file, and the way to write another one. */
async function setup(t: ExecutionContext, yaml: string) {
  const cwd = temporaryFolder(t);
  const write = (text: string) => writeFile(join(cwd, 'svc.config.yaml'), `port: 0\n${text}`);
  await write(yaml);
  const from = { env: {}, cwd };
  const config = LiveConfig.ofFile(await loadConfig(from), from, silent);
  const service = await startService({ config, apiKey, logger: silent });
  t.teardown(() => service.stop(0));
  const api = async (method: string, path: string, body?: string) => {
    const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
    const response = await checkedFetch(service.url + path, { method, headers, ...(body ? { body } : {}) });
    return { status: response.status, json: (await response.json()) as Json };
  };
  return { api, write, cwd };
}

test('GET /api/config shows what is in force and where it came from, without secrets', async (t) => {
  const { api, cwd } = await setup(
    t,
    'worker: { api_key: a-secret-of-the-workers }\nlive: { max_subscribers: 5 }',
  );
  const { status, json } = await api('GET', '/api/config');
  t.is(status, 200);
  t.like(json, {
    config: { port: 0, live: { max_subscribers: 5 }, worker: { api_key: '[hidden]' } },
    sources: { port: 'file', 'live.max_subscribers': 'file', host: 'default' },
    file: join(cwd, 'svc.config.yaml'),
    needs_restart: [],
  });
  t.false(JSON.stringify(json).includes('a-secret-of'));
});

test('POST /api/config/reload answers what has changed, and the body limit follows', async (t) => {
  const { api, write } = await setup(t, 'http: { max_body_bytes: 1024 }');
  const job = JSON.stringify({ provider: 'echo', prompt: 'x'.repeat(2000) });
  t.is((await api('POST', '/api/jobs', job)).status, 413);

  await write('http: { max_body_bytes: 4096 }\nhost: 127.0.0.9\njobs: { default_provider: nobody }');
  const { status, json } = await api('POST', '/api/config/reload');
  t.is(status, 200);
  t.deepEqual(json, {
    changed: [
      { key: 'jobs.default_provider', from: null, to: 'nobody' },
      { key: 'http.max_body_bytes', from: 1024, to: 4096 },
    ],
    needs_restart: ['host'],
    warnings: [
      'svc.config.yaml:4: jobs.default_provider: names the provider nobody, which is not configured; nothing under providers sets it up',
    ],
  });
  t.is((await api('POST', '/api/jobs', job)).status, 201);
  t.deepEqual((await api('GET', '/api/config')).json.needs_restart, ['host']);
});

test('a bad file is refused with every problem and its line, and changes nothing', async (t) => {
  const { api, write } = await setup(t, 'http: { max_body_bytes: 1024 }');
  await write('http:\n  max_body_bytes: 1\njobs:\n  max_reap: 3\n');
  const { status, json } = await api('POST', '/api/config/reload');
  t.is(status, 400);
  t.like(json, { code: 'invalid_request' });
  t.deepEqual(json.errors, [
    {
      field: 'http.max_body_bytes',
      message: 'svc.config.yaml:3: must be a whole number from 1024 to 1073741824, not 1',
    },
    { field: 'jobs.max_reap', message: 'svc.config.yaml:5: unknown key, did you mean max_reaps?' },
  ]);
  t.is((await api('GET', '/api/config')).json.config.http.max_body_bytes, 1024);
});
