import test from 'ava';
import OpenAI from 'openai';
import { answer, usage } from '../../worker/support/setup.ts';
import { clientOf, openAiHere, postResponse } from './support.ts';

const call = {
  id: 'call_1',
  type: 'function' as const,
  function: { name: 'weather', arguments: '{"city":"Oslo"}' },
};
const weather = {
  type: 'function' as const,
  name: 'weather',
  description: 'The weather of a city',
  parameters: { type: 'object', properties: { city: { type: 'string' } } },
  strict: true,
};

test('a response is a job that has ended, with every field that OpenAI has, and can be read again', async (t) => {
  const { openai, client } = await openAiHere(t);
  const { data, response } = await openai.responses
    .create({
      model: 'echo',
      instructions: 'Be brief',
      input: 'Say hello',
      metadata: { customer: 'acme' },
      safety_identifier: 's1',
      temperature: 0,
    })
    .withResponse();
  const jobId = response.headers.get('x-svc-job-id') ?? '';
  const digits = jobId.replaceAll('-', '');
  t.regex(data.output_text, /^This is an echo/);
  const { output, created_at, completed_at, usage: told, output_text: text, ...rest } = data;
  t.deepEqual(rest as object, {
    id: `resp_${digits}`,
    object: 'response',
    status: 'completed',
    background: false,
    error: null,
    incomplete_details: null,
    model: 'echo/echo',
    service_tier: 'default',
    metadata: { customer: 'acme' },
    instructions: 'Be brief',
    max_output_tokens: null,
    max_tool_calls: null,
    parallel_tool_calls: true,
    previous_response_id: null,
    prompt_cache_key: null,
    reasoning: { effort: null, summary: null },
    safety_identifier: 's1',
    store: true,
    temperature: 0,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    tools: [],
    top_logprobs: 0,
    top_p: null,
    truncation: 'disabled',
    user: null,
  });
  t.deepEqual(output as object, [
    {
      id: `msg_${digits}_0`,
      type: 'message',
      status: 'completed',
      role: 'assistant',
      content: [{ type: 'output_text', annotations: [], logprobs: [], text }],
    },
  ]);
  t.true(Math.abs(created_at - Date.now() / 1000) < 60 && (completed_at ?? 0) >= created_at);
  t.is(told?.total_tokens, (told?.input_tokens ?? 0) + (told?.output_tokens ?? 0));
  t.is(response.headers.get('x-svc-cost-usd'), '0');
  t.like(await client.job(jobId), {
    messages: [
      { role: 'system', content: 'Be brief' },
      { role: 'user', content: 'Say hello' },
    ],
    params: { temperature: 0 },
    metadata: { customer: 'acme', 'openai.safety_identifier': 's1' },
  });
  const again = await openai.responses.retrieve(data.id);
  t.deepEqual({ ...again, _request_id: null }, { ...data, _request_id: null });
});

test('items become messages, and fields go where they belong', async (t) => {
  const { url, client } = await openAiHere(t);
  const image = 'data:image/png;base64,iVBORw0KGgo=';
  const response = await postResponse(
    { url },
    {
      model: 'echo/any-name',
      input: [
        { role: 'developer', content: [{ type: 'input_text', text: 'Be kind' }] },
        {
          type: 'message',
          role: 'user',
          content: [
            { type: 'input_text', text: 'What?' },
            { type: 'input_image', detail: 'low', image_url: image },
            { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,AA==' },
          ],
        },
        { type: 'reasoning', id: 'rs_1', summary: [] },
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'I look' }] },
        { type: 'function_call', call_id: 'c1', name: 'weather', arguments: '{}' },
        { type: 'reasoning', id: 'rs_2', summary: [] },
        { type: 'function_call', call_id: 'c2', name: 'search', namespace: 'web', arguments: '{"q":1}' },
        { type: 'web_search_call', id: 'ws_1', status: 'completed' },
        { type: 'function_call_output', call_id: 'c1', output: 'rain' },
        { type: 'function_call_output', call_id: 'c2', output: [{ type: 'input_text', text: 'none' }] },
        { type: 'custom_tool_call', call_id: 'c3', name: 'patch', input: '*** Begin' },
        { type: 'message', role: 'assistant', content: 'I patch' },
        { role: 'assistant', content: [{ type: 'output_text', text: 'it' }] },
        { type: 'custom_tool_call_output', call_id: 'c3', output: 'done' },
      ],
      max_output_tokens: 900,
      reasoning: { effort: 'low', summary: 'auto' },
      text: { verbosity: 'low', format: { type: 'json_schema', name: 'a', schema: { type: 'object' } } },
      tools: [
        weather,
        { type: 'web_search' },
        { type: 'custom', name: 'patch' },
        {
          type: 'namespace',
          name: 'web',
          description: '',
          tools: [
            { type: 'function', name: 'search', parameters: {}, strict: null },
            { type: 'function', name: 'weather', parameters: {}, strict: null },
          ],
        },
      ],
      tool_choice: { type: 'function', name: 'weather' },
      parallel_tool_calls: false,
      something_new: { a: 1 },
      top_p: null,
      include: ['reasoning.encrypted_content'],
      truncation: 'auto',
      store: false,
      client_metadata: { a: 'b' },
      max_tool_calls: 3,
      stream_options: { include_obfuscation: false },
      prompt_cache_retention: '24h',
      top_logprobs: 0,
      conversation: null,
      service_tier: 'flex',
    },
    { headers: { 'x-svc-tags': 'nightly', 'x-svc-timeout-seconds': '90' } },
  );
  t.is(response.status, 200, await response.clone().text());
  const named = (name: string, id: string, given: string) => ({
    id,
    type: 'function',
    function: { name, arguments: given },
  });
  const tool = (name: string, more: object = {}) => ({
    type: 'function',
    function: { name, parameters: {}, ...more },
  });
  const job = await client.job(response.headers.get('x-svc-job-id') ?? '');
  t.deepEqual(job.messages as unknown, [
    { role: 'developer', content: 'Be kind' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'What?' },
        { type: 'image_url', image_url: { url: image, detail: 'low' } },
        { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AA==' } },
      ],
    },
    {
      role: 'assistant',
      content: 'I look',
      tool_calls: [named('weather', 'c1', '{}'), named('search', 'c2', '{"q":1}')],
    },
    { role: 'tool', tool_call_id: 'c1', content: 'rain' },
    { role: 'tool', tool_call_id: 'c2', content: 'none' },
    {
      role: 'assistant',
      content: 'I patch\n\nit',
      tool_calls: [named('patch', 'c3', '{"input":"*** Begin"}')],
    },
    { role: 'tool', tool_call_id: 'c3', content: 'done' },
  ]);
  const { description, parameters, strict } = weather;
  t.deepEqual(job.params, {
    max_tokens: 900,
    reasoning_effort: 'low',
    verbosity: 'low',
    response_format: { type: 'json_schema', json_schema: { name: 'a', schema: { type: 'object' } } },
    tools: [tool('weather', { description, parameters, strict }), tool('search'), tool('web__weather')],
    tool_choice: { type: 'function', function: { name: 'weather' } },
    parallel_tool_calls: false,
    something_new: { a: 1 },
  });
  t.like(job, { tier: 'batch', priority: 'low', tags: ['nightly'], timeout_seconds: 90 });
  t.like(await response.json(), {
    max_output_tokens: 900,
    reasoning: { effort: 'low', summary: 'auto' },
    text: { verbosity: 'low' },
    service_tier: 'flex',
    store: false,
  });
});

test('allowed_tools leaves the others out, and without functions nothing is said of tools', async (t) => {
  const { url, client } = await openAiHere(t);
  const params = async (body: object) => {
    const response = await postResponse({ url }, { model: 'echo', ...body });
    return (await client.job(response.headers.get('x-svc-job-id') ?? '')).params as Record<string, unknown>;
  };
  const tools = [weather, { ...weather, name: 'news' }];
  const choice = { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'news' }] };
  const allowed = await params({ tools, tool_choice: choice });
  t.deepEqual(
    (allowed.tools as { function: { name: string } }[]).map((tool) => tool.function.name),
    ['news'],
  );
  t.is(allowed.tool_choice, 'required');
  const other = await params({ tools, tool_choice: { type: 'web_search' } });
  t.false('tool_choice' in other);
  const none = { tools: [{ type: 'web_search' }], tool_choice: 'required', parallel_tool_calls: true };
  t.deepEqual(await params(none), {});
  // Their names are the same for 64 characters, and none of them is lost.
  const named = (name: string) => ({ type: 'namespace', name: 'n'.repeat(70) + name, tools: [weather] });
  const { tools: alike } = await params({ tools: [weather, named('a'), named('b'), named('b')] });
  const names = (alike as { function: { name: string } }[]).map((tool) => tool.function.name);
  t.is(new Set(names).size, 3);
  t.is(names.length, 3);
  for (const name of names) t.true(name.length <= 64);
});

test('what cannot be honoured is refused by name before there is a job', async (t) => {
  const { url, client } = await openAiHere(t);
  const item = (part: object) => ({ input: [{ role: 'user', content: [part] }] });
  const refused: [object, string, string, Record<string, string>?][] = [
    [{ conversation: 'conv_1' }, 'conversation', 'unsupported_parameter'],
    [{ prompt: { id: 'pmpt_1' } }, 'prompt', 'unsupported_parameter'],
    [{ top_logprobs: 2 }, 'top_logprobs', 'unsupported_parameter'],
    [{ input: null }, 'input', 'invalid_value'],
    [{ input: [] }, 'input', 'invalid_value'],
    [{ input: [{ type: 'reasoning' }] }, 'input', 'invalid_value'],
    [{ input: 7 }, 'input', 'invalid_value'],
    [{ input: ['a'] }, 'input[0]', 'invalid_value'],
    [{ input: Array(10_001).fill({ type: 'reasoning' }) }, 'input', 'invalid_value'],
    [{ input: [{ type: 'item_reference', id: 'msg_1' }] }, 'input[0]', 'unsupported_parameter'],
    [{ input: [{ role: 'user' }] }, 'input[0].content', 'invalid_value'],
    [item({ type: 'input_image', file_id: 'f' }), 'input[0].content[0].file_id', 'unsupported_parameter'],
    [item({ type: 'input_file', file_url: 'h' }), 'input[0].content[0].file_url', 'unsupported_parameter'],
    [item({ type: 'input_image' }), 'input[0].content[0].image_url', 'invalid_value'],
    [item({ type: 'input_audio' }), 'input[0].content[0].type', 'invalid_value'],
    [{ input: [{ type: 'function_call', name: 'a' }] }, 'input[0].call_id', 'invalid_value'],
    [{ tools: [{ type: 'function', function: { name: 'a' } }] }, 'tools[0].name', 'invalid_value'],
    [{ instructions: ['a'] }, 'instructions', 'invalid_value'],
    [{ tools: {} }, 'tools', 'invalid_value'],
    [{ tool_choice: 7 }, 'tool_choice', 'invalid_value'],
    [{ text: 'json' }, 'text', 'invalid_value'],
    [{ text: { format: 'json' } }, 'text.format', 'invalid_value'],
    [{ reasoning: 'low' }, 'reasoning', 'invalid_value'],
    [{ stream: 'yes' }, 'stream', 'invalid_value'],
    [{ background: 1 }, 'background', 'invalid_value'],
    [{ model: 'nobody/nothing' }, 'model', 'model_not_found'],
    [{ previous_response_id: 7 }, 'previous_response_id', 'invalid_value'],
    [{ previous_response_id: 'resp_1' }, 'previous_response_id', 'previous_response_not_found'],
    [{ input: [{ id: 'msg_1' }, { role: 'user', content: 'Hi' }] }, 'input[0]', 'unsupported_parameter'],
    [{ metadata: { 'openai.user': 'ada' } }, 'metadata.openai.user', 'invalid_value'],
    [{ service_tier: 'x'.repeat(300) }, 'service_tier', 'invalid_value'],
    [{}, 'x-svc-timeout-seconds', 'invalid_value', { 'x-svc-timeout-seconds': '1e99' }],
    [{}, 'x-svc-on-disconnect', 'invalid_value', { 'x-svc-on-disconnect': 'wait' }],
  ];
  for (const [body, param, code, headers = {}] of refused) {
    const response = await postResponse({ url }, { model: 'echo', ...body }, { headers });
    const { error } = (await response.json()) as { error: Record<string, unknown> };
    t.is(response.status, code.endsWith('_found') ? 404 : 400, JSON.stringify(error));
    t.like(error, { param, code, type: 'invalid_request_error' });
  }
  t.is((await client.jobs()).total, 0);
});

test('an answer that was cut is incomplete, calls of tools are items, and a failed job is an error and a failed response', async (t) => {
  const { openai, held } = await openAiHere(t);
  const cut = await openai.responses.create({ model: 'echo', input: 'Say hello', max_output_tokens: 2 });
  t.like(cut, {
    status: 'incomplete',
    incomplete_details: { reason: 'max_output_tokens' },
    completed_at: null,
  });
  t.like(cut.output[0], { type: 'message', status: 'incomplete' });
  const namespace = { type: 'namespace' as const, name: 'sky', description: '', tools: [weather] };
  const asked = openai.responses.create({ model: 'held', input: 'Say hello', tools: [namespace] });
  const result = { output: '', tool_calls: [call], finish_reason: 'tool_calls', model: 'm', usage: {} };
  const run = await held.next();
  run.end({ ok: true, result } as never);
  const { output, usage: told } = await asked;
  t.deepEqual(output as object, [
    {
      id: `fc_${run.assignment.job_id.replaceAll('-', '')}_0`,
      type: 'function_call',
      status: 'completed',
      call_id: 'call_1',
      name: 'weather',
      namespace: 'sky',
      arguments: '{"city":"Oslo"}',
    },
  ]);
  t.like(told, { input_tokens: 0, output_tokens: 0, total_tokens: 0 });
  for (const [echo_fail, status, code] of [
    ['context_overflow', 400, 'context_length_exceeded'],
    ['auth', 502, 'server_error'],
  ] as const) {
    const body: OpenAI.Responses.ResponseCreateParamsNonStreaming = { model: 'echo', input: 'Say' };
    const error = await t.throwsAsync(openai.responses.create(Object.assign(body, { echo_fail })), {
      instanceOf: OpenAI.APIError,
    });
    t.is(error?.status, status);
    const jobId = error?.headers?.get('x-svc-job-id') ?? '';
    const failed = await openai.responses.retrieve(`resp_${jobId.replaceAll('-', '')}`);
    t.like(failed, { status: 'failed', output: [], error: { code } });
  }
});

test('parse reads an answer by its schema', async (t) => {
  const { openai, held } = await openAiHere(t);
  const asked = openai.responses.parse({
    model: 'held/m',
    input: 'The sky',
    text: { format: { type: 'json_schema', name: 'sky', schema: { type: 'object' }, strict: true } },
  });
  const run = await held.next();
  t.like(run.assignment.params.response_format, { json_schema: { name: 'sky', strict: true } });
  run.end(answer('{"sky":"blue"}'));
  t.deepEqual((await asked).output_parsed as unknown, { sky: 'blue' });
});

test('a conversation goes on from a response of the same key, without its instructions', async (t) => {
  const { openai, url, held, client } = await openAiHere(t, { config: { http: { max_body_bytes: 65_536 } } });
  const first = openai.responses.create({ model: 'held/m', instructions: 'Be brief', input: 'Weather?' });
  const run = await held.next();
  run.end({
    ok: true,
    result: { output: 'Look:', tool_calls: [call], finish_reason: 'tool_calls', model: 'm', usage },
  } as never);
  const { id } = await first;
  const second = openai.responses.create({
    model: 'held/m',
    previous_response_id: id,
    instructions: 'Be long',
    input: [{ type: 'function_call_output', call_id: 'call_1', output: 'rain' }],
  });
  const next = await held.next();
  t.deepEqual(next.assignment.messages as unknown, [
    { role: 'system', content: 'Be long' },
    { role: 'user', content: 'Weather?' },
    { role: 'assistant', content: 'Look:', tool_calls: [call] },
    { role: 'tool', tool_call_id: 'call_1', content: 'rain' },
  ]);
  const early = await postResponse(
    { url },
    {
      model: 'echo',
      previous_response_id: `resp_${next.assignment.job_id.replaceAll('-', '')}`,
    },
  );
  t.is(early.status, 400);
  t.like(await early.json(), { error: { code: 'previous_response_not_completed' } });
  next.end(answer('x'.repeat(40_000)));
  const { id: long, previous_response_id: before } = await second;
  t.is(before, id);
  const large = await postResponse(
    { url },
    { model: 'echo', previous_response_id: long, input: 'y'.repeat(30_000) },
  );
  t.is(large.status, 400);
  t.like(await large.json(), { error: { code: 'context_length_exceeded', param: 'previous_response_id' } });
  const other = await client.createKey({ role: 'client', name: 'other' });
  await t.throwsAsync(
    clientOf(url, other.key).responses.create({ model: 'echo', previous_response_id: id, input: 'And?' }),
    { instanceOf: OpenAI.NotFoundError },
  );
});

test('responses are read, listed, cancelled and deleted by their own key alone, and not as completions', async (t) => {
  const { openai, url, client, held } = await openAiHere(t);
  const own = clientOf(url, (await client.createKey({ role: 'client', name: 'own' })).key);
  const other = clientOf(url, (await client.createKey({ role: 'client', name: 'other' })).key);
  const { id, status } = await own.responses.create({ model: 'held/m', input: 'Hi', background: true });
  t.is(status, 'queued');
  const run = await held.next();
  t.is((await own.responses.retrieve(id)).status, 'in_progress');
  const completion = await openai.chat.completions.create({
    model: 'echo',
    messages: [{ role: 'user', content: 'Hi' }],
  });
  const all = [
    (by: OpenAI, of: string) => by.responses.retrieve(of),
    (by: OpenAI, of: string) => by.responses.inputItems.list(of),
    (by: OpenAI, of: string) => by.responses.cancel(of),
    (by: OpenAI, of: string) => by.responses.delete(of),
  ];
  const missing = { instanceOf: OpenAI.NotFoundError };
  const asResponse = completion.id.replace('chatcmpl-', 'resp_');
  for (const ask of all) {
    await t.throwsAsync(() => ask(other, id), missing);
    await t.throwsAsync(() => ask(openai, asResponse), missing);
    await t.throwsAsync(() => ask(openai, 'resp_1'), missing);
  }
  await t.throwsAsync(openai.chat.completions.retrieve(id.replace('resp_', 'chatcmpl-')), missing);
  // A running one is cancelled first.
  const deleted = await fetch(`${url}/v1/responses/${id}`, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${own.apiKey}` },
  });
  t.deepEqual(await deleted.json(), { id, object: 'response', deleted: true });
  t.true(run.context.signal.aborted || (await client.job(run.assignment.job_id)).status === 'cancelled');
  for (const ask of all) await t.throwsAsync(() => ask(own, id), missing);
  t.like(await client.job(run.assignment.job_id), { status: 'cancelled' });
});

test('cancelling twice, or too late, returns the same response; one that is not in the background is refused', async (t) => {
  const { openai, held } = await openAiHere(t);
  const { id } = await openai.responses.create({ model: 'held/m', input: 'Hi', background: true });
  await held.next();
  const [first, second] = await Promise.all([openai.responses.cancel(id), openai.responses.cancel(id)]);
  t.like(first, { id, status: 'cancelled', output: [], error: null, usage: null });
  t.like(second, { status: 'cancelled' });
  t.like(await openai.responses.cancel(id), { status: 'cancelled' });
  const late = await openai.responses.create({ model: 'held/m', input: 'Hi', background: true });
  const run = await held.next();
  const cancelled = openai.responses.cancel(late.id);
  run.end(answer('Hello'));
  const { status } = await cancelled;
  t.true(status === 'completed' || status === 'cancelled');
  t.is((await openai.responses.retrieve(late.id)).status, status);
  const waited = await openai.responses.create({ model: 'echo', input: 'Hi' });
  const error = await t.throwsAsync(openai.responses.cancel(waited.id), {
    instanceOf: OpenAI.BadRequestError,
  });
  t.like(error, { code: 'response_not_background' });
});

test('input items are listed in pages, from either end', async (t) => {
  const { openai } = await openAiHere(t);
  const input = Array.from({ length: 5 }, (_, n) => ({ role: 'user' as const, content: `n${n}` }));
  const { id } = await openai.responses.create({ model: 'echo', instructions: 'Be brief', input });
  const texts = async (order: 'asc' | 'desc') => {
    const seen: string[] = [];
    for await (const item of openai.responses.inputItems.list(id, { limit: 2, order })) {
      if (item.type === 'message') seen.push(JSON.stringify(item.content));
    }
    return seen;
  };
  const expected = input.map(({ content }) => JSON.stringify([{ type: 'input_text', text: content }]));
  t.deepEqual(await texts('asc'), expected);
  t.deepEqual(await texts('desc'), expected.reverse());
  const page = await openai.responses.inputItems.list(id, { limit: 2, order: 'asc' });
  t.true(page.has_more);
  t.is(page.data.length, 2);
  await t.throwsAsync(openai.responses.inputItems.list(id, { after: 'msg_9' }), {
    instanceOf: OpenAI.BadRequestError,
  });
  await t.throwsAsync(openai.responses.inputItems.list(id, { limit: 101 }), {
    instanceOf: OpenAI.BadRequestError,
  });
});

test('the same Idempotency-Key joins a response, and hanging up cancels what is not in the background', async (t) => {
  const { openai, url, held, client } = await openAiHere(t, { config: { front: { sync_max_seconds: 1.5 } } });
  const ask = { model: 'held/m', input: 'Hi' };
  const options = { headers: { 'Idempotency-Key': 'r-1' } };
  const late = await t.throwsAsync(openai.responses.create(ask, options), {
    instanceOf: OpenAI.InternalServerError,
  });
  t.like(late, { status: 504, code: 'still_running' });
  const run = await held.next();
  const again = openai.responses.create(ask, options);
  run.end(answer('Hello'));
  t.is((await again).output_text, 'Hello');
  const onward = { ...ask, previous_response_id: (await again).id };
  const keyed = { headers: { 'Idempotency-Key': 'r-0' } };
  const answered = openai.responses.create(onward, keyed);
  (await held.next()).end(answer('Hello again'));
  const { id } = await answered;
  await openai.responses.delete(onward.previous_response_id);
  t.is((await openai.responses.create(onward, keyed)).id, id, 'what it went on from is not needed any more');
  const background = { ...ask, background: true };
  const first = await openai.responses.create(background, { headers: { 'Idempotency-Key': 'r-2' } });
  const joined = await openai.responses.create(background, { headers: { 'Idempotency-Key': 'r-2' } });
  t.is(joined.id, first.id);
  await held.next();
  const abort = new AbortController();
  const hungUp = postResponse({ url }, ask, { signal: abort.signal });
  const third = await held.next();
  abort.abort();
  await t.throwsAsync(hungUp);
  t.like(await client.waitFor(third.assignment.job_id), { status: 'cancelled' });
});
