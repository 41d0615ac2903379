import test from 'ava';
import { anthropicUsage } from '../../../src/worker/providers/anthropic.ts';
import { googleUsage } from '../../../src/worker/providers/google.ts';
import { HttpFailure } from '../../../src/worker/providers/http/httpFailure.ts';
import { TimeoutWatch, timeoutsDefault } from '../../../src/worker/providers/http/timeoutWatch.ts';
import { RequestError } from '../../../src/worker/providers/request/chatMessages.ts';
import {
  maxTokensOf,
  providerParams,
  responseFormatOf,
  stopOf,
  toolsOf,
} from '../../../src/worker/providers/request/params.ts';
import { openAiChatUsage } from '../../../src/worker/providers/sdk/openAiChatDialect.ts';
import { openAiResponsesUsage } from '../../../src/worker/providers/sdk/openAiResponses.ts';
import { sdkPrompt } from '../../../src/worker/providers/sdk/sdkPrompt.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { job } from '../support/setup.ts';

test('each provider counts in its own way, and we in one', (t) => {
  t.deepEqual(
    openAiChatUsage({
      prompt_tokens: 1000,
      completion_tokens: 300,
      total_tokens: 1300,
      prompt_tokens_details: { cached_tokens: 800 },
      completion_tokens_details: { reasoning_tokens: 250 },
    }),
    {
      input_tokens: 1000,
      output_tokens: 300,
      cached_input_tokens: 800,
      reasoning_tokens: 250,
      total_tokens: 1300,
    },
  );
  t.like(
    // Reasoning beside the completion, as xAI has it: 100 + 20 + 30 = 150.
    openAiChatUsage({
      prompt_tokens: 100,
      completion_tokens: 20,
      total_tokens: 150,
      completion_tokens_details: { reasoning_tokens: 30 },
    }),
    { output_tokens: 50, total_tokens: 150 },
  );
  t.like(openAiChatUsage({ prompt_tokens: 9, prompt_cache_hit_tokens: 4 }), { cached_input_tokens: 4 });
  t.deepEqual(
    openAiResponsesUsage({
      input_tokens: 10,
      output_tokens: 8,
      output_tokens_details: { reasoning_tokens: 5 },
    }),
    { input_tokens: 10, output_tokens: 8, reasoning_tokens: 5, total_tokens: 18 },
  );
  t.deepEqual(
    anthropicUsage({
      input_tokens: 10,
      cache_read_input_tokens: 1000,
      cache_creation_input_tokens: 100,
      output_tokens: 15,
    }),
    {
      input_tokens: 1110,
      output_tokens: 15,
      cached_input_tokens: 1000,
      cache_write_tokens: 100,
      total_tokens: 1125,
    },
  );
  t.deepEqual(
    googleUsage({
      promptTokenCount: 50,
      toolUsePromptTokenCount: 6,
      cachedContentTokenCount: 20,
      candidatesTokenCount: 7,
      thoughtsTokenCount: 11,
    }),
    { input_tokens: 56, output_tokens: 18, cached_input_tokens: 20, reasoning_tokens: 11, total_tokens: 74 },
  );
});

test('a count that is none is unknown, not 0', (t) => {
  t.deepEqual(openAiChatUsage({ prompt_tokens: null, completion_tokens: -1 }), {});
  t.deepEqual(anthropicUsage({ output_tokens: 1.5 }), {});
  t.deepEqual(googleUsage({}), {});
});

test('params: ours are left out, null is left out, and what has no place is refused by name', (t) => {
  t.deepEqual(
    providerParams({ stream: true, echo_delay_ms: 3, n: 1, seed: null, temperature: 0, new_one: {} }),
    {
      temperature: 0,
      new_one: {},
    },
  );
  for (const key of ['model', 'messages', 'prompt', 'input', 'n']) {
    t.throws(() => providerParams({ [key]: 'x' }), {
      instanceOf: RequestError,
      message: new RegExp(`params\\.${key}`),
    });
  }
});

test('params of the wrong type are refused by name', (t) => {
  t.is(maxTokensOf({ max_tokens: 5, max_completion_tokens: 7 }), 7);
  t.throws(() => maxTokensOf({ max_tokens: 'many' }), { message: /params\.max_tokens must be/ });
  t.deepEqual(stopOf({ stop: 'a' }), ['a']);
  t.throws(() => stopOf({ stop: [1] }), { message: /params\.stop/ });
  t.throws(() => responseFormatOf({ response_format: { type: 'xml' } }), {
    message: /params\.response_format/,
  });
  t.throws(() => toolsOf({ tools: 7 }), { message: /params\.tools/ });
});

test('a conversation with tools has its form for the SDKs', (t) => {
  const call = { id: 'c1', type: 'function', function: { name: 'weather', arguments: '{"city":"Rome"}' } };
  const prompt = sdkPrompt(
    job('a', {
      prompt: null,
      messages: [
        { role: 'developer', content: 'Be brief' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Weather?' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,aGk=' } },
          ],
        },
        { role: 'assistant', content: null, tool_calls: [call] } as never,
        { role: 'tool', tool_call_id: 'c1', content: 'Sunny' } as never,
      ],
    }),
  );
  t.deepEqual(prompt, [
    { role: 'system', content: 'Be brief' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Weather?' },
        { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'aGk=' } },
      ],
    },
    {
      role: 'assistant',
      content: [{ type: 'tool-call', toolCallId: 'c1', toolName: 'weather', input: { city: 'Rome' } }],
    },
    {
      role: 'tool',
      content: [
        {
          type: 'tool-result',
          toolCallId: 'c1',
          toolName: 'weather',
          output: { type: 'text', value: 'Sunny' },
        },
      ],
    },
  ]);
});

const timeouts = { connectMs: 10, firstMs: 100, idleMs: 30, totalMs: 0 };

function watched(more: Partial<typeof timeouts> = {}) {
  const clock = new FakeClock();
  const outer = new AbortController();
  const watch = new TimeoutWatch(clock, { ...timeouts, ...more }, outer.signal);
  const reason = (): string =>
    watch.signal.reason instanceof HttpFailure ? watch.signal.reason.message : '';
  return { clock, outer, watch, reason };
}

test('timeouts: each wait has its own limit, and each token restarts the last one', (t) => {
  const early = watched();
  early.clock.advance(10);
  t.is(early.reason(), 'no connection within 0.01 s');
  const first = watched();
  first.watch.connected();
  first.clock.advance(99);
  t.false(first.watch.signal.aborted);
  first.clock.advance(1);
  t.is(first.reason(), 'nothing was answered within 0.1 s');
  const idle = watched();
  idle.watch.connected();
  for (let token = 0; token < 20; token++) {
    idle.watch.progress();
    idle.clock.advance(29);
  }
  t.false(idle.watch.signal.aborted);
  idle.clock.advance(1);
  t.is(idle.reason(), 'nothing more came within 0.03 s');
  t.is(idle.clock.untilNext, null);
});

test('timeouts: the whole has a limit when one is set, and an outer abort ends it all', (t) => {
  const total = watched({ totalMs: 50 });
  total.watch.connected();
  for (let at = 0; at < 50; at += 10) {
    total.watch.progress();
    total.clock.advance(10);
  }
  t.is(total.reason(), 'the answer was not complete within 0.05 s');
  const stopped = watched();
  stopped.outer.abort('stop');
  t.is(stopped.watch.signal.reason, 'stop');
  t.is(stopped.clock.untilNext, null, 'no timer is left');
  t.true(timeoutsDefault.firstMs > 300_000, 'longer than the 300 s of fetch');
});
