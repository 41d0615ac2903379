import { request } from 'node:http';
import test from 'ava';
import OpenAI from 'openai';
import { adminKey, until } from '../../support/process.ts';
import { answer, usage } from '../../worker/support/setup.ts';
import { eventsOf, hello, openAiHere } from './support.ts';

const ask = { model: 'held/m', messages: hello };

test('a stream is headers at once, a role, text as it comes, an end, usage when asked for, and [DONE]', async (t) => {
  const { held, post } = await openAiHere(t);
  const response = await post({ model: 'held/m', stream: true, stream_options: { include_usage: true } });
  t.is(response.status, 200);
  t.regex(response.headers.get('content-type') ?? '', /^text\/event-stream/);
  const run = await held.next();
  const events = eventsOf(response);
  const next = async () => {
    for (;;) {
      const { value } = await events.next();
      if (typeof value !== 'string' || !value.startsWith(':')) return value;
    }
  };
  run.context.onText('Hel');
  const first = await next();
  t.like(first, {
    object: 'chat.completion.chunk',
    id: `chatcmpl-${run.assignment.job_id.replaceAll('-', '')}`,
    model: 'held/m',
    usage: null,
    choices: [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null, logprobs: null }],
  });
  t.like(await next(), { choices: [{ delta: { content: 'Hel' } }] });
  run.context.onText('lo');
  t.like(await next(), { choices: [{ delta: { content: 'lo' } }] });
  run.end(answer('Hello'));
  t.deepEqual(((await next()) as { choices: unknown }).choices, [
    { index: 0, delta: {}, logprobs: null, finish_reason: 'stop' },
  ]);
  t.like(await next(), { choices: [], usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 } });
  t.is(await next(), '[DONE]');
  t.true((await events.next()).done);
});

test("the SDK's strict stream helper takes text and tool calls", async (t) => {
  const { openai, held } = await openAiHere(t);
  const stream = openai.chat.completions.stream(ask);
  const calls = [0, 1].map((index) => ({
    id: `call_${index}`,
    type: 'function' as const,
    function: { name: `tool_${index}`, arguments: `{"n":${index}}` },
  }));
  const run = await held.next();
  run.end({
    ok: true,
    result: { output: 'Thinking', tool_calls: calls, finish_reason: 'tool_calls', model: 'm', usage },
  } as never);
  const { choices, usage: told } = await stream.finalChatCompletion();
  t.is(choices[0]?.finish_reason, 'tool_calls');
  t.is(choices[0]?.message.content, 'Thinking');
  t.deepEqual(
    choices[0]?.message.tool_calls?.map((call) => ({
      id: call.id,
      type: call.type,
      function: {
        name: call.type === 'function' ? call.function.name : '',
        arguments: call.type === 'function' ? call.function.arguments : '',
      },
    })),
    calls,
  );
  t.is(told, undefined);
});

test('reasoning and tool calls come as they are generated, and what was not streamed comes from the result', async (t) => {
  const { openai, held } = await openAiHere(t);
  const stream = await openai.chat.completions.create({ ...ask, stream: true });
  const run = await held.next();
  const chunks = stream[Symbol.asyncIterator]();
  const next = async () => (await chunks.next()).value?.choices[0]?.delta as Record<string, unknown>;
  run.context.onPart({ type: 'reasoning', text: 'Which city?' });
  t.like(await next(), { role: 'assistant', content: '' });
  t.deepEqual(await next(), { reasoning_content: 'Which city?' });
  run.context.onPart({ type: 'tool_call', index: 0, id: 'call_a', name: 'weather', arguments: '{"city"' });
  const begun = { name: 'weather', arguments: '{"city"' };
  t.deepEqual(await next(), {
    tool_calls: [{ index: 0, id: 'call_a', type: 'function', function: begun }],
  });
  const called = (id: string, city: string) => ({
    id,
    type: 'function' as const,
    function: { name: 'weather', arguments: `{"city":"${city}"}` },
  });
  const tool_calls = [called('call_a', 'Rome'), called('call_b', 'Oslo')];
  run.end({
    ok: true,
    result: { output: '', tool_calls, finish_reason: 'tool_calls', model: 'm', usage },
  } as never);
  t.deepEqual(await next(), { tool_calls: [{ index: 0, function: { arguments: ':"Rome"}' } }] });
  t.deepEqual(await next(), { tool_calls: [{ index: 1, ...called('call_b', 'Oslo') }] });
  t.deepEqual(await next(), {});
  t.true((await chunks.next()).done);
});

test('a job that waits says why in comments, and a fallback before any text is invisible', async (t) => {
  const config = {
    providers: { held: { rate_limit: {} } },
    routing: { strategy: 'fallback', chain: ['held', 'echo'] },
  };
  const { held, post, client } = await openAiHere(t, { config });
  await client.pauseQueue();
  const response = await post({ model: 'auto', stream: true });
  const events = eventsOf(response);
  const { value: comment } = await events.next();
  t.regex(String(comment), /^: queued position=1 reason=queue_paused/);
  await client.resumeQueue();
  const run = await held.next();
  run.end({ ok: false, error: { class: 'rate_limited', message: 'slow down', status: 429 } });
  const chunks: unknown[] = [];
  for await (const event of events) if (!String(event).startsWith(':')) chunks.push(event);
  t.is(chunks.at(-1), '[DONE]');
  t.like(chunks[0], { model: 'echo/echo', choices: [{ delta: { role: 'assistant' } }] });
  t.false(chunks.some((chunk) => JSON.stringify(chunk).includes('"error"')));
});

test('an attempt that fails before its first text is run again without a trace', async (t) => {
  const { openai, held } = await openAiHere(t);
  const stream = openai.chat.completions.stream(ask);
  (await held.next()).end({ ok: false, error: { class: 'overloaded', message: 'busy', status: 503 } });
  const second = await held.next();
  second.context.onText('Hello');
  second.end(answer('Hello'));
  t.is(await stream.finalContent(), 'Hello');
});

test('after some text a failed attempt ends the stream with an error, and the job goes on', async (t) => {
  const { openai, held, client } = await openAiHere(t);
  const stream = openai.chat.completions.stream(ask);
  const first = await held.next();
  first.context.onText('Hel');
  await new Promise((resolve) => stream.once('content', resolve));
  first.end({ ok: false, error: { class: 'overloaded', message: 'busy', status: 503 } });
  const error = await t.throwsAsync(stream.finalContent(), { instanceOf: OpenAI.APIError });
  t.like(error, { code: 'attempt_failed_midstream' });
  const second = await held.next();
  second.end(answer('Hello'));
  t.like(await client.waitFor(second.assignment.job_id), { status: 'completed' });
});

test('a job that fails is an error in the stream, which has no [DONE]', async (t) => {
  const { post, openai } = await openAiHere(t);
  const events: unknown[] = [];
  const response = await post({ model: 'echo', stream: true, echo_fail: 'context_overflow' });
  for await (const event of eventsOf(response)) if (!String(event).startsWith(':')) events.push(event);
  t.is(events.length, 1);
  t.like(events[0], { error: { code: 'context_length_exceeded', type: 'invalid_request_error' } });
  await t.throwsAsync(
    openai.chat.completions.stream({ model: 'echo', messages: hello, echo_fail: 'auth' } as never).done(),
    { instanceOf: OpenAI.APIError },
  );
});

/** As fast as it gets, when pieces are cut and skipped; and at a pace at which all of them arrive. */
for (const [pieces, pauseMs] of [
  [8, 1],
  [12, 60],
] as const)
  test(`a slow reader gets the whole text, and others are not held up: ${pauseMs} ms`, async (t) => {
    const { held, post, url } = await openAiHere(t);
    // Nothing is read before the end: sockets take some megabytes by themselves.
    const socket = request(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
    });
    socket.end(JSON.stringify({ ...ask, stream: true }));
    const response = await new Promise<import('node:http').IncomingMessage>((resolve) =>
      socket.once('response', resolve),
    );
    response.pause();
    const run = await held.next();
    // Six bytes a character on the wire: more than the buffers of two sockets take.
    const piece = '\u0001'.repeat(200_000);
    let output = '';
    for (let count = 0; count < pieces; count += 1) {
      output += piece;
      run.context.onText(piece);
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
    run.end(answer(output));
    t.is((await post({ model: 'echo' })).status, 200);
    const parts: Buffer[] = [];
    for await (const part of response) parts.push(part as Buffer);
    const lines = Buffer.concat(parts).toString().split('\n\n');
    const chunks = lines
      .filter((line) => line.startsWith('data: {'))
      .map((line) => JSON.parse(line.slice(6)));
    t.is(chunks.map(({ choices }) => choices[0].delta.content ?? '').join(''), output);
    t.true(lines.includes('data: [DONE]'));
  });

test('a client that is gone at byte one leaves a job that is cancelled, and nothing that waits for it', async (t) => {
  const { held, url, client } = await openAiHere(t);
  const asked = request(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
  });
  asked.on('error', () => {});
  asked.once('response', (response) => response.destroy());
  asked.end(JSON.stringify({ ...ask, stream: true }));
  const run = await held.next();
  t.like(await client.waitFor(run.assignment.job_id), { status: 'cancelled' });
  await until('the run is stopped', () => run.context.signal.aborted);
});

test('a coordinator that stops ends its streams with an error', async (t) => {
  const { held, post, stop } = await openAiHere(t);
  const response = await post({ model: 'held/m', stream: true });
  await held.next();
  const stopped = stop();
  const events: unknown[] = [];
  for await (const event of eventsOf(response)) events.push(event);
  t.like(events.at(-1), { error: { code: 'still_running' } });
  await stopped;
});
