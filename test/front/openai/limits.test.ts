import test from 'ava';
import OpenAI from 'openai';
import { StoreUnavailable } from '../../../src/domain/errors.ts';
import { presentError } from '../../../src/front/openai/errors.ts';
import { durationOf } from '../../../src/front/openai/headers.ts';
import { setupApi } from '../../support/api.ts';
import { testConfig } from '../../support/config.ts';
import { answer } from '../../worker/support/setup.ts';
import { clientOf, eventsOf, hello, openAiHere } from './support.ts';

const ask = { model: 'held/m', messages: hello };

test('a full queue is a 429 that the SDK sends again; what made no job may be sent again, nothing else', async (t) => {
  const { openai, post, held, client } = await openAiHere(t, { config: { jobs: { max_pending: 1 } } });
  await client.pauseQueue();
  const first = await post({ ...ask, stream: true });
  const refused = await t.throwsAsync(openai.chat.completions.create(ask), {
    instanceOf: OpenAI.RateLimitError,
  });
  t.like(refused, { code: 'queue_full' });
  t.is((refused as InstanceType<typeof OpenAI.APIError>).headers?.get('x-should-retry'), 'true');
  t.is((refused as InstanceType<typeof OpenAI.APIError>).headers?.get('retry-after'), '10');
  await client.resumeQueue();
  (await held.next()).end(answer('Hello'));
  await first.text();
  t.like(presentError(new StoreUnavailable('disk')), { status: 503, headers: { 'X-Should-Retry': 'true' } });
});

test('a timeout of the client cancels the job, and one of the job is a 504', async (t) => {
  const { openai, held, client } = await openAiHere(t);
  const impatient = openai.withOptions({ timeout: 300 });
  await t.throwsAsync(impatient.chat.completions.create(ask), {
    instanceOf: OpenAI.APIConnectionTimeoutError,
  });
  const { assignment } = await held.next();
  t.like(await client.waitFor(assignment.job_id), { status: 'cancelled' });
  const short = { headers: { 'x-svc-timeout-seconds': '0.2' } };
  t.like(
    await t.throwsAsync(openai.chat.completions.create(ask, short), {
      instanceOf: OpenAI.InternalServerError,
    }),
    {
      status: 504,
      code: 'timeout',
    },
  );
});

test('a key that is taken back ends what it waits for, in the form of OpenAI', async (t) => {
  const { url, held, client } = await openAiHere(t);
  const { key, id } = await client.createKey({ role: 'client', name: 'brief' });
  const brief = clientOf(url, key);
  const whole = brief.chat.completions.create(ask);
  const stream = brief.chat.completions.stream(ask);
  const runs = [await held.next(), await held.next()];
  for (const run of runs) run.context.onText('Hel');
  await new Promise((resolve) => stream.once('content', resolve));
  const refusals = [
    t.throwsAsync(whole, { instanceOf: OpenAI.AuthenticationError }),
    t.throwsAsync(stream.done(), { instanceOf: Error }),
  ];
  await client.revokeKey(id);
  t.like((await Promise.all(refusals))[0], { code: 'invalid_api_key' });
  for (const run of runs) t.like(await client.waitFor(run.assignment.job_id), { status: 'cancelled' });
});

test('who joins a job that runs gets the text so far first', async (t) => {
  const { openai, held } = await openAiHere(t);
  const options = { headers: { 'Idempotency-Key': 'k' } };
  const first = openai.chat.completions.stream(ask, options);
  const run = await held.next();
  run.context.onText('Hel');
  await new Promise((resolve) => first.once('content', resolve));
  const second = openai.chat.completions.stream(ask, options);
  const pieces: string[] = [];
  second.on('content', (piece) => pieces.push(piece));
  await new Promise((resolve) => second.once('content', resolve));
  run.context.onText('lo');
  run.end(answer('Hello'));
  t.is(await first.finalContent(), 'Hello');
  t.is(await second.finalContent(), 'Hello');
  t.is(pieces[0], 'Hel');
  const third = openai.chat.completions.stream(ask, options);
  t.is(await third.finalContent(), 'Hello');
  t.is(held.runs.length, 1);
});

test('a stream whose job waits says its place every ten seconds', async (t) => {
  const { url, clock, keys, coordinator } = await setupApi(t, {
    jobs: { defaultProvider: 'echo' },
  });
  const gone = new AbortController();
  const ask = () =>
    fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${keys.client}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'auto', stream: true, messages: hello }),
      signal: gone.signal,
    });
  // Read too: a response that nobody holds is collected, and its connection closed.
  const ahead = eventsOf(await ask());
  t.is((await ahead.next()).value, ': queued position=1 reason=no_worker');
  const response = await ask();
  const events = eventsOf(response);
  t.is((await events.next()).value, ': queued position=2 reason=no_worker');
  clock.advance(10_000);
  t.is((await events.next()).value, ': queued position=2 reason=no_worker');
  clock.advance(10_000);
  t.is((await events.next()).value, ': queued position=2 reason=no_worker');
  t.is((await ahead.next()).value, ': queued position=1 reason=no_worker');
  gone.abort();
  await coordinator.jobAtEnd(
    response.headers.get('x-svc-job-id') ?? '',
    60_000,
    new AbortController().signal,
  );
  t.pass();
});

test('a key may have its share of pending jobs, another one what is left, and then the queue is full', async (t) => {
  const { url, keys } = await setupApi(t, { jobs: { defaultProvider: 'echo', maxPending: 10 } });
  const gone = new AbortController();
  const ask = (key: string) =>
    fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'auto', stream: true, messages: hello }),
      signal: gone.signal,
    });
  const open: Response[] = [];
  const refusals: unknown[] = [];
  for (const key of [...Array(9).fill(keys.client), ...Array(3).fill(keys.operator)]) {
    const response = await ask(key);
    // One that nobody holds would be closed with the next collection, and its job cancelled.
    open.push(response);
    if (response.status === 200) continue;
    t.is(response.headers.get('x-should-retry'), 'true');
    t.regex(response.headers.get('retry-after') ?? '', /^\d+$/);
    const { error } = (await response.json()) as { error: { code: string; type: string } };
    refusals.push([response.status, error.code, error.type]);
  }
  t.deepEqual(refusals, [
    [429, 'share_exceeded', 'requests'],
    [429, 'queue_full', 'requests'],
  ]);
  t.is(open.length, 12);
  gone.abort();
});

const limited = (perSecond: number) => ({ http: { ...testConfig().http, rateLimitPerKey: perSecond } });

function limitsOf({ headers }: Response): (string | null)[] {
  return ['limit', 'remaining', 'reset'].map((name) => headers.get(`x-ratelimit-${name}-requests`));
}

test('responses say how many requests are left and when all of them are there again, refusals too', async (t) => {
  const { url, keys, clock } = await setupApi(t, limited(2));
  const get = (path: string, key = keys.viewer) =>
    fetch(url + path, { headers: { authorization: `Bearer ${key}` } });
  t.deepEqual(limitsOf(await get('/v1/models')), ['2', '1', '500ms']);
  t.deepEqual(limitsOf(await get('/v1/nothing')), ['2', '0', '1s']);
  const refused = await get('/v1/models');
  t.is(refused.status, 429);
  t.deepEqual(limitsOf(refused), ['2', '0', '1s']);
  t.is(refused.headers.get('x-should-retry'), 'true');
  t.is(refused.headers.get('retry-after'), '1');
  t.deepEqual(limitsOf(await get('/v1/models', keys.client)), ['2', '1', '500ms']);
  clock.advance(500);
  t.deepEqual(limitsOf(await get('/v1/models')), ['2', '0', '1s']);
  clock.advance(60_000);
  const native = await get('/api/stats');
  t.deepEqual([native.status, limitsOf(native)], [200, [null, null, null]]);
  t.deepEqual(limitsOf(await get('/v1/models')), ['2', '0', '1s'], 'a native request counts too');
});

test('below one request a second, one may come at once', async (t) => {
  const { url, keys } = await setupApi(t, limited(0.01));
  const get = () => fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${keys.viewer}` } });
  t.deepEqual(limitsOf(await get()), ['1', '0', '1m40s']);
  t.deepEqual(limitsOf(await get()), ['1', '0', '1m40s']);
});

test('times are written as OpenAI writes them', (t) => {
  t.deepEqual(
    [0, 0.2, 20, 999.5, 1000, 1500, 59_999, 60_000, 360_000, 3_600_000, 5_025_000].map(durationOf),
    ['0ms', '1ms', '20ms', '1s', '1s', '1.5s', '59.999s', '1m0s', '6m0s', '1h0m0s', '1h23m45s'],
  );
});

test('every response has its request id; all but streams say how long they took; a limit only where one is', async (t) => {
  const { url, post, held, client } = await openAiHere(t);
  const { key, id } = await client.createKey({ role: 'client', name: 'brief' });
  const get = (path: string, headers: Record<string, string> = { authorization: `Bearer ${key}` }) =>
    fetch(url + path, { headers: { ...headers, 'x-request-id': 'mine' } });
  const seen = [
    await get('/v1/models'),
    await get('/v1/models/none'),
    await get('/v1/nothing'),
    await get('/v1/models', {}),
    await post({}, { headers: { 'x-request-id': 'mine' } }),
    await post({ model: 'echo' }, { headers: { 'x-request-id': 'mine' } }),
  ];
  t.deepEqual(
    seen.map(({ status }) => status),
    [200, 404, 404, 401, 400, 200],
  );
  const waiting = post(
    { model: 'held/m' },
    { headers: { authorization: `Bearer ${key}`, 'x-request-id': 'mine' } },
  );
  await held.next();
  await client.revokeKey(id);
  seen.push(await waiting);
  t.is(seen.at(-1)?.status, 401);
  for (const response of seen) {
    t.is(response.headers.get('x-request-id'), 'mine');
    t.regex(response.headers.get('openai-processing-ms') ?? '', /^\d+$/);
    t.deepEqual(limitsOf(response), [null, null, null]);
  }
  t.is((await get('/api/stats')).headers.get('openai-processing-ms'), null);
  const stream = await post({ model: 'held/m', stream: true });
  t.is(stream.headers.get('openai-processing-ms'), null);
  t.truthy(stream.headers.get('x-request-id'));
  (await held.next()).end(answer('Hello'));
  await stream.text();
});

test('a stream says what is left of the limit as well', async (t) => {
  const { url, post } = await openAiHere(t, { config: { http: { rate_limit_per_key: 100 } } });
  const stream = await post({ model: 'echo', stream: true });
  t.deepEqual(limitsOf(stream).slice(0, 2), ['100', '99']);
  t.regex(limitsOf(stream)[2] ?? '', /^\d+ms$/);
  await stream.text();
  const { response } = await clientOf(url).models.list().withResponse();
  t.is(response.headers.get('x-ratelimit-limit-requests'), '100');
});

test('a conversation from the store counts as a body of the key that goes on with it', async (t) => {
  const config = { http: { body_memory_bytes: 1024 ** 2, max_body_bytes: 1024 ** 2 } };
  const { client, url } = await openAiHere(t, { config });
  const openai = clientOf(url, (await client.createKey({ name: 'ann', role: 'client' })).key);
  const ask = (input: string, previous: string | null) =>
    openai.responses.create({ model: 'echo', input, previous_response_id: previous });
  const { id } = await ask('x'.repeat(300_000), null);
  const next = await ask('y'.repeat(50_000), id);
  const refused = await t.throwsAsync(ask('z'.repeat(300_000), next.id), { instanceOf: OpenAI.APIError });
  t.deepEqual([refused?.status, refused?.code], [413, 'payload_too_large']);
  t.is((await ask('z', next.id)).status, 'completed');
});
