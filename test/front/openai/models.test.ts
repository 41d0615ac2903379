import test from 'ava';
import OpenAI from 'openai';
import { createProvider } from '../../../src/worker/providers/index.ts';
import { json, whole } from '../../fixtures/providers/answers.ts';
import { openaiChat } from '../../fixtures/providers/openaiChat.ts';
import { FakeServer } from '../../fixtures/providers/server.ts';
import { adminKey } from '../../support/process.ts';
import { clientOf, hello, openAiHere, startWorker } from './support.ts';

const config = {
  providers: {
    openai: { model: 'gpt-5-mini', models: ['gpt-5'] },
    later: { base_url: 'http://127.0.0.1:9' },
  },
  routing: { rules: [{ match: { model: 'fast' }, provider: 'echo', model: 'quick' }] },
};

test('models are those of workers and of the configuration, and auto; ids may have slashes, raw or escaped', async (t) => {
  const { openai, url } = await openAiHere(t, { config });
  const server = await FakeServer.listen(whole(openaiChat, { model: 'org/lab-7b', text: ['Hi'] }));
  t.teardown(() => server.close());
  server.gets.set('/v1/models', json({ data: [{ id: 'org/lab-7b' }] }));
  const lab = createProvider({ name: 'lab', baseUrl: `${server.url}/v1`, apiKey: null, model: null });
  if (lab === null) throw new Error('no adapter');
  await startWorker(t, url, [lab], 'lab-box');
  const { data } = await openai.models.list();
  t.deepEqual(
    data.map(({ id }) => id),
    ['auto', 'echo', 'held/m', 'lab/org/lab-7b', 'openai/gpt-5', 'openai/gpt-5-mini'],
  );
  t.like(data.at(-1), { object: 'model', owned_by: 'openai' });
  for (const path of ['lab/org/lab-7b', 'lab%2Forg%2Flab-7b', 'echo/anything', 'auto', 'later/x']) {
    const response = await fetch(`${url}/v1/models/${path}`, { headers: { 'x-api-key': adminKey } });
    t.like(await response.json(), { id: decodeURIComponent(path), object: 'model' });
  }
  t.is((await openai.models.retrieve('lab/org/lab-7b')).owned_by, 'lab');
  for (const id of ['lab/other', 'openai/gpt-4', 'nobody', 'nobody/x', 'held/'])
    t.like(await t.throwsAsync(openai.models.retrieve(id), { instanceOf: OpenAI.NotFoundError }), {
      code: 'model_not_found',
    });
  const { model } = await openai.chat.completions.create({ model: 'lab/org/lab-7b', messages: hello });
  t.is(model, 'lab/org/lab-7b');
  t.is(server.bodies[0]?.model, 'org/lab-7b');
  t.deepEqual(server.faults, []);
});

test('a bare model goes where the routing says, or to the provider that has it', async (t) => {
  const { post, client, openai } = await openAiHere(t, { config });
  const places: [string, string | null, string | null, string][] = [
    // A rule of the configuration is an alias.
    ['fast', null, 'fast', 'echo/quick'],
    ['echo', 'echo', null, 'echo/echo'],
  ];
  for (const [model, provider, named, served] of places) {
    const response = await post({ model });
    t.like(await response.json(), { model: served });
    t.like(await client.job(response.headers.get('x-svc-job-id') ?? ''), { provider, model: named });
  }
  const gone = new AbortController();
  const headers = { 'x-svc-on-disconnect': 'continue' };
  const waiting = await post({ model: 'gpt-5', stream: true }, { headers, signal: gone.signal });
  t.like(await client.job(waiting.headers.get('x-svc-job-id') ?? ''), { provider: 'openai', model: 'gpt-5' });
  gone.abort();
  const nowhere = await t.throwsAsync(openai.chat.completions.create({ model: 'auto', messages: hello }), {
    instanceOf: OpenAI.BadRequestError,
  });
  t.like(nowhere, { param: 'model' });
});

test('auto leaves everything to the routing', async (t) => {
  const { openai } = await openAiHere(t, { config: { jobs: { default_provider: 'echo' } } });
  t.is((await openai.chat.completions.create({ model: 'auto', messages: hello })).model, 'echo/echo');
  t.is((await openai.chat.completions.create({ model: 'gpt-4o', messages: hello })).model, 'echo/gpt-4o');
});

test('roles, keys and limits are those of the native API, in the form of OpenAI', async (t) => {
  const { url, client } = await openAiHere(t, { config: { http: { rate_limit_per_key: 2 } } });
  const viewer = await client.createKey({ role: 'viewer', name: 'viewer' });
  const metrics = await client.createKey({ role: 'metrics', name: 'metrics' });
  const ask = { model: 'echo', messages: hello };
  const reader = clientOf(url, viewer.key);
  t.true((await reader.models.list()).data.length > 1);
  t.like(
    await t.throwsAsync(reader.chat.completions.create(ask), { instanceOf: OpenAI.PermissionDeniedError }),
    {
      code: 'insufficient_permissions',
    },
  );
  await t.throwsAsync(clientOf(url, metrics.key).models.list(), { instanceOf: OpenAI.PermissionDeniedError });
  t.like(
    await t.throwsAsync(clientOf(url, 'wrong').models.list(), { instanceOf: OpenAI.AuthenticationError }),
    {
      code: 'invalid_api_key',
      type: 'invalid_request_error',
    },
  );
  const refusals = await Promise.allSettled(Array.from({ length: 6 }, () => reader.models.list()));
  const refusal = refusals.find(({ status }) => status === 'rejected');
  const { reason } = refusal as PromiseRejectedResult;
  t.true(reason instanceof OpenAI.RateLimitError);
  t.is(reason.code, 'rate_limit_exceeded');
  t.is(reason.headers.get('x-should-retry'), 'true');
  t.true(Number(reason.headers.get('retry-after')) >= 1);
  // The SDK waits as it is told, and gets through by itself.
  t.true((await reader.withOptions({ maxRetries: 5 }).models.list()).data.length > 1);
});

test('what is not there is JSON in the form of OpenAI, and a key may come as x-api-key here alone', async (t) => {
  const { url } = await openAiHere(t);
  const headers = { 'x-api-key': adminKey, accept: 'text/html' };
  for (const [method, path, status, code] of [
    ['GET', '/v1', 404, 'unknown_url'],
    ['GET', '/v1/nothing', 404, 'unknown_url'],
    ['DELETE', '/v1/chat/completions', 405, 'method_not_allowed'],
    ['DELETE', '/v1/models/echo', 405, 'method_not_allowed'],
    ['POST', '/v1/chat/completions', 400, 'invalid_value'],
  ] as const) {
    const response = await fetch(url + path, { method, headers });
    t.is(response.status, status);
    t.regex(response.headers.get('content-type') ?? '', /^application\/json/);
    t.like(await response.json(), { error: { type: 'invalid_request_error', code } });
  }
  t.is((await fetch(`${url}/v1/models?limit=1000`, { headers })).status, 200);
  t.is((await fetch(`${url}/api/jobs`, { headers: { 'x-api-key': adminKey } })).status, 401);
});

test('front.openai: false closes it', async (t) => {
  const { openai, client } = await openAiHere(t, { config: { front: { openai: false } } });
  const error = await t.throwsAsync(openai.models.list(), { instanceOf: OpenAI.NotFoundError });
  t.regex(error.message, /switched off here \(front\.openai\)/);
  t.is((await client.jobs()).total, 0);
});
