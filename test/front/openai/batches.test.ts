import test from 'ava';
import { APIError } from 'openai';
import type { Batch } from 'openai/resources/batches';
import { adminKey, until } from '../../support/process.ts';
import { answer } from '../../worker/support/setup.ts';
import { answersOf, begun, call, inState, lineOf, linesOf, parsed, textOf, uploaded } from './batches.ts';
import { clientOf, openAiHere } from './support.ts';

test('a batch answers every line, in the order of its file', async (t) => {
  const { openai, client } = await openAiHere(t);
  const batch = await begun(openai, `${linesOf(1_200)}\n\n`, { metadata: { team: 'a' } });
  t.like(batch, {
    object: 'batch',
    endpoint: '/v1/chat/completions',
    completion_window: '24h',
    status: 'validating',
    errors: null,
    output_file_id: null,
    request_counts: { total: 0, completed: 0, failed: 0 },
    metadata: { team: 'a' },
  });
  t.is(batch.expires_at, batch.created_at + 86_400);
  const ended = await inState(openai, batch);
  t.like(ended, { status: 'completed', request_counts: { total: 1_200, completed: 1_200, failed: 0 } });
  t.falsy(ended.error_file_id);
  t.true((ended.usage?.total_tokens ?? 0) >= 1_200);
  for (const at of [ended.in_progress_at, ended.finalizing_at, ended.completed_at])
    t.true(Number(at) >= batch.created_at);
  t.falsy(ended.expired_at);
  const { output } = await answersOf(openai, ended);
  t.deepEqual(
    output.map((line) => line.custom_id),
    Array.from({ length: 1_200 }, (_, place) => `a${place}`),
  );
  const line = output[7];
  t.like(line, { error: null, response: { status_code: 200, body: { object: 'chat.completion' } } });
  t.regex(line?.response?.body.choices[0]?.message.content ?? '', /Say a7/);
  const file = await openai.files.retrieve(ended.output_file_id ?? '');
  t.like(file, { purpose: 'batch_output', filename: `${batch.id}_output.jsonl` });
  // One mechanism: its jobs are those of a run.
  const run = await client.run(batch.id);
  t.like(run, { status: 'completed', counts: { total: 1_200, completed: 1_200 } });
  t.like(run.batch, { status: 'completed', lines: 1_200 });
  t.like(await client.job(line?.response?.request_id ?? ''), { tier: 'batch', priority: 'low' });
});

test('what fails is in the error file, with the status and the body that a request of its own would have got', async (t) => {
  const { openai } = await openAiHere(t, { config: { jobs: { max_attempts: 1 } } });
  const classes = ['context_overflow', 'server_error', 'rate_limited'];
  const text =
    lineOf('good') + classes.map((name) => lineOf(name, { echo_fail: name })).join('') + lineOf('last');
  const ended = await inState(openai, await begun(openai, text));
  t.like(ended, { status: 'completed', request_counts: { total: 5, completed: 2, failed: 3 } });
  const { output, errors } = await answersOf(openai, ended);
  t.deepEqual(
    output.map((line) => line.custom_id),
    ['good', 'last'],
  );
  t.deepEqual(
    errors.map(({ custom_id: id, error, response }) => [
      id,
      error,
      response?.status_code,
      response?.body.error?.code,
    ]),
    [
      ['context_overflow', null, 400, 'context_length_exceeded'],
      ['server_error', null, 502, 'server_error'],
      ['rate_limited', null, 503, 'rate_limited'],
    ],
  );
});

test('a batch whose lines all fail has no output file', async (t) => {
  const { openai } = await openAiHere(t);
  const ended = await inState(openai, await begun(openai, lineOf('a', { echo_fail: 'invalid_request' })));
  t.like(ended, { status: 'completed', request_counts: { total: 1, failed: 1 } });
  t.falsy(ended.output_file_id);
  t.is((await answersOf(openai, ended)).errors.length, 1);
});

test('one line that is wrong refuses the file, names every such line, and nothing runs', async (t) => {
  const { openai, client, url } = await openAiHere(t);
  const deep = '['.repeat(200_000) + ']'.repeat(200_000);
  const wrong = [
    lineOf('good'),
    '{"custom_id": "cut", \n',
    '[]\n',
    lineOf('good'),
    lineOf('streamed', { stream: true }),
    lineOf('unknown', { model: 'no-such-provider/no-such-model' }),
    lineOf('n', { n: 2 }),
    lineOf('url').replace('/v1/chat/completions', '/v1/embeddings'),
    lineOf('method').replace('POST', 'GET'),
    lineOf('id').replace('"custom_id":"id",', ''),
    lineOf(''),
    lineOf('body').replace(/"body":.*/, '"body":null}'),
    lineOf('empty', { messages: [] }),
    lineOf('x'.repeat(300)),
    lineOf('deep').replace('"body":{', `"body":{"a":${deep},`),
    lineOf('proto').replace('"body":{', '"body":{"__proto__":{},'),
  ];
  const ended = await inState(openai, await begun(openai, wrong.join('')));
  t.like(ended, { status: 'failed', request_counts: { total: 0, completed: 0, failed: 0 } });
  t.true(Number(ended.failed_at) > 0);
  t.deepEqual(
    (ended.errors?.data ?? []).map(({ line, code, param }) => [line, code, param]),
    [
      [2, 'invalid_json_line', null],
      [3, 'invalid_json_line', null],
      [4, 'duplicate_custom_id', 'custom_id'],
      [5, 'invalid_value', 'body.stream'],
      [6, 'model_not_found', 'body.model'],
      [7, 'unsupported_parameter', 'body.n'],
      [8, 'url_mismatch', 'url'],
      [9, 'invalid_value', 'method'],
      [10, 'missing_required_parameter', 'custom_id'],
      [11, 'invalid_custom_id', 'custom_id'],
      [12, 'missing_required_parameter', 'body'],
      [13, 'invalid_value', 'body.messages'],
      [14, 'invalid_custom_id', 'custom_id'],
      [15, 'invalid_value', null],
      [16, 'invalid_value', null],
    ],
  );
  for (const which of ['output', 'errors']) {
    const answers = await call(url, `/batches/${ended.id}/${which}`);
    t.deepEqual([answers.status, await answers.text()], [200, '']);
  }
  t.is((await client.jobs()).total, 0);
  t.is((await client.run(ended.id)).batch?.faults.length, 15);
});

test('a file without requests, with a hundred faults, or with too long a line is refused', async (t) => {
  const { openai } = await openAiHere(t, { config: { http: { max_body_bytes: 4_096 } } });
  const empty = await inState(openai, await begun(openai, '\n \n'));
  t.deepEqual(
    empty.errors?.data?.map(({ code, line }) => [code, line]),
    [['empty_file', null]],
  );
  const many = await inState(openai, await begun(openai, 'nothing\n'.repeat(5_000)));
  t.is(many.errors?.data?.length, 100);
  const long = await inState(
    openai,
    await begun(openai, lineOf('a') + lineOf('x'.repeat(5_000)) + lineOf('b')),
  );
  t.deepEqual(
    long.errors?.data?.map(({ code, line }) => [code, line]),
    [['line_too_long', 2]],
  );
});

test('a batch that cannot be begun is refused at once', async (t) => {
  const { openai, url } = await openAiHere(t);
  const id = await uploaded(openai, linesOf(1));
  const other = await openai.files.create({
    file: new File(['x'], 'a.txt'),
    purpose: 'user_data',
  });
  const whole = { input_file_id: id, endpoint: '/v1/chat/completions', completion_window: '24h' };
  for (const [change, status, param] of [
    [{ endpoint: '/v1/embeddings' }, 400, 'endpoint'],
    [{ completion_window: '3 weeks' }, 400, 'completion_window'],
    [{ completion_window: '31d' }, 400, 'completion_window'],
    [{ completion_window: 24 }, 400, 'completion_window'],
    [{ input_file_id: 'file-1' }, 400, 'input_file_id'],
    [{ input_file_id: `file-${'0'.repeat(32)}` }, 404, 'input_file_id'],
    [{ input_file_id: other.id }, 400, 'input_file_id'],
    [{ input_file_id: null }, 400, 'input_file_id'],
    [{ requests: [{}] }, 400, 'input_file_id'],
    [{ input_file_id: null, requests: [] }, 400, 'requests'],
    [{ input_file_id: null, requests: [1] }, 400, 'requests'],
    [{ metadata: { a: 'x'.repeat(513) } }, 400, 'metadata.a'],
    [{ output_expires_after: { anchor: 'created_at', seconds: 60 } }, 400, 'output_expires_after.seconds'],
    [{ max_cost_usd: -1 }, 400, 'max_cost_usd'],
    [{ max_failures: 0.5 }, 400, 'max_failures'],
  ] as const) {
    const response = await call(url, '/batches', {
      method: 'POST',
      body: JSON.stringify({ ...whole, ...change }),
    });
    t.is(response.status, status, JSON.stringify(change));
    const { error } = (await response.json()) as { error: { param: string; message: string } };
    t.is(error.param, param, error.message);
  }
  t.is((await openai.batches.list()).data.length, 0);
});

test('a file is kept while a batch reads it, and its batch goes on without it after that', async (t) => {
  const { openai, held } = await openAiHere(t);
  const batch = await begun(
    openai,
    linesOf(2, () => ({ model: 'held/m' })),
  );
  await inState(openai, batch, ['in_progress']);
  const { input_file_id: input } = batch;
  const refused = await t.throwsAsync(openai.files.delete(input), { instanceOf: APIError });
  t.is(refused?.status, 409);
  for (const call of [await held.next(), await held.next()]) call.end(answer('done'));
  const ended = await inState(openai, batch);
  t.is(ended.status, 'completed');
  await openai.files.delete(input);
  t.is((await answersOf(openai, ended)).output.length, 2);
});

test('a cancelled batch keeps what has ended, each line once; cancelling again changes nothing', async (t) => {
  const { openai, held, client } = await openAiHere(t);
  const batch = await begun(
    openai,
    linesOf(60, (place) => (place < 10 ? {} : { model: 'held/m' })),
  );
  await held.next();
  const running = await inState(openai, batch, ['in_progress']);
  t.true(running.request_counts !== undefined && running.request_counts.total === 60);
  await t.notThrowsAsync(async () => {
    while (((await openai.batches.retrieve(batch.id)).request_counts?.completed ?? 0) < 10);
  });
  const cancelling = await openai.batches.cancel(batch.id);
  t.true(['cancelling', 'cancelled'].includes(cancelling.status));
  t.truthy((await openai.batches.cancel(batch.id)).cancelling_at);
  const ended = await inState(openai, batch);
  t.like(ended, { status: 'cancelled', request_counts: { total: 60, completed: 10, failed: 0 } });
  const { output, errors, ids } = await answersOf(openai, ended);
  t.deepEqual([output.length, errors.length, new Set(ids).size], [10, 50, 60]);
  t.deepEqual(
    [...new Set(errors.map(({ error, response }) => `${error?.code} ${response}`))],
    ['batch_cancelled null'],
  );
  t.is((await openai.batches.cancel(batch.id)).status, 'cancelled');
  t.like(await client.run(batch.id), { status: 'cancelled', counts: { cancelled: 50 } });
});

test('a line whose job was cancelled by itself has failed', async (t) => {
  const { openai, held, client } = await openAiHere(t);
  const batch = await begun(openai, lineOf('a') + lineOf('b', { model: 'held/m' }));
  const { assignment } = await held.next();
  await client.cancel(assignment.job_id);
  const ended = await inState(openai, batch);
  t.like(ended, { status: 'completed', request_counts: { total: 2, completed: 1, failed: 1 } });
  t.like((await answersOf(openai, ended)).errors, [
    { custom_id: 'b', response: null, error: { code: 'job_cancelled' } },
  ]);
});

test('a batch is cancelled with its run, and one that has ended cannot be', async (t) => {
  const { openai, held, client } = await openAiHere(t);
  const first = await begun(
    openai,
    linesOf(3, () => ({ model: 'held/m' })),
  );
  await held.next();
  await client.cancelRun(first.id);
  const cancelled = await inState(openai, first);
  t.like(cancelled, { status: 'cancelled' });
  t.is((await answersOf(openai, cancelled)).ids.length, 3);
  const second = await inState(openai, await begun(openai, linesOf(1)));
  const refused = await t.throwsAsync(openai.batches.cancel(second.id), { instanceOf: APIError });
  t.like(refused, { status: 409, code: 'invalid_batch_state' });
  t.is(refused?.headers?.get('x-should-retry'), 'false');
});

test('the lines so far can be read while a batch runs; they do not change after it', async (t) => {
  const { openai, held, url, client } = await openAiHere(t);
  const batch = await begun(
    openai,
    lineOf('quick') + lineOf('bad', { echo_fail: 'invalid_request' }) + lineOf('slow', { model: 'held/m' }),
  );
  const slow = await held.next();
  const soFar = async (which: string) => {
    const response = await call(url, `/batches/${batch.id}/${which}`);
    return { incomplete: response.headers.get('x-incomplete'), lines: parsed(await response.text()) };
  };
  const ids = (lines: { custom_id: string }[]) => lines.map((line) => line.custom_id);
  let output = await soFar('output');
  while (output.lines.length === 0) output = await soFar('output');
  t.deepEqual([output.incomplete, ids(output.lines)], ['true', ['quick']]);
  t.deepEqual(ids((await soFar('errors')).lines), ['bad']);
  slow.end(answer('done'));
  const ended = await inState(openai, batch);
  t.deepEqual(ids((await soFar('output')).lines), ['quick', 'slow']);
  t.is((await soFar('output')).incomplete, 'false');
  const before = await textOf(openai, ended.error_file_id);
  await client.retryRun(batch.id);
  t.is(await textOf(openai, ended.error_file_id), before);
  t.deepEqual((await openai.batches.retrieve(batch.id)).request_counts, ended.request_counts);
});

test('the lines that failed can be sent again as a batch of their own', async (t) => {
  const { openai, url } = await openAiHere(t);
  const first = await inState(
    openai,
    await begun(openai, lineOf('good') + lineOf('bad', { echo_fail: 'invalid_request' }), {
      metadata: { team: 'a' },
    }),
  );
  const response = await call(url, `/batches/${first.id}/retry`, { method: 'POST' });
  t.is(response.status, 200);
  const again = (await response.json()) as typeof first;
  t.not(again.id, first.id);
  t.deepEqual(again.metadata, { team: 'a', retry_of: first.id });
  const ended = await inState(openai, again);
  t.deepEqual((await answersOf(openai, ended)).ids, ['bad']);
  t.is((await call(url, `/batches/${first.id}/retry`, { method: 'POST' })).status, 200);
  const whole = await inState(openai, await begun(openai, linesOf(1)));
  t.is((await call(url, `/batches/${whole.id}/retry`, { method: 'POST' })).status, 409);
});

test('requests may stand in the request itself, and models and windows may differ', async (t) => {
  const { openai, url, held } = await openAiHere(t);
  const requests = [
    { custom_id: 'a', body: { model: 'echo', messages: [{ role: 'user', content: 'Hi' }] } },
    { custom_id: 'b', body: { model: 'held/m', messages: [{ role: 'user', content: 'Hi' }] } },
  ];
  const body = JSON.stringify({ requests, endpoint: '/v1/chat/completions', completion_window: '90m' });
  const response = await call(url, '/batches', { method: 'POST', body });
  const batch = (await response.json()) as Awaited<ReturnType<typeof begun>>;
  t.is(batch.expires_at, batch.created_at + 5_400);
  (await held.next()).end(answer('done'));
  const ended = await inState(openai, batch);
  const { output } = await answersOf(openai, ended);
  t.deepEqual(
    output.map((line) => line.response?.body.model),
    ['echo/echo', 'held/m'],
  );
  t.is(parsed(await textOf(openai, ended.input_file_id)).length, 2);
});

test('the same idempotency key makes one batch, and refuses another request', async (t) => {
  const { openai } = await openAiHere(t);
  const id = await uploaded(openai, linesOf(3));
  const body = { input_file_id: id, endpoint: '/v1/chat/completions', completion_window: '24h' } as const;
  const headers = { 'Idempotency-Key': 'nightly' };
  const [first, second] = await Promise.all([
    openai.batches.create(body, { headers }),
    openai.batches.create(body, { headers }),
  ]);
  t.is(first.id, second.id);
  const refused = await t.throwsAsync(openai.batches.create({ ...body, metadata: { a: 'b' } }, { headers }), {
    instanceOf: APIError,
  });
  t.like(refused, { status: 409, code: 'idempotency_conflict' });
  t.is((await openai.batches.list()).data.length, 1);
  await inState(openai, first);
  await openai.files.delete(id);
  t.is((await openai.batches.create(body, { headers })).id, first.id, 'its file is not needed any more');
});

test('the lines of a file that is gone are not found', async (t) => {
  const { openai, url } = await openAiHere(t);
  const { id, output_file_id } = await inState(openai, await begun(openai, linesOf(2)));
  await openai.files.delete(String(output_file_id));
  const headers = { authorization: `Bearer ${adminKey}` };
  for (const method of ['GET', 'HEAD']) {
    const response = await fetch(`${url}/v1/batches/${id}/output`, { method, headers });
    t.is(response.status, 404);
  }
  t.is((await fetch(`${url}/v1/batches/${id}/errors`, { headers })).status, 200);
});

test('a batch that is cancelled before its file was read can be sent again, once for each key', async (t) => {
  const { openai } = await openAiHere(t);
  const metadata = Object.fromEntries(Array.from({ length: 16 }, (_, n) => [`m${n}`, '']));
  const batch = await begun(openai, linesOf(2_000), { metadata });
  const cancelled = await Promise.all([1, 2, 3].map(() => openai.batches.cancel(batch.id)));
  t.true(cancelled.every(({ status }) => status === 'cancelling' || status === 'cancelled'));
  const ended = await inState(openai, batch);
  const again = () =>
    openai.post<Batch>(`/batches/${batch.id}/retry`, { headers: { 'Idempotency-Key': 'again' } });
  const [one, other] = await Promise.all([again(), again()]);
  t.is(one.id, other.id);
  t.deepEqual(one.metadata, metadata);
  const { request_counts: counts } = await inState(openai, one);
  t.is(counts?.completed, 2_000 - (ended.request_counts?.completed ?? 0));
});

test('a key sees its own batches and files alone; an operator sees all', async (t) => {
  const { openai, client, url } = await openAiHere(t);
  const keyOf = async (role: 'client' | 'viewer') => (await client.createKey({ role, name: role })).key;
  const [own, other, viewer] = [
    clientOf(url, await keyOf('client')),
    clientOf(url, await keyOf('client')),
    clientOf(url, await keyOf('viewer')),
  ];
  const batch = await inState(own, await begun(own, linesOf(2)));
  for (const asked of [
    other.batches.retrieve(batch.id),
    other.batches.cancel(batch.id),
    other.files.content(batch.output_file_id ?? ''),
    other.batches.create({
      input_file_id: batch.input_file_id,
      endpoint: '/v1/chat/completions',
      completion_window: '24h',
    }),
  ])
    t.is((await t.throwsAsync(asked, { instanceOf: APIError }))?.status, 404);
  t.deepEqual((await other.batches.list()).data, []);
  t.is((await openai.batches.retrieve(batch.id)).id, batch.id);
  t.is((await viewer.batches.list()).data.length, 1);
  t.is((await t.throwsAsync(viewer.batches.cancel(batch.id), { instanceOf: APIError }))?.status, 403);
});

test('batches are listed newest first, in pages', async (t) => {
  const { openai, url } = await openAiHere(t);
  const made: string[] = [];
  for (let count = 0; count < 5; count += 1) made.unshift((await begun(openai, linesOf(1))).id);
  const seen: string[] = [];
  for await (const batch of openai.batches.list({ limit: 2 })) seen.push(batch.id);
  t.deepEqual(seen, made);
  const page = await openai.batches.list({ limit: 2 });
  t.true(page.has_more);
  const list = (await (await call(url, '/batches?limit=2')).json()) as object;
  t.like(list, { object: 'list', first_id: made[0], last_id: made[1], has_more: true });
});

test('a batch larger than the queue has room for goes in by parts, and leaves room for other jobs of its key', async (t) => {
  const here = await openAiHere(t, {
    config: { jobs: { max_pending: 60 }, http: { shares: { pending: 0.5 } } },
  });
  const key = (await here.client.createKey({ role: 'client', name: 'app' })).key;
  const own = clientOf(here.url, key);
  const batch = await begun(own, linesOf(400));
  const ended = await inState(own, batch);
  t.like(ended, { status: 'completed', request_counts: { total: 400, completed: 400 } });
  t.is(new Set((await answersOf(own, ended)).ids).size, 400);
});

test('a limit pauses a batch, which says why, and goes on when its run is resumed', async (t) => {
  const { openai, client } = await openAiHere(t);
  const text = linesOf(300, () => ({ echo_fail: 'invalid_request' }));
  const batch = await begun(openai, text, { max_failures: 3, max_cost_usd: 5 });
  const facts = async () => (await openai.batches.retrieve(batch.id)) as unknown as { svc: Facts };
  interface Facts {
    run: string;
    paused: { reason: string } | null;
    max_cost_usd: number;
    pending: number;
  }
  const { svc } = await until('it is paused', async () => {
    const one = await facts();
    return one.svc.paused === null ? null : one;
  });
  t.like(svc, { run: batch.id, paused: { reason: 'max_failures' }, max_cost_usd: 5 });
  t.true(svc.pending > 0);
  t.is((await openai.batches.retrieve(batch.id)).status, 'in_progress');
  await client.resumeRun(batch.id, { max_failures: null });
  const ended = await inState(openai, batch);
  t.like(ended, { status: 'completed', request_counts: { total: 300, completed: 0, failed: 300 } });
});
