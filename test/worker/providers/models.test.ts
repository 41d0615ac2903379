import test from 'ava';
import { ProviderRefused, ProviderUnreachable } from '../../../src/worker/provider.ts';
import { serve } from '../../conformance/providerWire.ts';
import { garbage, json, refused, silent } from '../../fixtures/providers/answers.ts';
import { tags } from '../../fixtures/providers/ollamaChat.ts';
import { lmstudioModels, lmstudioModelsV0, modelList } from '../../fixtures/providers/openaiCompatible.ts';
import { adapter, providerKey } from '../support/wireProvider.ts';

const onDisk = [
  { key: 'qwen3-8b', loaded: false },
  { key: 'gemma-3-270m', loaded: true },
  { key: 'text-embedding-nomic', loaded: true, embedding: true },
];

for (const name of ['lmstudio', 'llamacpp', 'vllm', 'mine']) {
  test(`${name}: what GET /v1/models lists, asked with the key`, async (t) => {
    const server = await serve(t, silent);
    server.gets.set('/v1/models', modelList('a', 'b'));
    const provider = adapter({ name, baseUrl: `${server.url}/v1` });
    t.deepEqual(await provider.probe(), ['a', 'b']);
    const asked = server.asked.at(-1);
    t.is(asked?.headers.authorization, `Bearer ${providerKey}`);
    t.is(asked?.path, '/v1/models');
  });
}

test('lmstudio: the models that are loaded are told; one that only embeds is left out', async (t) => {
  for (const [path, answer] of [
    ['/api/v1/models', lmstudioModels(onDisk)],
    ['/api/v0/models', lmstudioModelsV0(onDisk)],
  ] as const) {
    const server = await serve(t, silent);
    server.gets.set(path, answer);
    const models = await adapter({ name: 'lmstudio', baseUrl: server.url }).models();
    t.deepEqual(models, ['gemma-3-270m'], path);
  }
});

test('ollama: what GET /api/tags lists, under each name that it takes', async (t) => {
  const server = await serve(t, silent);
  server.gets.set('/api/tags', tags('llama3.2:latest', 'qwen3:8b'));
  const models = await adapter({ name: 'ollama', baseUrl: server.url }).models();
  t.deepEqual(models?.toSorted(), ['llama3.2', 'llama3.2:latest', 'qwen3:8b']);
});

test('an address is taken as the other clients of its server want it', async (t) => {
  const server = await serve(t, silent);
  server.gets.set('/api/tags', tags('qwen3:8b'));
  server.gets.set('/v1/models', modelList('a'));
  server.gets.set('/prefix/v1/models', modelList('b'));
  const probe = (name: string, path: string) => adapter({ name, baseUrl: server.url + path }).probe();
  for (const path of ['', '/', '/v1', '/v1/']) {
    t.deepEqual(await probe('ollama', path), ['qwen3:8b'], path);
    t.deepEqual(await probe('anthropic', path), ['a'], path);
    t.deepEqual(await probe('lmstudio', path), ['a'], path);
  }
  t.deepEqual(await probe('anthropic', '/prefix'), ['b']);
});

for (const name of ['lmstudio', 'llamacpp', 'vllm', 'ollama']) {
  test(`${name}: nobody there, a page, and another server are told apart from a list`, async (t) => {
    await t.throwsAsync(adapter({ name, baseUrl: 'http://127.0.0.1:9' }).models(), {
      instanceOf: ProviderUnreachable,
      message: new RegExp(`could not connect to the ${name} server at http://127\\.0\\.0\\.1:9`),
    });
    for (const answer of [garbage('text/html', '<html>\n'), json({ status: 'ok' }), json({ data: 'none' })]) {
      const server = await serve(t, silent);
      server.notFound = answer;
      const error = await t.throwsAsync(adapter({ name, baseUrl: server.url }).models(), {
        instanceOf: ProviderUnreachable,
      });
      t.regex(error?.message ?? '', new RegExp(`does not answer like ${name}`));
    }
  });

  test(`${name}: a key that is refused is told as such, and is not in the message`, async (t) => {
    const server = await serve(t, silent);
    const body = { error: { message: `no such key: ${providerKey}` } };
    server.notFound = refused({ title: '', status: 401, body, class: 'auth' });
    const error = await t.throwsAsync(adapter({ name, baseUrl: server.url }).probe(), {
      instanceOf: ProviderRefused,
    });
    t.regex(error?.message ?? '', /Authentication failed/);
    t.false(error?.message.includes(providerKey));
  });

  test(`${name}: a list is not fetched from where a redirect points`, async (t) => {
    const other = await serve(t, silent);
    other.notFound = modelList('a');
    const server = await serve(t, silent);
    server.notFound = ({ response }) =>
      void response.writeHead(307, { location: `${other.url}/v1/models` }).end();
    await t.throwsAsync(adapter({ name, baseUrl: server.url }).models(), { instanceOf: ProviderUnreachable });
    t.deepEqual(other.asked, []);
  });
}

for (const [name, path, answer, header] of [
  ['openai', '/v1/models', modelList('gpt-4o'), 'authorization'],
  ['anthropic', '/v1/models', modelList('claude-sonnet-4-5'), 'x-api-key'],
  ['google', '/v1beta/models', json({ models: [{ name: 'models/gemini-2.5-flash' }] }), 'x-goog-api-key'],
] as const) {
  test(`${name}: a probe tells whether the key is taken`, async (t) => {
    const server = await serve(t, silent);
    server.gets.set(path, answer);
    const baseUrl = `${server.url}${path.replace('/models', '')}`;
    const provider = adapter({ name, baseUrl });
    t.true(Array.isArray(await provider.probe()));
    t.true(String(server.asked[0]?.headers[header]).endsWith(providerKey));
    t.is(await provider.models(), null, 'a cloud takes any name');
    server.gets.set(path, refused({ title: '', status: 401, body: {}, class: 'auth' }));
    await t.throwsAsync(provider.probe(), { instanceOf: ProviderRefused });
  });
}
