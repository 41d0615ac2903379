import test, { type ExecutionContext } from 'ava';
import type { Assignment } from '../../../src/domain/workerProtocol.ts';
import type { ProviderSettings } from '../../../src/worker/providers/providerSettings.ts';
import { begin, failureOf, resultOf } from '../../conformance/providerRun.ts';
import { serve } from '../../conformance/providerWire.ts';
import { whole } from '../../fixtures/providers/answers.ts';
import { anthropic } from '../../fixtures/providers/anthropic.ts';
import type { Dialect } from '../../fixtures/providers/dialect.ts';
import { gemini } from '../../fixtures/providers/gemini.ts';
import { openaiChat } from '../../fixtures/providers/openaiChat.ts';
import { openaiResponses } from '../../fixtures/providers/openaiResponses.ts';
import type { Asked } from '../../fixtures/providers/server.ts';
import { adapter } from '../support/wireProvider.ts';

/** What becomes of the content of messages on its way to a provider. */

const picture = 'aGVsbG8gd29ybGQ=';
const text = (said: string, more: object = {}) => ({ type: 'text', text: said, ...more });
const image = (more: object = {}) => ({
  type: 'image_url',
  image_url: { url: `data:image/png;base64,${picture}`, ...more },
});

interface Way {
  dialect: Dialect;
  settings: Partial<ProviderSettings> & { name: string };
  path: string;
}

const ways: Record<string, Way> = {
  anthropic: { dialect: anthropic, settings: { name: 'anthropic' }, path: '/v1' },
  google: { dialect: gemini, settings: { name: 'google' }, path: '/v1beta' },
  responses: { dialect: openaiResponses, settings: { name: 'openai', api: 'responses' }, path: '/v1' },
  chat: { dialect: openaiChat, settings: { name: 'openai' }, path: '/v1' },
};

/** Run a job with these messages. @returns what the provider was asked, and how it ended. */
async function ask(
  t: ExecutionContext,
  way: keyof typeof ways,
  messages: object[],
  more: Partial<Assignment> = {},
) {
  const { dialect, settings, path } = ways[way] as Way;
  const server = await serve(t, whole(dialect, { model: 'm', text: ['Yes.'] }));
  const provider = adapter({ ...settings, baseUrl: `${server.url}${path}` });
  const job = { model: 'm', prompt: null, messages: messages as Assignment['messages'], ...more };
  const outcome = await begin(provider, job).outcome;
  return { outcome, asked: server.asked[0] as Asked, server };
}

for (const way of Object.keys(ways)) {
  test(`${way}: texts and pictures keep their order`, async (t) => {
    const content = [text('Before'), image(), text('Between'), image(), text('After')];
    const { outcome, asked } = await ask(t, way, [{ role: 'user', content }]);
    resultOf(outcome);
    const words = asked.text.match(new RegExp(`Before|Between|After|${picture}`, 'g'));
    t.deepEqual(words, ['Before', picture, 'Between', picture, 'After']);
  });

  test(`${way}: a system message in the middle stays there, or is refused by its place`, async (t) => {
    const { outcome, asked, server } = await ask(t, way, [
      { role: 'user', content: 'First' },
      { role: 'assistant', content: 'Second' },
      { role: 'system', content: 'Third' },
      { role: 'user', content: 'Fourth' },
    ]);
    if (outcome.ok) {
      const words = asked.text.match(/First|Second|Third|Fourth/g);
      t.deepEqual(words, ['First', 'Second', 'Third', 'Fourth']);
    } else {
      t.is(outcome.error.class, 'invalid_request');
      t.regex(outcome.error.message, /^messages\[2\]\.role: /);
      t.deepEqual(server.asked, []);
    }
  });

  test(`${way}: a picture where none can be is refused by its place, or passed on`, async (t) => {
    const { outcome, asked } = await ask(t, way, [
      { role: 'user', content: 'What was it?' },
      { role: 'assistant', content: [text('This:'), image()] },
    ]);
    if (outcome.ok) t.true(asked.text.includes(picture));
    else t.regex(failureOf(outcome).error.message, /messages\[1\]\.content/);
  });
}

test('anthropic: a system message in the middle is sent as one, with the beta header that it needs', async (t) => {
  const { asked } = await ask(t, 'anthropic', [
    { role: 'user', content: 'First' },
    { role: 'system', content: 'Be brief' },
    { role: 'user', content: 'Second' },
  ]);
  t.is(asked.body.system, undefined);
  t.deepEqual(
    (asked.body.messages as { role: string }[]).map(({ role }) => role),
    ['user', 'system', 'user'],
  );
  t.regex(String(asked.headers['anthropic-beta']), /mid-conversation-system/);
});

test('anthropic: cache_control is passed on, wherever it stands', async (t) => {
  const mark = { cache_control: { type: 'ephemeral', ttl: '1h' } };
  const called = { id: 'c1', type: 'function', function: { name: 'find', arguments: '{}' } };
  const { outcome, asked } = await ask(
    t,
    'anthropic',
    [
      { role: 'system', content: [text('Be brief'), text('A long rule', mark)] },
      { role: 'user', content: [text('Long'), text('text', mark), { ...image(), ...mark }] },
      { role: 'assistant', content: null, tool_calls: [called] },
      { role: 'tool', tool_call_id: 'c1', content: 'Found', ...mark },
    ],
    { params: { tools: [{ type: 'function', function: { name: 'find', parameters: {} } }] } },
  );
  resultOf(outcome);
  const { system, messages } = asked.body as {
    system: object[];
    messages: { content: Record<string, unknown>[] }[];
  };
  t.deepEqual(system, [
    { type: 'text', text: 'Be brief' },
    { type: 'text', text: 'A long rule', ...mark },
  ]);
  t.like(messages[0]?.content[0], { text: 'Long', cache_control: undefined });
  t.like(messages[0]?.content[1], { text: 'text', ...mark });
  t.like(messages[0]?.content[2], { type: 'image', ...mark });
  t.like(messages[2]?.content[0], { type: 'tool_result', ...mark });
});

test('anthropic: cache_control of tools is passed on, and a fifth mark is refused', async (t) => {
  const mark = { cache_control: { type: 'ephemeral' } };
  const tool = { type: 'function', function: { name: 'find', parameters: { type: 'object' } }, ...mark };
  const one = await ask(t, 'anthropic', [{ role: 'user', content: 'Hi' }], { params: { tools: [tool] } });
  t.like((one.asked.body.tools as object[])[0], { name: 'find', ...mark });
  const content = [1, 2, 3, 4].map((nth) => text(`Part ${nth}`, mark));
  const five = await ask(t, 'anthropic', [{ role: 'user', content }], { params: { tools: [tool] } });
  t.regex(failureOf(five.outcome).error.message, /cache_control is in 5 places.*at most 4/);
  const odd = await ask(t, 'anthropic', [{ role: 'user', content: [text('a', { cache_control: 'yes' })] }]);
  t.regex(failureOf(odd.outcome).error.message, /messages\[0\]\.content\[0\]\.cache_control/);
});

test('responses: the detail of a picture is passed on', async (t) => {
  const { asked } = await ask(t, 'responses', [{ role: 'user', content: [image({ detail: 'low' })] }]);
  t.regex(asked.text, /"type":"input_image".*"detail":"low"/);
});
