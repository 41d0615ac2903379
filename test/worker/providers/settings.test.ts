import test from 'ava';
import { begin, failureOf, resultOf } from '../../conformance/providerRun.ts';
import { serve } from '../../conformance/providerWire.ts';
import { refused, whole } from '../../fixtures/providers/answers.ts';
import { anthropic } from '../../fixtures/providers/anthropic.ts';
import { vllm } from '../../fixtures/providers/openaiCompatible.ts';
import { adapter } from '../support/wireProvider.ts';

/** What a configuration says of a provider, on the wire. */

const turn = { model: 'm', text: ['Yes.'] };

test('configured headers go along with every request, and replace those of the adapter', async (t) => {
  const server = await serve(t, whole(vllm, turn));
  server.gets.set('/v1/models', ({ response }) => void response.end('{"data":[{"id":"m"}]}'));
  const headers = {
    'HTTP-Referer': 'https://house.example',
    'x-portkey-api-key': 'pk',
    Authorization: 'Basic abc',
  };
  const provider = adapter({ name: 'gateway', baseUrl: `${server.url}/v1`, headers });
  await provider.models();
  resultOf(await begin(provider, { model: 'm' }).outcome);
  t.deepEqual(
    server.asked.map(({ method }) => method),
    ['GET', 'POST'],
  );
  for (const asked of server.asked) {
    t.like(asked.headers, {
      'http-referer': 'https://house.example',
      'x-portkey-api-key': 'pk',
      authorization: 'Basic abc',
    });
  }
});

test('anthropic: configured betas stand beside those that a request needs', async (t) => {
  const server = await serve(t, whole(anthropic, turn));
  const headers = { 'anthropic-beta': 'context-1m-2025-08-07' };
  const provider = adapter({ name: 'anthropic', baseUrl: server.url, headers });
  const messages = [
    { role: 'user', content: 'a' },
    { role: 'system', content: 'b' },
    { role: 'user', content: 'c' },
  ];
  resultOf(await begin(provider, { model: 'm', prompt: null, messages }).outcome);
  t.regex(
    String(server.asked[0]?.headers['anthropic-beta']),
    /mid-conversation-system[\w-]*,context-1m-2025-08-07$/,
  );
});

test('the value of a configured header is in no error', async (t) => {
  const secret = 'a-secret-of-the-gateway';
  const body = { error: { message: `the key ${secret} has no access to this route`, type: 'x' } };
  const server = await serve(t, refused({ title: '', status: 422, body, class: 'invalid_request' }));
  const provider = adapter({ name: 'gateway', baseUrl: server.url, headers: { 'x-key': secret } });
  const { error } = failureOf(await begin(provider, { model: 'm' }).outcome);
  t.regex(error.message, /the key \[hidden\] has no access/);
});

test('the query of a base_url goes along with every request', async (t) => {
  const server = await serve(t, whole(vllm, turn));
  server.gets.set('/v1/models', ({ response }) => void response.end('{"data":[{"id":"m"}]}'));
  const provider = adapter({ name: 'gateway', baseUrl: `${server.url}/v1/?tenant=a&region=eu` });
  t.deepEqual(await provider.models(), ['m']);
  resultOf(await begin(provider, { model: 'm' }).outcome);
  t.deepEqual(
    server.asked.map(({ path }) => path),
    ['/v1/models?tenant=a&region=eu', '/v1/chat/completions?tenant=a&region=eu'],
  );
  server.gets.set('/api/tags', ({ response }) => void response.end('{"models":[{"name":"llama3.2:1b"}]}'));
  const ollama = adapter({ name: 'ollama', baseUrl: `${server.url}?tenant=a`, apiKey: null });
  t.deepEqual(await ollama.models(), ['llama3.2:1b']);
  t.is(server.asked.at(-1)?.path, '/api/tags?tenant=a');
});

for (const status of [404, 403, 405, 500]) {
  test(`a gateway that answers ${status} to GET /models is used with the models that are configured`, async (t) => {
    const server = await serve(t, whole(vllm, turn));
    server.notFound = ({ response }) => void response.writeHead(status).end('no');
    const provider = adapter({ name: 'gateway', baseUrl: `${server.url}/v1`, models: ['m', 'n'] });
    t.deepEqual(await provider.models(), ['m', 'n']);
    t.deepEqual(await provider.probe(), ['m', 'n']);
    t.is(resultOf(await begin(provider, { model: 'n' }).outcome).output, 'Yes.');
  });
}

test('configured models do not hide that a gateway is not there, or refuses the key', async (t) => {
  const gone = adapter({ name: 'gateway', baseUrl: 'http://127.0.0.1:9/v1', models: ['m'] });
  await t.throwsAsync(gone.models(), { name: 'ProviderUnreachable' });
  const server = await serve(t, whole(vllm, turn));
  server.notFound = ({ response }) => void response.writeHead(401).end('{"error":"Unauthorized"}');
  const refusing = adapter({ name: 'gateway', baseUrl: `${server.url}/v1`, models: ['m'] });
  await t.throwsAsync(refusing.models(), { name: 'ProviderRefused' });
});

test('a cloud provider with configured models is asked for none, and tells those', async (t) => {
  const provider = adapter({ name: 'gateway', baseUrl: 'https://gateway.example/v1', models: ['m'] });
  t.deepEqual(await provider.models(), ['m']);
});
