import { request } from 'node:http';
import { createOpenAI } from '@ai-sdk/openai';
import test from 'ava';
import OpenAI from 'openai';
import { adminKey } from '../../support/process.ts';
import { answer, usage } from '../../worker/support/setup.ts';
import { listOf, openAiHere, postResponse, responseEventsOf } from './support.ts';

const ask = { model: 'held/m', input: 'Say hello' };
const weather = {
  type: 'function' as const,
  name: 'weather',
  parameters: { type: 'object', properties: { city: { type: 'string' } } },
  strict: true,
};
const call = {
  id: 'call_1',
  type: 'function' as const,
  function: { name: 'weather', arguments: '{"city":"Oslo"}' },
};

test('a stream has a named event for each step, in order, with the whole response in the first and the last', async (t) => {
  const { held, ...here } = await openAiHere(t);
  await here.client.pauseQueue();
  const response = await postResponse(here, { ...ask, stream: true });
  t.is(response.status, 200);
  t.regex(response.headers.get('content-type') ?? '', /^text\/event-stream/);
  const id = `resp_${(response.headers.get('x-svc-job-id') ?? '').replaceAll('-', '')}`;
  const events = responseEventsOf(response);
  const next = async () => (await events.next()).value ?? null;
  t.like(await next(), { type: 'response.created', response: { id, status: 'queued', usage: null } });
  t.like(await next(), { type: 'response.queued', response: { id, status: 'queued' } });
  await here.client.resumeQueue();
  const run = await held.next();
  t.like(await next(), { type: 'response.in_progress', response: { status: 'in_progress', output: [] } });
  run.context.onPart({ type: 'reasoning', text: 'Which ' });
  t.like(await next(), { type: 'response.output_item.added', output_index: 0, item: { type: 'reasoning' } });
  t.like(await next(), { type: 'response.reasoning_summary_part.added', summary_index: 0 });
  t.like(await next(), { type: 'response.reasoning_summary_text.delta', delta: 'Which ' });
  run.context.onText('Hel');
  t.like(await next(), { type: 'response.reasoning_summary_text.done', text: 'Which ' });
  t.like(await next(), { type: 'response.reasoning_summary_part.done', part: { text: 'Which ' } });
  t.like(await next(), { type: 'response.output_item.done', output_index: 0 });
  t.like(await next(), { type: 'response.output_item.added', output_index: 1, item: { type: 'message' } });
  t.like(await next(), { type: 'response.content_part.added', content_index: 0, part: { text: '' } });
  const delta = await next();
  t.like(delta, { type: 'response.output_text.delta', output_index: 1, delta: 'Hel', logprobs: [] });
  run.end(answer('Hello'));
  t.like(await next(), { type: 'response.output_text.delta', delta: 'lo' });
  t.like(await next(), { type: 'response.output_text.done', text: 'Hello', item_id: delta?.item_id });
  t.like(await next(), { type: 'response.content_part.done', part: { text: 'Hello', annotations: [] } });
  t.like(await next(), { type: 'response.output_item.done', item: { status: 'completed' } });
  const last = await next();
  t.like(last, {
    type: 'response.completed',
    response: { id, status: 'completed', model: 'held/m', usage: { total_tokens: 5 } },
  });
  t.like(last, { response: { output: { 0: { type: 'reasoning' }, 1: { type: 'message' }, length: 2 } } });
  t.is(await next(), null);
});

test("the SDK's stream helper takes reasoning, text and tool calls", async (t) => {
  const { openai, held } = await openAiHere(t);
  const stream = openai.responses.stream({ ...ask, tools: [weather] });
  const run = await held.next();
  run.context.onPart({ type: 'reasoning', text: 'Which city?' });
  run.context.onText('Let me ');
  run.context.onPart({ type: 'tool_call', index: 0, id: 'call_1', name: 'weather', arguments: '{"city"' });
  run.context.onText('look');
  await new Promise((resolve) => stream.once('response.function_call_arguments.delta', resolve));
  run.end({
    ok: true,
    result: {
      output: 'Let me look',
      tool_calls: [call, { ...call, id: 'call_2' }],
      finish_reason: 'tool_calls',
      model: 'm',
      usage,
    },
  } as never);
  const final = await stream.finalResponse();
  t.is(final.output_text, 'Let me look');
  t.deepEqual(
    final.output.map(({ type }) => type),
    ['reasoning', 'message', 'function_call', 'function_call'],
  );
  t.like(final.output[2], { call_id: 'call_1', parsed_arguments: { city: 'Oslo' } });
  t.like(final.output[3], { call_id: 'call_2', arguments: '{"city":"Oslo"}', status: 'completed' });
});

test('what was streamed of an answer that was cut is whole and incomplete', async (t) => {
  const { openai, held } = await openAiHere(t);
  const stream = openai.responses.stream({ ...ask, tools: [weather] });
  const run = await held.next();
  run.context.onPart({ type: 'tool_call', index: 0, id: 'call_1', name: 'weather', arguments: '{"ci' });
  await new Promise((resolve) => stream.once('response.function_call_arguments.delta', resolve));
  run.end({ ok: true, result: { output: '', finish_reason: 'length', model: 'm', usage } } as never);
  const final = await stream.finalResponse();
  t.like(final, { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } });
  t.like(final.output[0], { type: 'function_call', status: 'incomplete', arguments: '{"ci' });
});

test("Vercel's AI SDK takes a stream with reasoning and a tool call", async (t) => {
  const { url } = await openAiHere(t);
  const provider = createOpenAI({ baseURL: `${url}/v1`, apiKey: adminKey });
  const options = {
    prompt: [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Say' }] }],
    tools: [{ type: 'function' as const, name: 'weather', inputSchema: weather.parameters as never }],
  };
  const parts = async (params: object) => {
    const withParams: typeof fetch = (to, init) =>
      fetch(to, { ...init, body: JSON.stringify({ ...JSON.parse(String(init?.body)), ...params }) });
    const own = createOpenAI({ baseURL: `${url}/v1`, apiKey: adminKey, fetch: withParams });
    const { stream } = await own.responses('echo').doStream(options);
    return listOf(stream);
  };
  const echo_tool_calls = [{ id: 'call_1', name: 'weather', arguments: { city: 'Oslo' } }];
  const seen = await parts({
    echo_tool_calls,
    echo_reasoning: 'Hmm, where?',
    echo_output: 'I look',
    echo_delay_ms: 300,
  });
  t.deepEqual(
    seen.filter(({ type }) => type === 'error'),
    [],
  );
  const textOf = (wanted: string) =>
    seen.map((part) => (part.type === wanted && 'delta' in part ? part.delta : '')).join('');
  t.is(textOf('reasoning-delta'), 'Hmm, where?');
  t.is(textOf('text-delta'), 'I look');
  t.like(
    seen.find(({ type }) => type === 'tool-call'),
    { toolCallId: 'call_1', toolName: 'weather', input: '{"city":"Oslo"}' },
  );
  t.like(seen.at(-1), { type: 'finish', finishReason: { unified: 'tool-calls' } });
  const { content } = await provider.responses('echo').doGenerate(options);
  t.like(content[0], { type: 'text' });
  // It throws what comes within 50 ms of the first event, and gives later errors as parts.
  const failed = await parts({ echo_fail: 'context_overflow' }).catch(() => [{ type: 'error' }]);
  t.true(failed.some(({ type }) => type === 'error'));
});

test('what Codex sends is taken: fields that mean nothing here, reasoning, groups of tools, tools of other types', async (t) => {
  const here = await openAiHere(t);
  const response = await postResponse(here, {
    model: 'echo',
    instructions: 'You are a coding agent',
    input: [
      { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Rules' }] },
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Fix it' }] },
      { type: 'reasoning', summary: [], content: null, encrypted_content: 'abc' },
      { type: 'function_call', name: 'list', namespace: 'mcp__files', arguments: '{}', call_id: 'c1' },
      { type: 'function_call_output', call_id: 'c1', output: 'a.ts' },
    ],
    tools: [
      { type: 'function', name: 'shell', description: 'Run', strict: false, parameters: { type: 'object' } },
      {
        type: 'namespace',
        name: 'mcp__files',
        description: 'Files',
        tools: [{ type: 'function', name: 'list', strict: false, parameters: { type: 'object' } }],
      },
      { type: 'web_search', external_web_access: false },
      { type: 'custom', name: 'apply_patch', format: { type: 'grammar', syntax: 'lark', definition: 'x' } },
      { type: 'image_generation' },
      { type: 'local_shell' },
    ],
    tool_choice: 'auto',
    parallel_tool_calls: false,
    reasoning: { effort: 'medium', summary: 'auto' },
    store: false,
    stream: true,
    include: ['reasoning.encrypted_content'],
    prompt_cache_key: 'thread-1',
    client_metadata: { installation: 'x' },
    echo_tool_calls: [{ name: 'list', arguments: '{"path":"."}' }],
  });
  const events = await listOf(responseEventsOf(response));
  const done = events.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item);
  t.like(done.at(-1), {
    type: 'function_call',
    name: 'list',
    namespace: 'mcp__files',
    arguments: '{"path":"."}',
  });
  t.is(events.at(-1)?.type, 'response.completed');
});

test('a failed job ends a stream as a failed response, and a failed attempt after text with an error', async (t) => {
  const { openai, held, client, ...here } = await openAiHere(t);
  const failed = await listOf(
    responseEventsOf(
      await postResponse(here, { model: 'echo', stream: true, echo_fail: 'context_overflow' }),
    ),
  );
  t.like(failed.at(-1), {
    type: 'response.failed',
    response: { status: 'failed', error: { code: 'context_length_exceeded' }, output: [] },
  });
  const stream = openai.responses.stream(ask);
  const first = await held.next();
  first.context.onText('Hel');
  await new Promise((resolve) => stream.once('response.output_text.delta', resolve));
  first.end({ ok: false, error: { class: 'overloaded', message: 'busy', status: 503 } });
  const error = await t.throwsAsync(stream.finalResponse(), { instanceOf: OpenAI.APIError });
  t.like(error, { code: 'attempt_failed_midstream' });
  const second = await held.next();
  second.end(answer('Hello'));
  const jobId = second.assignment.job_id;
  await client.waitFor(jobId);
  t.is((await openai.responses.retrieve(`resp_${jobId.replaceAll('-', '')}`)).output_text, 'Hello');
  const cancelled = await postResponse(here, { ...ask, stream: true });
  await held.next();
  await client.cancel(cancelled.headers.get('x-svc-job-id') ?? '');
  const events = await listOf(responseEventsOf(cancelled));
  t.like(events.at(-1), { type: 'error', code: 'job_cancelled' });
});

test('a client that hangs up at the first event cancels its job when it is not in the background', async (t) => {
  const { held, client, url } = await openAiHere(t);
  const asked = request(`${url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
  });
  asked.on('error', () => {});
  asked.once('response', (response) => response.once('data', () => response.destroy()));
  asked.end(JSON.stringify({ ...ask, stream: true }));
  const run = await held.next();
  t.like(await client.waitFor(run.assignment.job_id), { status: 'cancelled' });
});

for (const background of [false, true])
  test(`a slow reader gets the whole text${background ? ', in the background too' : ''}`, async (t) => {
    const { held, url } = await openAiHere(t);
    const socket = request(`${url}/v1/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
    });
    socket.end(JSON.stringify({ ...ask, stream: true, background }));
    const response = await new Promise<import('node:http').IncomingMessage>((resolve) =>
      socket.once('response', resolve),
    );
    response.pause();
    const run = await held.next();
    // Six bytes a character on the wire: more than the buffers of two sockets take, and than a spool.
    const piece = '\u0001'.repeat(200_000);
    let output = '';
    for (let count = 0; count < 8; count += 1) {
      output += piece;
      run.context.onText(piece);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    run.end(answer(output));
    const parts: Buffer[] = [];
    for await (const part of response) parts.push(part as Buffer);
    const events = await listOf(responseEventsOf(new Response(Buffer.concat(parts))));
    const deltas = events.filter(({ type }) => type === 'response.output_text.delta');
    t.is(deltas.map(({ delta }) => delta).join(''), output);
    t.is(events.at(-1)?.type, 'response.completed');
  });
