import test from 'ava';
import { type ChunkPart, joinedParts } from '../../../src/domain/chunkParts.ts';
import type { Assignment } from '../../../src/domain/workerProtocol.ts';
import type { RunOutcome } from '../../../src/worker/provider.ts';
import { countTokens, cutToTokens, wordsOf } from '../../../src/worker/providers/echo/text.ts';
import { createEcho } from '../../../src/worker/providers/echo.ts';
import { createProvider } from '../../../src/worker/providers/index.ts';
import { providerNames } from '../../../src/worker/providers/names.ts';
import { testProvider } from '../../conformance/provider.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { job } from '../support/setup.ts';

testProvider('echo', async () => ({
  provider: createEcho(),
  answered: { input: 'It rains. It pours.' },
  answeredOtherwise: { prompt: 'Something else' },
  endless: { params: { echo_delay_ms: 3_600_000, echo_chunk_ms: 1, echo_output: 'word '.repeat(3_600_000) } },
  failing: [
    { job: { params: { echo_fail: 'rate_limited' } }, class: 'rate_limited', status: 429 },
    { job: { params: { echo_fail: { class: 'auth', message: 'no' } } }, class: 'auth', status: 401 },
    { job: { params: { echo_delay_ms: 1, echo_fail: 'server_error' } }, class: 'server_error', status: 500 },
    { job: { params: { echo_unheard_of: 1 } }, class: 'invalid_request', status: 400 },
  ],
  secrets: [],
}));

function run(more: Partial<Assignment>, clock = new FakeClock(), signal = new AbortController().signal) {
  const pieces: string[] = [];
  const parts: ChunkPart[] = [];
  const context = {
    clock,
    signal,
    onText: (text: string) => pieces.push(text),
    onPart: (part: ChunkPart) => parts.push(part),
  };
  return { pieces, parts, outcome: createEcho().run(job('a', { provider: 'echo', ...more }), context) };
}

const errorOf = (outcome: RunOutcome) => (outcome.ok ? null : outcome.error);
const outputOf = (outcome: RunOutcome) => (outcome.ok ? outcome.result.output : null);

test('the answer says that it is an echo, the prompt, and how the input begins', async (t) => {
  const { outcome } = run({ prompt: 'Summarise.', input: 'The sea is blue. It is deep.' });
  t.deepEqual(await outcome, {
    ok: true,
    result: {
      output:
        'This is an echo and not a language model. The prompt was: "Summarise.". The input has 7 words and begins: "The sea is blue.".',
      finish_reason: 'stop',
      model: 'echo',
      usage: { input_tokens: 11, output_tokens: 35, total_tokens: 46 },
    },
  });
});

test('the same job has the same answer, and the model it asked for', async (t) => {
  const again = await run({ model: 'echo-2' }).outcome;
  t.deepEqual(again, await run({ model: 'echo-2' }).outcome);
  t.is(again.ok && again.result.model, 'echo-2');
});

test('of messages, the last one of the user is echoed and all of them are counted', async (t) => {
  const outcome = await run({
    prompt: null,
    messages: [
      { role: 'system', content: 'Be brief' },
      { role: 'user', content: [{ type: 'text', text: 'What now?' }, { type: 'image' }] },
      { role: 'assistant', content: 'Nothing' },
    ],
  }).outcome;
  t.regex(String(outputOf(outcome)), /The prompt was: "What now\?"/);
  t.is(outcome.ok && outcome.result.usage.input_tokens, 6);
});

test('a long prompt and a long input are cut short in the answer', async (t) => {
  const output =
    outputOf(await run({ prompt: 'p'.repeat(100_000), input: 'i'.repeat(1_000_000) }).outcome) ?? '';
  t.true(output.length < 1200);
  t.regex(output, /…".*The input has 1 word and begins/);
});

test('without a delay no timer is set', async (t) => {
  const clock = new FakeClock();
  const { outcome, pieces } = run({}, clock);
  t.is(clock.untilNext, null);
  t.deepEqual(outputOf(await outcome), pieces.join(''));
});

test('echo_reasoning and echo_tool_calls stream before and after the output', async (t) => {
  const params = {
    echo_reasoning: 'one two',
    echo_output: 'three',
    echo_tool_calls: [
      { name: 'f', arguments: { city: 'Zürich' } },
      { id: 'x', name: 'g' },
    ],
  };
  const { outcome, pieces, parts } = run({ params });
  const first = { type: 'tool_call', index: 0 } as const;
  t.deepEqual(joinedParts(parts), [
    { type: 'reasoning', text: 'one two' },
    { ...first, id: 'call_0', name: 'f', arguments: '{"city":"Zürich"}' },
    { ...first, index: 1, id: 'x', name: 'g', arguments: '{}' },
  ]);
  t.is(pieces.join(''), 'three');
  t.like(await outcome, {
    ok: true,
    result: {
      output: 'three',
      finish_reason: 'tool_calls',
      tool_calls: [
        { id: 'call_0', type: 'function', function: { name: 'f', arguments: '{"city":"Zürich"}' } },
        { id: 'x', type: 'function', function: { name: 'g', arguments: '{}' } },
      ],
      usage: { output_tokens: 14, reasoning_tokens: 2 },
    },
  });
  for (const wrong of [{}, [{}], [{ name: 'f', more: 1 }]]) {
    t.regex(
      errorOf(await run({ params: { echo_tool_calls: wrong } }).outcome)?.message ?? '',
      /echo_tool_calls/,
    );
  }
});

test('echo_delay_ms spreads the words over exactly that time', async (t) => {
  const clock = new FakeClock();
  const { outcome, pieces } = run(
    { params: { echo_delay_ms: 1000, echo_output: 'one two three four' } },
    clock,
  );
  const seen: string[] = [];
  for (let quarter = 0; quarter < 4; quarter++) {
    await clock.timerWithin(250);
    clock.advance(250);
    await Promise.resolve();
    seen.push(pieces.join(''));
  }
  t.is(outputOf(await outcome), 'one two three four');
  t.is(clock.monotonic(), 1000);
  t.deepEqual(pieces, ['one', ' two', ' three', ' four']);
  t.is(seen[0], 'one');
});

test('echo_chunk_ms sets how often something comes', async (t) => {
  const clock = new FakeClock();
  const params = { echo_delay_ms: 100, echo_chunk_ms: 50, echo_output: 'one two three four' };
  const { outcome, pieces } = run({ params }, clock);
  for (let half = 0; half < 2; half++) {
    await clock.timerWithin(50);
    clock.advance(50);
  }
  await outcome;
  t.deepEqual(pieces, ['one two', ' three four']);
});

test('an abort tells what was used so far', async (t) => {
  const clock = new FakeClock();
  const controller = new AbortController();
  const params = { echo_delay_ms: 1000, echo_output: 'one two three four' };
  const { outcome } = run({ params }, clock, controller.signal);
  await clock.timerWithin(250);
  clock.advance(250);
  await clock.timerWithin(250);
  controller.abort();
  const ended = await outcome;
  t.false(ended.ok);
  t.deepEqual(!ended.ok && ended.usage, { input_tokens: 2, output_tokens: 1, total_tokens: 3 });
  t.is(clock.untilNext, null, 'no timer is left');
});

test('echo_tokens is the usage, also of a failure', async (t) => {
  const params = { echo_tokens: { input: 1000, output: 50 } };
  const usage = { input_tokens: 1000, output_tokens: 50, total_tokens: 1050 };
  const outcome = await run({ params }).outcome;
  t.deepEqual(outcome.ok && outcome.result.usage, usage);
  const failed = await run({ params: { ...params, echo_fail: 'overloaded' } }).outcome;
  t.deepEqual(!failed.ok && failed.usage, usage);
  const free = await run({ params: { echo_fail: 'overloaded' } }).outcome;
  t.is(!free.ok && free.usage, undefined);
});

test('echo_fail takes a class, or everything a failure has', async (t) => {
  const short = await run({ params: { echo_fail: 'model_not_found' } }).outcome;
  t.like(errorOf(short), { class: 'model_not_found', status: 404 });
  const error = {
    class: 'rate_limited',
    message: 'wait',
    status: 430,
    code: 'slow',
    retry_after_seconds: 2.5,
  };
  t.deepEqual(errorOf(await run({ params: { echo_fail: error } }).outcome) as unknown, error);
});

test('max_tokens cuts the output and says so', async (t) => {
  const params = { echo_output: "It's 20 %! Yes.", max_tokens: 6 };
  const { outcome, pieces } = run({ params });
  const ended = await outcome;
  t.like(ended.ok && ended.result, { output: "It's 20 %!", finish_reason: 'length' });
  t.is(pieces.join(''), "It's 20 %!");
  t.is(ended.ok && ended.result.usage.output_tokens, 6);
  const enough = await run({ params: { ...params, max_tokens: 8 } }).outcome;
  t.is(enough.ok && enough.result.finish_reason, 'stop');
});

test('an unknown or unusable echo parameter fails and is named; parameters for real models are ignored', async (t) => {
  const bad: [Record<string, unknown>, RegExp][] = [
    [{ echo_dely_ms: 5 }, /unknown parameter echo_dely_ms/],
    [{ echo_delay_ms: -1 }, /echo_delay_ms must be/],
    [{ echo_delay_ms: '5' }, /echo_delay_ms must be/],
    [{ echo_delay_ms: 1e12 }, /echo_delay_ms must be/],
    [{ echo_output: 5 }, /echo_output must be a string/],
    [{ echo_tokens: { input: 1 } }, /echo_tokens\.output must be/],
    [{ echo_tokens: { input: 1, output: 1, total: 2 } }, /unknown parameter echo_tokens\.total/],
    [{ echo_fail: 'bad luck' }, /echo_fail must be one of rate_limited,/],
    [{ echo_fail: 'worker_lost' }, /echo_fail must be one of/],
    [{ echo_fail: { class: 'auth', status: 'x' } }, /echo_fail\.status must be/],
    [
      { echo_fail: { class: 'auth', status: 1000 } },
      /echo_fail\.status must be a whole number from 100 to 999/,
    ],
    [{ echo_tokens: { input: 1e12, output: 1 } }, /echo_tokens\.input must be/],
    [{ echo_fail: [] }, /echo_fail must be an object/],
    [{ max_tokens: 0 }, /max_tokens must be/],
  ];
  for (const [params, message] of bad) {
    const error = errorOf(await run({ params }).outcome);
    t.is(error?.class, 'invalid_request');
    t.regex(error?.message ?? '', message);
  }
  t.true((await run({ params: { temperature: 0, top_p: null, echo_output: null } }).outcome).ok);
});

test('tokens are words and punctuation marks', (t) => {
  for (const [text, tokens] of [
    ['', 0],
    ['  \n\t', 0],
    ['hello', 1],
    ["It's 20 %!", 6],
    ['größer, 東京 👍', 4],
    ['a-b_c', 5],
  ] as const) {
    t.is(countTokens(text), tokens, text);
    t.is(cutToTokens(text, tokens), text);
  }
  t.is(cutToTokens('one, two three', 2), 'one,');
});

test('the words of a text are the text', (t) => {
  for (const text of ['', ' ', 'a', ' a  b\nc ', 'x y']) t.is(wordsOf(text).join(''), text);
});

test('the registry makes adapters by name and knows no inherited names', (t) => {
  const settings = { baseUrl: null, apiKey: null, model: null };
  t.deepEqual(providerNames(), [
    'echo',
    'openai',
    'anthropic',
    'google',
    'ollama',
    'lmstudio',
    'llamacpp',
    'vllm',
    'groq',
    'mistral',
    'deepseek',
    'xai',
    'openrouter',
    'together',
    'fireworks',
    'azure',
  ]);
  t.is(createProvider({ ...settings, name: 'echo' })?.name, 'echo');
  t.is(createProvider({ ...settings, name: 'constructor' }), null);
  t.is(createProvider({ ...settings, name: 'nobody' }), null);
});
