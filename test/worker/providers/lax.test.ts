import test from 'ava';
import { begin, resultOf } from '../../conformance/providerRun.ts';
import { serve } from '../../conformance/providerWire.ts';
import { json } from '../../fixtures/providers/answers.ts';
import { sse } from '../../fixtures/providers/dialect.ts';
import type { Answer } from '../../fixtures/providers/server.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { adapter } from '../support/wireProvider.ts';

/** Servers that speak OpenAI's chat completions and take its rules lightly. */

const usage = { prompt_tokens: 24, completion_tokens: 9, total_tokens: 33 };
const wire = { input_tokens: 24, output_tokens: 9, total_tokens: 33 };

/** As an answer without `stream` looks: https://platform.openai.com/docs/api-reference/chat/object */
const completion = (message: object, finish: string) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1_795_251_600,
  model: 'served-model',
  choices: [{ index: 0, message: { role: 'assistant', ...message }, logprobs: null, finish_reason: finish }],
  usage,
});

for (const name of ['openai', 'lmstudio', 'llamacpp', 'vllm', 'mine']) {
  const make = (origin: string) => adapter({ name, baseUrl: `${origin}/v1`, model: 'm' });

  test(`${name}: a server that does not stream is taken by its word, with what was used`, async (t) => {
    const server = await serve(t, json(completion({ content: 'The sky is blue.' }, 'length')));
    const run = begin(make(server.url));
    t.like(resultOf(await run.outcome), {
      output: 'The sky is blue.',
      finish_reason: 'length',
      model: 'served-model',
      usage: wire,
      raw_usage: usage,
    });
    t.deepEqual(run.pieces, ['The sky is blue.']);
  });

  test(`${name}: so are the tools that it wants called`, async (t) => {
    const call = (id: string) => ({
      id,
      type: 'function',
      function: { name: 'look', arguments: '{"at":"sky"}' },
    });
    const calls = [call('call_1'), call('call_2')];
    const server = await serve(t, json(completion({ content: null, tool_calls: calls }, 'tool_calls')));
    const result = resultOf(await begin(make(server.url)).outcome);
    t.is(result.finish_reason, 'tool_calls');
    t.deepEqual(result.tool_calls, calls);
  });
}

const chunk = (delta: object, finish: string | null = null) =>
  sse({ id: 'c', model: 'served-model', choices: [{ index: 0, delta, finish_reason: finish }] });

/** Says these and then nothing more, on a connection that stays open. */
const open =
  (...pieces: string[]): Answer =>
  ({ response }) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(pieces.join(''));
  };

for (const [title, end, used] of [
  ['and what it used', sse({ id: 'c', model: 'served-model', choices: [], usage }), wire],
  ['and not what it used', '', {}],
] as const) {
  test(`a server that has said why it ended ${title} is not waited for when it stays open`, async (t) => {
    const server = await serve(t, open(chunk({ content: 'blue' }), chunk({}, 'stop'), end));
    const clock = new FakeClock();
    const run = begin(adapter({ name: 'mine', baseUrl: `${server.url}/v1`, model: 'm' }), {}, { clock });
    await clock.timerWithin(5_000);
    clock.advance(5_000);
    const result = resultOf(await run.outcome);
    t.like(result, { output: 'blue', finish_reason: 'stop' });
    t.deepEqual(result.usage, used);
    await clock.timerWithin(500);
    clock.advance(500);
    await server.idle();
    t.is(clock.untilNext, null, 'no timer is left');
  });
}

test('what was used may come a while after the end', async (t) => {
  const gate = Promise.withResolvers<void>();
  const server = await serve(t, async ({ response }) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(chunk({ content: 'blue' }) + chunk({}, 'stop'));
    await gate.promise;
    response.end(sse({ id: 'c', model: 'served-model', choices: [], usage }));
  });
  const clock = new FakeClock();
  const run = begin(adapter({ name: 'mine', baseUrl: `${server.url}/v1`, model: 'm' }), {}, { clock });
  await clock.timerWithin(5_000);
  clock.advance(4_900);
  gate.resolve();
  t.like(resultOf(await run.outcome), { output: 'blue', usage: wire });
  t.is(clock.untilNext, null, 'no timer is left');
});

for (const reason of ['', 'stop']) {
  test(`an end that was none (${JSON.stringify(reason)}) ends nothing: more is said after it`, async (t) => {
    const gate = Promise.withResolvers<void>();
    const server = await serve(t, async ({ response }) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(chunk({ content: 'blue' }, reason) + chunk({ content: ' sky' }));
      await gate.promise;
      response.end(chunk({ content: ' above' }) + chunk({}, 'stop') + sse('[DONE]'));
    });
    const clock = new FakeClock();
    const run = begin(adapter({ name: 'mine', baseUrl: `${server.url}/v1`, model: 'm' }), {}, { clock });
    while (run.pieces.join('') !== 'blue sky') await new Promise((resolve) => setImmediate(resolve));
    clock.advance(10_000);
    gate.resolve();
    t.is(resultOf(await run.outcome).output, 'blue sky above');
  });
}
