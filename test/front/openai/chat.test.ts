import test from 'ava';
import OpenAI from 'openai';
import { until } from '../../support/process.ts';
import { startHere } from '../../support/service.ts';
import { answer, HeldProvider, usage } from '../../worker/support/setup.ts';
import { clientOf, hello, openAiHere, startWorker } from './support.ts';

test('a completion is a job that has ended, with its id, usage, model and headers', async (t) => {
  const { openai, client } = await openAiHere(t);
  const {
    data,
    response,
    request_id: requestId,
  } = await openai.chat.completions
    .create({ model: 'echo', messages: hello, max_completion_tokens: 50 })
    .withResponse();
  t.like(data, {
    object: 'chat.completion',
    model: 'echo/echo',
    service_tier: 'default',
    choices: [
      { index: 0, finish_reason: 'stop', logprobs: null, message: { role: 'assistant', refusal: null } },
    ],
  });
  t.regex(data.choices[0]?.message.content ?? '', /The prompt was: "Say hello"/);
  t.is(data.usage?.total_tokens, (data.usage?.prompt_tokens ?? 0) + (data.usage?.completion_tokens ?? 0));
  t.is(requestId, response.headers.get('x-request-id'));
  const jobId = response.headers.get('x-svc-job-id') ?? '';
  t.is(data.id, `chatcmpl-${jobId.replaceAll('-', '')}`);
  t.is(response.headers.get('x-svc-cost-usd'), '0');
  t.regex(response.headers.get('openai-processing-ms') ?? '', /^\d+$/);
  t.like(await client.job(jobId), {
    status: 'completed',
    provider: 'echo',
    model: null,
    messages: hello,
    params: { max_completion_tokens: 50 },
  });
});

test('a completion can be read later by its id, by the key that asked for it', async (t) => {
  const { openai, client, url, held } = await openAiHere(t);
  const first = await client.createKey({ role: 'client', name: 'first' });
  const other = await client.createKey({ role: 'client', name: 'other' });
  const asked = clientOf(url, first.key).chat.completions.create({
    model: 'held/m',
    messages: hello,
    store: true,
  });
  const run = await held.next();
  const id = `chatcmpl-${run.assignment.job_id.replaceAll('-', '')}`;
  const early = await t.throwsAsync(openai.chat.completions.retrieve(id), {
    instanceOf: OpenAI.ConflictError,
  });
  t.like(early, { code: 'still_running' });
  run.end(answer('Hello'));
  t.is((await asked).id, id);
  for (const reader of [openai, clientOf(url, first.key)]) {
    t.is((await reader.chat.completions.retrieve(id)).choices[0]?.message.content, 'Hello');
  }
  for (const [reader, asking] of [
    [clientOf(url, other.key), id],
    [openai, 'chatcmpl-1'],
    [openai, `chatcmpl-${'0'.repeat(32)}`],
  ] as const) {
    const error = await t.throwsAsync(reader.chat.completions.retrieve(asking), {
      instanceOf: OpenAI.NotFoundError,
    });
    t.like(error, { code: 'not_found', type: 'invalid_request_error' });
  }
});

test('fields go where they belong: params, metadata, tier, priority, tags, timeout', async (t) => {
  const { post, client } = await openAiHere(t);
  const response = await post(
    {
      model: 'echo/any-name',
      temperature: 0,
      top_p: null,
      stop: ['x'],
      seed: 7,
      reasoning_effort: 'low',
      something_new: { a: 1 },
      n: 1,
      logprobs: false,
      modalities: ['text'],
      user: 'u1',
      safety_identifier: 's1',
      store: false,
      metadata: { customer: 'acme' },
      service_tier: 'flex',
    },
    {
      headers: {
        'x-svc-tags': 'nightly, private,nightly',
        'x-svc-timeout-seconds': '90',
        'OpenAI-Project': 'p',
      },
    },
  );
  t.is(response.status, 200, await response.clone().text());
  t.like(await response.json(), { model: 'echo/any-name', service_tier: 'flex' });
  t.like(await client.job(response.headers.get('x-svc-job-id') ?? ''), {
    provider: 'echo',
    model: 'any-name',
    params: { temperature: 0, stop: ['x'], seed: 7, reasoning_effort: 'low', something_new: { a: 1 } },
    metadata: { customer: 'acme', 'openai.user': 'u1', 'openai.safety_identifier': 's1' },
    tier: 'batch',
    priority: 'low',
    tags: ['nightly', 'private'],
    timeout_seconds: 90,
  });
  const urgent = await post({ model: 'echo', service_tier: 'priority' });
  t.like(await urgent.json(), { service_tier: 'priority' });
  const named = await post(
    { model: 'echo', service_tier: 'flex' },
    { headers: { 'x-svc-priority': 'critical' } },
  );
  t.like(await client.job(named.headers.get('x-svc-job-id') ?? ''), { priority: 'critical', tier: 'batch' });
});

test('what cannot be honoured is refused by name before there is a job', async (t) => {
  const { post, client } = await openAiHere(t);
  const refused: [object, string, string, Record<string, string>?][] = [
    [{ n: 2 }, 'n', 'unsupported_parameter'],
    [{ logprobs: true }, 'logprobs', 'unsupported_parameter'],
    [{ top_logprobs: 3 }, 'top_logprobs', 'unsupported_parameter'],
    [{ modalities: ['text', 'audio'] }, 'modalities', 'unsupported_parameter'],
    [{ audio: { voice: 'x' } }, 'audio', 'unsupported_parameter'],
    [{ functions: [{ name: 'f' }] }, 'functions', 'unsupported_parameter'],
    [{ web_search_options: {} }, 'web_search_options', 'unsupported_parameter'],
    [{ messages: [] }, 'messages', 'invalid_value'],
    [{ messages: [{ role: 'user' }] }, 'messages[0].content', 'invalid_value'],
    [{ messages: null }, 'messages', 'invalid_value'],
    [{ model: '' }, 'model', 'invalid_value'],
    [{ model: `echo/${'x'.repeat(201)}` }, 'model', 'model_not_found'],
    [{ stream: 'yes' }, 'stream', 'invalid_value'],
    [{ stream_options: 1 }, 'stream_options', 'invalid_value'],
    [{ metadata: { a: 1 } }, 'metadata.a', 'invalid_value'],
    [{ model: 'nobody/nothing' }, 'model', 'model_not_found'],
    [{ model: 'held/none' }, 'model', 'model_not_found'],
    [{}, 'x-svc-priority', 'invalid_value', { 'x-svc-priority': 'soonest' }],
    [{}, 'x-svc-timeout-seconds', 'invalid_value', { 'x-svc-timeout-seconds': 'long' }],
    [{}, 'x-svc-on-disconnect', 'invalid_value', { 'x-svc-on-disconnect': 'wait' }],
    [{}, 'Idempotency-Key', 'invalid_value', { 'idempotency-key': 'a b' }],
  ];
  for (const [body, param, code, headers = {}] of refused) {
    const response = await post({ model: 'echo', ...body }, { headers });
    const { error } = (await response.json()) as { error: Record<string, unknown> };
    t.is(response.status, code === 'model_not_found' ? 404 : 400, JSON.stringify(error));
    t.like(error, { param, code, type: 'invalid_request_error' });
    t.is(response.headers.get('x-should-retry'), 'false');
  }
  t.is((await client.jobs()).total, 0);
});

test('the same Idempotency-Key joins the job, streamed or not, and another body is a conflict', async (t) => {
  const { openai, post, held, client } = await openAiHere(t, {
    config: { front: { sync_max_seconds: 1.5 } },
  });
  const ask = { model: 'held/m', messages: hello };
  // The SDK's own option idempotencyKey sends nothing to OpenAI.
  const options = { headers: { 'Idempotency-Key': 'k-1' } };
  const late = await t.throwsAsync(openai.chat.completions.create(ask, options), {
    instanceOf: OpenAI.InternalServerError,
  });
  t.like(late, { status: 504, code: 'still_running' });
  const run = await held.next();
  t.is((late as InstanceType<typeof OpenAI.APIError>).headers?.get('x-svc-job-id'), run.assignment.job_id);
  t.is((late as InstanceType<typeof OpenAI.APIError>).headers?.get('x-should-retry'), 'false');
  const stream = openai.chat.completions.stream(ask, options);
  run.context.onText('Hello');
  await new Promise((resolve) => stream.once('content', resolve));
  const again = openai.chat.completions.create(ask, options);
  run.end(answer('Hello'));
  t.is((await again).choices[0]?.message.content, 'Hello');
  t.is(await stream.finalContent(), 'Hello');
  const other = await post({ ...ask, temperature: 1 }, { headers: { 'idempotency-key': 'k-1' } });
  t.is(other.status, 409);
  t.is(other.headers.get('x-should-retry'), 'false');
  t.like(await other.json(), { error: { code: 'idempotency_conflict' } });
  const key = await client.createKey({ role: 'client', name: 'other' });
  const own = await post(
    { model: 'echo' },
    { headers: { authorization: `Bearer ${key.key}`, 'idempotency-key': 'k-1' } },
  );
  t.is(own.status, 200);
  t.is((await client.jobs()).total, 2);
});

test('an Idempotency-Key finds its job also when the model has moved to another provider', async (t) => {
  const { url } = await startHere(t);
  const openai = clientOf(url);
  const held = new HeldProvider();
  const worker = await startWorker(t, url, [held], 'before');
  const options = { headers: { 'Idempotency-Key': 'moved' } };
  const ask = { model: 'm', messages: hello };
  const first = openai.chat.completions.create(ask, options);
  (await held.next()).end(answer('Hello'));
  const { id, model } = await first;
  t.is(model, 'held/m');

  await worker.stop();
  const other = Object.defineProperty(new HeldProvider(), 'name', { value: 'other' });
  await startWorker(t, url, [other], 'after');
  await until('the other one has it', async () => {
    const { data } = await openai.models.list();
    return data.some((one) => one.id === 'other/m') && !data.some((one) => one.id === 'held/m');
  });
  t.is((await openai.models.retrieve('m')).owned_by, 'other');
  t.is((await openai.chat.completions.create(ask, options)).id, id);
  t.is(other.runs.length, 0);
});

test('a live stream names the provider and the model that run, whatever was asked for', async (t) => {
  const { openai, held } = await openAiHere(t);
  const stream = openai.chat.completions.stream({ model: 'm', messages: hello });
  const run = await held.next();
  const chunk = new Promise<{ model: string }>((resolve) => stream.once('chunk', resolve));
  run.context.onText('Hello');
  t.is((await chunk).model, 'held/m');
  run.end(answer('Hello'));
  t.is((await stream.finalChatCompletion()).model, 'held/m');
});

test('usage that the provider does not report is zero, and says so', async (t) => {
  const { openai, held } = await openAiHere(t);
  const asked = openai.chat.completions.create({ model: 'held/m', messages: hello });
  const result = { output: 'Hello', finish_reason: 'stop', model: 'm', usage: null };
  (await held.next()).end({ ok: true, result } as never);
  t.like((await asked).usage, { total_tokens: 0, unknown: true });
});

test('a refusal and a call in the old form may be said again without a content', async (t) => {
  const { openai } = await openAiHere(t);
  for (const said of [
    { role: 'assistant' as const, content: null, refusal: 'No' },
    { role: 'assistant' as const, content: null, function_call: { name: 'f', arguments: '{}' } },
  ]) {
    const { choices } = await openai.chat.completions.create({
      model: 'echo',
      messages: [...hello, said, ...hello],
    });
    t.is(choices[0]?.finish_reason, 'stop');
  }
});

test('tool calls come back as OpenAI has them, and usage that nobody knows is zero', async (t) => {
  const { openai, held } = await openAiHere(t);
  const call = {
    id: 'call_1',
    type: 'function' as const,
    function: { name: 'sky', arguments: '{"at":"noon"}' },
  };
  const asked = openai.chat.completions.create({ model: 'held', messages: hello });
  const result = { output: '', tool_calls: [call], finish_reason: 'tool_calls', model: 'm', usage: {} };
  (await held.next()).end({ ok: true, result } as never);
  const { choices, usage: told } = await asked;
  t.like(choices[0], { finish_reason: 'tool_calls', message: { content: null, tool_calls: [call] } });
  t.like(told, { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 });
});

test('a failed job is the error that the SDK has a class for, and is not sent again', async (t) => {
  const { openai, url } = await openAiHere(t, { config: { jobs: { max_attempts: 1 } } });
  const retrying = openai.withOptions({ maxRetries: 2 });
  const expected: [string, number, string, string?][] = [
    ['invalid_request', 400, 'invalid_request'],
    ['context_overflow', 400, 'context_length_exceeded'],
    ['content_filtered', 400, 'content_filter'],
    ['model_not_found', 404, 'model_not_found'],
    ['rate_limited', 503, 'rate_limited'],
    ['overloaded', 503, 'overloaded'],
    ['server_error', 502, 'server_error'],
    ['quota_exhausted', 429, 'insufficient_quota', 'insufficient_quota'],
    ['auth', 502, 'provider_auth'],
    ['timeout', 504, 'timeout'],
  ];
  for (const [echo_fail, status, code, type] of expected) {
    const error = await t.throwsAsync(
      retrying.chat.completions.create({ model: 'echo', messages: hello, echo_fail } as never),
      { instanceOf: OpenAI.APIError },
    );
    t.like(error, { status, code, ...(type === undefined ? {} : { type }) });
  }
  const { total } = (await (
    await fetch(`${url}/api/jobs`, { headers: { authorization: `Bearer ${openai.apiKey}` } })
  ).json()) as { total: number };
  t.is(total, expected.length);
});

test('a job that somebody cancels is a 409 that is not sent again', async (t) => {
  const { openai, held, client } = await openAiHere(t);
  const asked = openai
    .withOptions({ maxRetries: 2 })
    .chat.completions.create({ model: 'held/m', messages: hello });
  const run = await held.next();
  await client.cancel(run.assignment.job_id);
  t.like(await t.throwsAsync(asked, { instanceOf: OpenAI.ConflictError }), { code: 'job_cancelled' });
  t.is(held.runs.length, 1);
});

test('a request with an idempotency key may come again after its connection broke, and one that said so goes on', async (t) => {
  const { openai, held, client } = await openAiHere(t);
  const ask = (key: string, headers: object = {}) => {
    const gone = new AbortController();
    const asked = openai.chat.completions.create(
      { model: 'held/m', messages: hello },
      { signal: gone.signal, headers: { 'Idempotency-Key': key, ...headers } },
    );
    asked.catch(() => {});
    return { asked, gone };
  };
  const first = ask('again');
  const run = await held.next();
  first.gone.abort();
  await t.throwsAsync(first.asked, { instanceOf: OpenAI.APIUserAbortError });
  const again = ask('again');
  run.end(answer('Hello'));
  t.is((await again.asked).choices[0]?.message.content, 'Hello');
  t.is(held.runs.length, 1);

  const continued = ask('joined', { 'x-svc-on-disconnect': 'continue' });
  const joined = await held.next();
  const gone = new AbortController();
  await openai.chat.completions.create(
    { model: 'held/m', messages: hello, stream: true },
    { signal: gone.signal, headers: { 'Idempotency-Key': 'joined' } },
  );
  continued.gone.abort();
  await t.throwsAsync(continued.asked, { instanceOf: OpenAI.APIUserAbortError });
  gone.abort();
  joined.end(answer('Hello'));
  t.like(await client.waitFor(joined.assignment.job_id), { status: 'completed' });
});

test('a client that hangs up cancels its job, unless it says otherwise or somebody else waits for it', async (t) => {
  const { openai, held, client } = await openAiHere(t);
  for (const stream of [false, true]) {
    const gone = new AbortController();
    const asked = openai.chat.completions.create(
      { model: 'held/m', messages: hello, stream },
      { signal: gone.signal },
    );
    asked.catch(() => {});
    const run = await held.next();
    gone.abort();
    t.like(await client.waitFor(run.assignment.job_id), { status: 'cancelled' });
  }
  const kept = new AbortController();
  const asked = openai.chat.completions.create(
    { model: 'held/m', messages: hello },
    { signal: kept.signal, headers: { 'x-svc-on-disconnect': 'continue' } },
  );
  const run = await held.next();
  kept.abort();
  await t.throwsAsync(asked, { instanceOf: OpenAI.APIUserAbortError });
  run.end(answer('Hello'));
  t.like(await client.waitFor(run.assignment.job_id), { status: 'completed' });

  const first = new AbortController();
  const body = { model: 'held/m', messages: hello, temperature: 1 };
  const keyed = { headers: { 'Idempotency-Key': 'shared' } };
  const leaving = openai.chat.completions.create(
    { ...body, stream: true },
    { ...keyed, signal: first.signal },
  );
  const joint = await held.next();
  const staying = openai.chat.completions.create({ ...body, stream: true }, keyed);
  await Promise.all([leaving, staying]);
  first.abort();
  joint.context.onText('Hello');
  joint.end({ ok: true, result: { output: 'Hello', finish_reason: 'stop', model: 'm', usage } });
  let text = '';
  for await (const { choices } of await staying) text += choices[0]?.delta.content ?? '';
  t.is(text, 'Hello');
});
