import test, { type ExecutionContext } from 'ava';
import { type LoadedConfig, loadConfig } from '../../../src/config/load.ts';
import { providerSettings } from '../../../src/worker/layers.ts';
import { UnusableKey } from '../../../src/worker/providerKeys.ts';
import { createProvider, missingAddress } from '../../../src/worker/providers/index.ts';
import { cloudPresets } from '../../../src/worker/providers/presets.ts';
import type { ProviderSettings } from '../../../src/worker/providers/providerSettings.ts';
import { begin, failureOf, resultOf } from '../../conformance/providerRun.ts';
import { serve } from '../../conformance/providerWire.ts';
import { json, refused, whole } from '../../fixtures/providers/answers.ts';
import { modelList, openrouter, vllm } from '../../fixtures/providers/openaiCompatible.ts';
import { adapter } from '../support/wireProvider.ts';

/** Cloud providers that are found by their name alone. */

const turn = { model: 'm', text: ['Yes.'] };

const noFile = async (): Promise<LoadedConfig> => loadConfig({ env: {}, cwd: '/' });
const environment = {
  coordinator: null,
  configUrl: null,
  localModelHost: null,
  allowedVariables: [] as string[],
};

for (const [name, { baseUrl, keyVariables, keyHosts }] of Object.entries(cloudPresets)) {
  test(`${name}: its name and its key are all that a worker needs`, async (t) => {
    const [variable = ''] = keyVariables;
    const endpoint = { AZURE_OPENAI_ENDPOINT: 'https://house.openai.azure.com' };
    const sources = { environment, local: await noFile(), env: { ...endpoint, [variable]: 'a-key' } };
    const settings = providerSettings(name, sources, null);
    t.is(settings.apiKey, 'a-key');
    const provider = createProvider(settings);
    t.like(provider, { name, kind: 'cloud' });
    t.is(await provider?.models(), null, 'any model may be asked for');
    t.throws(() => providerSettings(name, { ...sources, env: endpoint }, null), {
      instanceOf: UnusableKey,
      message: new RegExp(variable),
    });
    if (baseUrl !== null) t.true(keyHosts.includes(new URL(baseUrl).hostname));
  });

  test(`${name}: its key goes nowhere else by itself`, async (t) => {
    const env = Object.fromEntries(keyVariables.map((variable) => [variable, 'a-key']));
    const local = await noFile();
    const elsewhere = [
      'https://evil.example',
      'https://x.cloudapp.azure.com',
      'https://api.groq.com.evil.example',
    ];
    for (const base_url of elsewhere) {
      const config = { ...local.config, providers: { [name]: { baseUrl: base_url } as never } };
      const shared = { config, allowed: { providers: [name], named: [] } };
      t.is(providerSettings(name, { environment, local, env }, shared).apiKey, null);
    }
  });
}

/** Ask a provider on a fake server. */
async function ask(
  t: ExecutionContext,
  settings: Partial<ProviderSettings> & { name: string },
  { path = '', model = 'm', params = {}, dialect = vllm } = {},
) {
  const server = await serve(t, whole(dialect, turn));
  const provider = adapter({ ...settings, baseUrl: `${server.url}${path}` });
  const outcome = await begin(provider, { model, params }).outcome;
  return { server, provider, outcome, asked: server.asked[0] };
}

test('azure: a deployment is asked by the model, with the key in its own header and a version', async (t) => {
  const { asked, outcome, server, provider } = await ask(t, { name: 'azure' }, { model: 'my-gpt' });
  resultOf(outcome);
  t.is(asked?.path, '/openai/deployments/my-gpt/chat/completions?api-version=2024-10-21');
  t.regex(String(asked?.headers['api-key']), /^sk-test/);
  t.is(asked?.headers.authorization, undefined);
  server.gets.set('/openai/models', modelList('gpt-4o'));
  t.deepEqual(await provider.probe(), ['gpt-4o']);
  t.is(server.asked.at(-1)?.path, '/openai/models?api-version=2024-10-21');
});

test('azure: the version, one deployment and the newer form of the address are taken as they are', async (t) => {
  const pathOf = async (path: string): Promise<string | undefined> =>
    (await ask(t, { name: 'azure' }, { path, model: 'my-gpt' })).asked?.path;
  t.is(
    await pathOf('/?api-version=2025-04-01-preview'),
    '/openai/deployments/my-gpt/chat/completions?api-version=2025-04-01-preview',
  );
  t.is(
    await pathOf('/openai/deployments/other?api-version=2024-06-01'),
    '/openai/deployments/other/chat/completions?api-version=2024-06-01',
  );
  t.is(await pathOf('/openai/v1'), '/openai/v1/chat/completions');
});

test('azure: a name that would lead to another path is no deployment, and one that is not there is told as such', async (t) => {
  const odd = await ask(t, { name: 'azure' }, { model: '../../files' });
  t.is(failureOf(odd.outcome).error.class, 'model_not_found');
  t.deepEqual(odd.server.asked, []);
  const body = {
    error: { code: 'DeploymentNotFound', message: 'The API deployment for this resource is missing.' },
  };
  odd.server.answer(refused({ title: '', status: 404, body, class: 'model_not_found' }));
  const { error } = failureOf(await begin(odd.provider, { model: 'gone' }).outcome);
  t.is(error.class, 'model_not_found');
});

test('azure without an address says what to set', (t) => {
  t.is(createProvider({ name: 'azure', baseUrl: null, apiKey: 'k', model: null }), null);
  t.regex(missingAddress('azure'), /AZURE_OPENAI_ENDPOINT, or providers\.azure\.base_url/);
});

test('mistral is not sent what it refuses', async (t) => {
  const params = { max_completion_tokens: 50, temperature: 0 };
  const { asked } = await ask(t, { name: 'mistral' }, { path: '/v1', params });
  t.false('stream_options' in (asked?.body ?? {}));
  t.like(asked?.body, { max_tokens: 50, max_completion_tokens: undefined, temperature: 0 });
});

test('openrouter: what it says that it charged is told, with the bill of a key of one’s own', async (t) => {
  const plain = await ask(t, { name: 'openrouter' }, { path: '/api/v1', dialect: openrouter });
  t.is(resultOf(plain.outcome).usage.cost_usd, 0.00012);
  const usage = {
    prompt_tokens: 10,
    completion_tokens: 5,
    total_tokens: 15,
    cost: 0.01,
    is_byok: true,
    cost_details: { upstream_inference_cost: 0.2 },
  };
  const chunk = (more: object) => `data: ${JSON.stringify({ model: 'm', ...more })}\n\n`;
  plain.server.answer(({ response }) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(chunk({ choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: 'stop' }] }));
    response.end(`${chunk({ choices: [], usage })}data: [DONE]\n\n`);
  });
  const result = resultOf(await begin(plain.provider, { model: 'm' }).outcome);
  t.is(Math.round((result.usage.cost_usd ?? 0) * 1e6), 210_000);
});

test('openrouter: a probe asks whether the key is taken, for the list of models is open to all', async (t) => {
  const { server, provider } = await ask(t, { name: 'openrouter' }, { path: '/api/v1' });
  server.gets.set('/api/v1/models', modelList('a/b'));
  server.gets.set('/api/v1/key', json({ data: { limit: null } }));
  t.deepEqual(await provider.probe(), ['a/b']);
  const no = { error: { message: 'No auth credentials found', code: 401 } };
  server.gets.set('/api/v1/key', refused({ title: '', status: 401, body: no, class: 'auth' }));
  await t.throwsAsync(provider.probe(), { name: 'ProviderRefused' });
});
