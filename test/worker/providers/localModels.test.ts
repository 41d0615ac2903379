import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { systemClock } from '../../../src/lib/systemClock.ts';
import { type Provider, ProviderRefused, ProviderUnreachable } from '../../../src/worker/provider.ts';
import { createProvider } from '../../../src/worker/providers/index.ts';
import { job } from '../support/setup.ts';

/** A server whose lists of models are these, by path; every chat is answered with the name that was asked for. */
async function localServer(t: ExecutionContext, lists: Record<string, unknown>): Promise<string> {
  const listener: RequestListener = async (request, response) => {
    const list = lists[request.url ?? ''];
    if (request.method === 'GET') {
      response.writeHead(list === undefined ? 404 : 200).end(JSON.stringify(list ?? { error: 'Not Found' }));
      return;
    }
    const { model }: { model: string } = JSON.parse(Buffer.concat(await request.toArray()).toString());
    const choice = { index: 0, delta: { content: model }, finish_reason: 'stop' };
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(`data: ${JSON.stringify({ model, choices: [choice] })}\n\ndata: [DONE]\n\n`);
  };
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function make(name: string, baseUrl: string, model: string | null = null): Provider {
  const provider = createProvider({ name, baseUrl, apiKey: null, model });
  if (provider === null) throw new Error(`no provider ${name}`);
  return provider;
}

async function run(provider: Provider, model: string | null) {
  const context = {
    clock: systemClock,
    signal: new AbortController().signal,
    onText: () => {},
    onPart: () => {},
  };
  const outcome = await provider.run(job('a', { provider: provider.name, model }), context);
  return outcome.ok ? outcome.result.output : outcome.error;
}

const lmStudioV1 = {
  models: [
    { type: 'llm', key: 'qwen3-8b', loaded_instances: [{ id: 'qwen3-8b' }, { id: 'mine' }] },
    { type: 'llm', key: 'llama-3.2-3b', loaded_instances: [] },
    { type: 'embedding', key: 'nomic', loaded_instances: [{ id: 'nomic' }] },
  ],
};

test('of LM Studio the loaded models are told, and all on its disk may be asked for', async (t) => {
  const url = await localServer(t, { '/api/v1/models': lmStudioV1 });
  const provider = make('lmstudio', url);
  t.is(provider.kind, 'local');
  t.deepEqual(await provider.models(), ['qwen3-8b', 'mine']);
  t.is(await run(provider, 'llama-3.2-3b'), 'llama-3.2-3b');
  t.deepEqual(await make('lmstudio', url, 'llama-3.2-3b').models(), ['qwen3-8b', 'mine', 'llama-3.2-3b']);
  t.deepEqual(await run(provider, 'nobody'), {
    class: 'model_not_found',
    message: 'Model not found: lmstudio does not report nobody; it has qwen3-8b, mine, llama-3.2-3b',
  });
});

test('an LM Studio of before 0.4 is asked in its own way, and any other by /v1/models', async (t) => {
  const data = [
    { id: 'a', type: 'llm', state: 'not-loaded' },
    { id: 'b', type: 'vlm', state: 'loaded' },
  ];
  t.deepEqual(await make('lmstudio', await localServer(t, { '/api/v0/models': { data } })).models(), ['b']);
  const cold = { data: data.slice(0, 1) };
  const provider = make('lmstudio', await localServer(t, { '/api/v0/models': cold }));
  t.deepEqual(await provider.models(), []);
  t.is(await run(provider, 'a'), 'a', 'it is loaded when it is asked for');
  t.like(await run(provider, null), {
    class: 'model_not_loaded',
    message: 'No model loaded: lmstudio has no model loaded',
  });
  const plain = await localServer(t, { '/v1/models': { object: 'list', data: [{ id: 'x' }] } });
  for (const name of ['lmstudio', 'llamacpp', 'vllm']) t.deepEqual(await make(name, plain).models(), ['x']);
});

test('a job that names no model gets the only one that a local server has', async (t) => {
  const one = make('llamacpp', await localServer(t, { '/v1/models': { data: [{ id: 'only' }] } }));
  t.is(await run(one, null), 'only');
  const none = make('llamacpp', await localServer(t, { '/v1/models': { data: [] } }));
  t.like(await run(none, null), {
    class: 'model_not_loaded',
    message: 'No model loaded: llamacpp has no model loaded',
  });
  const two = make('vllm', await localServer(t, { '/v1/models': { data: [{ id: 'a' }, { id: 'b' }] } }));
  t.like(await run(two, null), {
    class: 'model_not_loaded',
    message: 'No model loaded: the job names no model, vllm.model is not configured, and vllm has several',
  });
});

test('a job that names no model is not told that there is none while nobody answers, or the model loads', async (t) => {
  t.like(await run(make('llamacpp', 'http://127.0.0.1:9'), null), {
    class: 'network',
    message:
      'could not reach the llamacpp server at http://127.0.0.1:9/v1: the connection was refused (ECONNREFUSED)',
  });
  const loading = createServer((_request, response) => {
    response
      .writeHead(503)
      .end('{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}');
  }).listen(0, '127.0.0.1');
  await once(loading, 'listening');
  t.teardown(() => loading.close());
  const provider = make('llamacpp', `http://127.0.0.1:${(loading.address() as AddressInfo).port}`);
  for (const model of [null, 'm']) {
    t.like(await run(provider, model), {
      class: 'model_not_loaded',
      code: 'model_loading',
      message: 'No model loaded: Loading model',
    });
  }
  await t.throwsAsync(provider.models(), { instanceOf: ProviderUnreachable, message: /Loading model/ });
});

test('a model that was loaded after the last look is found', async (t) => {
  const lists: Record<string, unknown> = { '/v1/models': { data: [{ id: 'old' }] } };
  const provider = make('llamacpp', await localServer(t, lists), 'configured');
  t.deepEqual(await provider.models(), ['old']);
  t.like(await run(provider, null), { class: 'model_not_found' });
  lists['/v1/models'] = { data: [{ id: 'new' }] };
  t.is(await run(provider, 'new'), 'new');
});

test('each local server that is not there says where it was looked for, and how it is started', async (t) => {
  const advice = { lmstudio: /lms server start/, llamacpp: /llama-server -m/, vllm: /vllm serve/ };
  for (const [name, start] of Object.entries(advice)) {
    const error = await t.throwsAsync(make(name, 'http://127.0.0.1:9').models(), {
      instanceOf: ProviderUnreachable,
    });
    t.true(error?.message.startsWith(`could not connect to the ${name} server at http://127.0.0.1:9/v1: `));
    t.regex(error?.message ?? '', start);
    t.regex(error?.message ?? '', /SVC_LOCAL_MODEL_HOST or providers\.\w+\.base_url/);
  }
});

test('any name with an address is a provider: on this machine a local one, elsewhere a cloud one that takes any model', async (t) => {
  const near = make('mine', await localServer(t, { '/models': [{ id: 'x' }] }));
  t.is(near.kind, 'local');
  t.deepEqual(await near.models(), ['x']);
  const far = make('groq', 'https://api.groq.example/openai/v1');
  t.is(far.kind, 'cloud');
  t.is(await far.models(), null);
});

test('a probe tells a refused key from a server that is not there', async (t) => {
  const server = createServer((_request, response) => {
    response
      .writeHead(401)
      .end('{"error":{"message":"Incorrect API key provided: sk-1234567890","code":"invalid_api_key"}}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const provider = make('openai', `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  await t.throwsAsync(provider.probe(), {
    instanceOf: ProviderRefused,
    message:
      '401 Unauthorized: Authentication failed: openai refuses the key of this worker (invalid_api_key)',
  });
  await t.throwsAsync(make('openai', 'http://127.0.0.1:9').probe(), { instanceOf: ProviderUnreachable });
});
