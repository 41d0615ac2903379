// LangChain on /v1: whole answers and streams, with usage and tool calls. The model answers `It rains` and calls the tool.
import assert from 'node:assert/strict';
import type { AIMessageChunk } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';

const { SVC_URL: url = '', SVC_KEY = '', SVC_MODEL = '' } = process.env;
const model = new ChatOpenAI({
  model: SVC_MODEL,
  apiKey: SVC_KEY,
  configuration: { baseURL: `${url}/v1` },
  useResponsesApi: false,
  maxRetries: 0,
});
const weather = {
  type: 'function',
  function: {
    name: 'weather',
    description: 'The weather of a city',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
} as const;
const withTool = model.bindTools([weather]);

function check(answer: AIMessageChunk): void {
  assert.equal(answer.content, 'It rains');
  const { tool_calls: calls, usage_metadata: usage } = answer;
  assert.deepEqual(
    calls?.map(({ id, name, args }) => ({ id, name, args })),
    [{ id: 'call_1', name: 'weather', args: { city: 'Oslo' } }],
  );
  assert.deepEqual([usage?.input_tokens, usage?.output_tokens, usage?.total_tokens], [26, 9, 35]);
}

check(await withTool.invoke('Say'));

let whole: AIMessageChunk | undefined;
let pieces = 0;
for await (const chunk of await withTool.stream('Say')) {
  whole = whole === undefined ? chunk : whole.concat(chunk);
  pieces += 1;
}
assert.ok(whole !== undefined && pieces > 1);
check(whole);

await assert.rejects(
  new ChatOpenAI({ ...model.lc_kwargs, model: 'none/such' }).invoke('Say'),
  /does not exist/,
);
