import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { ExecutionContext } from 'ava';
import test from 'ava';
import { makeParseableResponseFormat } from 'openai/lib/parser';
import { createProvider } from '../../../src/worker/providers/index.ts';
import { whole } from '../../fixtures/providers/answers.ts';
import type { Turn } from '../../fixtures/providers/dialect.ts';
import { openaiChat } from '../../fixtures/providers/openaiChat.ts';
import { FakeServer } from '../../fixtures/providers/server.ts';
import { adminKey } from '../../support/process.ts';
import { hello, openAiHere } from './support.ts';

const call = { id: 'call_1', name: 'weather', arguments: '{"city":"Oslo"}' };
const tools = [
  {
    type: 'function' as const,
    function: {
      name: 'weather',
      description: 'The weather of a city',
      parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    },
  },
];

/** A coordinator whose worker asks a server that speaks as OpenAI does. */
async function setup(t: ExecutionContext, ...turns: [Partial<Turn>, ...Partial<Turn>[]]) {
  const [first, ...rest] = turns.map((turn) => whole(openaiChat, { model: 'm-1', text: [], ...turn }));
  if (first === undefined) throw new Error('no turn');
  const server = await FakeServer.listen(first);
  server.answer(first, ...rest);
  t.teardown(() => server.close());
  const lab = createProvider({
    name: 'lab',
    baseUrl: `${server.url}/v1`,
    apiKey: null,
    model: null,
    models: ['m-1'],
  });
  if (lab === null) throw new Error('no adapter');
  return { server, ...(await openAiHere(t, { providers: [lab] })) };
}

test('a round trip with a tool: the SDK runs it and the model has its answer', async (t) => {
  for (const stream of [false, true]) {
    const { server, openai } = await setup(t, { toolCalls: [call] }, { text: ['It', ' rains'] });
    const asked: unknown[] = [];
    const runnable = {
      type: 'function' as const,
      function: {
        ...tools[0]?.function,
        name: 'weather',
        description: 'The weather of a city',
        parameters: { type: 'object', properties: { city: { type: 'string' } } },
        parse: JSON.parse,
        function: (given: unknown) => {
          asked.push(given);
          return 'rain';
        },
      },
    };
    const body = { model: 'lab/m-1', messages: hello, tools: [runnable] };
    const runner = stream
      ? openai.chat.completions.runTools({ ...body, stream: true })
      : openai.chat.completions.runTools(body);
    t.is(await runner.finalContent(), 'It rains');
    t.deepEqual(asked, [{ city: 'Oslo' }]);
    const [first, second] = server.bodies;
    t.like(first, { model: 'm-1', tools: [{ type: 'function', function: { name: 'weather' } }] });
    t.like((second as { messages: unknown[] }).messages.at(-1), {
      role: 'tool',
      tool_call_id: 'call_1',
      content: 'rain',
    });
    t.deepEqual(server.faults, []);
  }
});

test('response_format reaches the provider, and parse reads the answer', async (t) => {
  const schema = { type: 'object', properties: { sky: { type: 'string' } }, required: ['sky'] };
  const { server, openai } = await setup(t, { text: ['{"sky":', '"blue"}'] });
  const format = makeParseableResponseFormat<{ sky: string }>(
    { type: 'json_schema', json_schema: { name: 'sky', schema, strict: true } },
    (text) => JSON.parse(text),
  );
  const parsed = await openai.chat.completions.parse({
    model: 'lab/m-1',
    messages: hello,
    response_format: format,
  });
  t.deepEqual(parsed.choices[0]?.message.parsed, { sky: 'blue' });
  t.like(server.bodies[0], { response_format: { type: 'json_schema', json_schema: { schema } } });
  const stream = openai.chat.completions.stream({
    model: 'lab/m-1',
    messages: hello,
    response_format: format,
  });
  const streamed = await stream.finalChatCompletion();
  t.deepEqual(streamed.choices[0]?.message.parsed, { sky: 'blue' });
});

test('images and part arrays go to the provider as they came', async (t) => {
  const { server, openai } = await setup(t, { text: ['A dot'] });
  const content = [
    { type: 'text' as const, text: 'What is this?' },
    { type: 'image_url' as const, image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
  ];
  const { choices, usage } = await openai.chat.completions.create({
    model: 'lab/m-1',
    messages: [
      { role: 'developer', content: 'Be brief' },
      { role: 'user', content },
    ],
    max_tokens: 9,
  });
  t.is(choices[0]?.message.content, 'A dot');
  t.is(usage?.total_tokens, 35);
  t.like(server.bodies[0], { messages: [{ content: 'Be brief' }, { role: 'user', content }], max_tokens: 9 });
});

test("Vercel's AI SDK takes text, streams, tool calls and errors", async (t) => {
  const { openai, url } = await setup(t, { text: ['It', ' rains'], toolCalls: [call] });
  t.truthy(openai);
  const provider = createOpenAICompatible({
    name: 'svc',
    baseURL: `${url}/v1`,
    apiKey: adminKey,
    includeUsage: true,
  });
  const model = provider('lab/m-1');
  const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Say' }] }];
  const { content, usage, finishReason } = await model.doGenerate({ prompt });
  t.deepEqual(
    content.map(({ type }) => type),
    ['text', 'tool-call'],
  );
  t.is(finishReason.unified, 'tool-calls');
  t.is(usage.inputTokens.total, 26);
  const { stream } = await model.doStream({ prompt });
  const parts: { type: string }[] = [];
  for await (const part of stream) parts.push(part);
  t.false(parts.some(({ type }) => type === 'error'));
  t.like(
    parts.find(({ type }) => type === 'tool-call'),
    { toolName: 'weather', input: call.arguments },
  );
  t.like(parts.at(-1), { type: 'finish', usage: { inputTokens: { total: 26 } } });
  await t.throwsAsync(async () => provider('lab/none').doGenerate({ prompt }), { message: /does not exist/ });
});

test('LangChain takes text, streams with usage, tool calls and errors', async (t) => {
  const { url, server } = await setup(t, { text: ['It', ' rains'], toolCalls: [call] });
  const program = fileURLToPath(new URL('../../clients/withLangchain.ts', import.meta.url));
  const env = { ...process.env, SVC_URL: url, SVC_KEY: adminKey, SVC_MODEL: 'lab/m-1' };
  await t.notThrowsAsync(promisify(execFile)(process.execPath, [program], { env }));
  t.like(server.bodies[0], { tools: [{ type: 'function', function: { name: 'weather' } }] });
  t.deepEqual(server.faults, []);
});
