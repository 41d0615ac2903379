import { connect } from 'node:net';
import test from 'ava';
import { FailingFiles } from '../store/failingFiles.ts';
import { environmentKey, setupApi } from '../support/api.ts';
import { until } from '../support/process.ts';

const body = {
  prompt: 'Summarise',
  input: 'text',
  provider: 'echo',
  model: 'm',
  priority: 'high',
  tier: 'gold',
  tags: ['a'],
};

test('dispatch answers 201 with Location and the stored job', async (t) => {
  const { api } = await setupApi(t);
  const reply = await api('POST', '/api/jobs', {
    ...body,
    metadata: { run: '7' },
    params: { temperature: 0 },
  });
  t.is(reply.status, 201);
  t.is(reply.headers.get('location'), `/api/jobs/${reply.json.id}`);
  t.like(reply.json, { ...body, status: 'pending', metadata: { run: '7' }, result: null, error: null });
  t.regex(String(reply.json.created_at), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  t.deepEqual((await api('GET', `/api/jobs/${reply.json.id}`)).json.prompt, 'Summarise');
});

test('a job in chat form goes to the worker as it came', async (t) => {
  const { api, worker } = await setupApi(t);
  const messages = [
    { role: 'system', content: 'Be brief' },
    { role: 'user', content: [{ type: 'text', text: 'Hello' }] },
  ];
  await api('POST', '/api/jobs', { messages, provider: 'echo' });
  t.like(await (await worker()).job(), { prompt: null, messages });
});

test('a message of an assistant that only called a tool needs no content; any other does', async (t) => {
  const { api } = await setupApi(t);
  const call = { id: 'c1', type: 'function', function: { name: 'weather', arguments: '{}' } };
  const messages = [
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: 'c1', content: 'Sunny' },
  ];
  t.like(await api('POST', '/api/jobs', { messages, provider: 'echo' }), { status: 201 });
  for (const message of [{ role: 'user' }, { role: 'user', content: null }]) {
    t.like(await api('POST', '/api/jobs', { messages: [message], provider: 'echo' }), { status: 400 });
  }
});

test('?wait= answers when the job has ended', async (t) => {
  const { api, worker } = await setupApi(t);
  const hand = await worker();
  const waiting = api('POST', '/api/jobs?wait=30', body);
  await hand.complete(await hand.job(), 'done');
  t.like((await waiting).json, { status: 'completed', result: { output: 'done' } });
});

test('?wait= ends with a client that has gone while its job was made durable', async (t) => {
  const files = new FailingFiles();
  const { api, port } = await setupApi(t, {}, { files });
  const gate = Promise.withResolvers<void>();
  files.gate = gate.promise;
  const syncs = files.counts.get('sync') ?? 0;
  const client = connect(port, '127.0.0.1');
  const text = JSON.stringify(body);
  const head = [
    'POST /api/jobs?wait=300 HTTP/1.1',
    'Host: 127.0.0.1',
    `Authorization: Bearer ${environmentKey}`,
    'Content-Type: application/json',
    `Content-Length: ${text.length}`,
  ];
  client.write(`${head.join('\r\n')}\r\n\r\n${text}`);
  await until('its job is being made durable', () => (files.counts.get('sync') ?? 0) > syncs);
  client.resetAndDestroy();
  // An answer to somebody else: by then the server has seen the end of that connection.
  await api('GET', '/health');
  gate.resolve();
  const ended = /^http_server_request_duration_seconds_count\{.*"POST",http_route="\/api\/jobs".*\} 1$/m;
  await until('its request ends', async () => ended.test((await api('GET', '/metrics')).text));
  t.is((await api('GET', '/api/jobs')).json.total, 1);
});

test('?wait= answers the job as it is when the time is over', async (t) => {
  const { api, clock } = await setupApi(t);
  const { id } = (await api('POST', '/api/jobs', body)).json;
  const waiting = api('GET', `/api/jobs/${id}?wait=2`);
  // The request sets its timer when it arrives; turn the clock until it has.
  let isDone = false;
  waiting.finally(() => {
    isDone = true;
  });
  while (!isDone) {
    clock.advance(1_000);
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  t.is((await waiting).json.status, 'pending');
  t.is((await api('GET', `/api/jobs/${id}?wait=301`)).status, 400);
});

test('lists leave out input and result unless they are asked for', async (t) => {
  const { api } = await setupApi(t);
  await api('POST', '/api/jobs', body);
  const plain = (await api('GET', '/api/jobs')).json.jobs as Record<string, unknown>[];
  t.false('input' in (plain[0] ?? {}) || 'result' in (plain[0] ?? {}));
  const full = (await api('GET', '/api/jobs?include=input,result')).json.jobs as Record<string, unknown>[];
  t.like(full[0], { input: 'text', result: null });
});

test('lists filter, page, and count what was filtered', async (t) => {
  const { api } = await setupApi(t);
  const ids: unknown[] = [];
  for (let count = 0; count < 5; count += 1) {
    const tags = count % 2 === 0 ? ['even'] : ['odd', 'x'];
    ids.unshift((await api('POST', '/api/jobs', { ...body, provider: 'listed', tags })).json.id);
  }
  await api('POST', '/api/jobs', { ...body, prompt: 'A needle in it', provider: 'other' });
  const list = async (query: string) => {
    const { jobs, total } = (await api('GET', `/api/jobs?${query}`)).json;
    return { total, ids: (jobs as { id: string }[]).map(({ id }) => id) };
  };
  t.deepEqual(await list('provider=listed&limit=2'), { total: 5, ids: ids.slice(0, 2) });
  t.deepEqual(await list('provider=listed&status=pending&limit=2&offset=4'), { total: 5, ids: ids.slice(4) });
  t.is((await list('tag=odd&tag=x')).total, 2);
  t.is((await list('tag=odd&tag=even')).total, 0);
  t.is((await list('q=NEEDLE')).total, 1);
  t.is((await list('status=failed')).total, 0);
  const later = new Date(Date.now() + 3_600_000).toISOString();
  const delayed = (await api('POST', '/api/jobs', { ...body, provider: 'listed', not_before: later })).json
    .id;
  t.deepEqual(await list('state=pending.delayed'), { total: 1, ids: [delayed] });
  t.is((await list('state=pending.ready,pending.delayed&provider=listed')).total, 6);
  t.is((await list('state=pending.delayed&status=running')).total, 0);
  t.is((await api('GET', '/api/jobs?state=pending')).status, 400);
  t.is((await list('tier=gold&priority=high&model=m')).total, 7);
});

test('the page and its deep links need no key; the API never answers HTML', async (t) => {
  const { api } = await setupApi(t);
  const headers = { authorization: '', accept: 'text/html' };
  for (const path of ['/', '/jobs/1']) {
    const reply = await api('GET', path, undefined, headers);
    t.is(reply.status, 200);
    t.regex(reply.headers.get('content-type') ?? '', /^text\/html/);
  }
  t.is((await api('GET', '/api/jobs', undefined, headers)).status, 401);
});

test('an id may be written in capitals, wherever it is asked by', async (t) => {
  const { api, worker } = await setupApi(t);
  const hand = await worker();
  const id = String((await api('POST', '/api/jobs', { ...body, priority: 'low' })).json.id);
  await hand.complete(await hand.job(), 'done');
  const capitals = id.toUpperCase();
  const workers = (await api('GET', '/api/workers')).json.workers as { id: string }[];
  const workerId = String(workers[0]?.id).toUpperCase();
  t.is((await api('GET', `/api/jobs/${capitals}`)).json.id, id);
  t.is((await api('GET', `/api/jobs/${capitals}/history`)).json.job_id, id);
  t.is((await api('POST', `/api/jobs/${capitals}/cancel`)).status, 409);
  t.is((await api('GET', `/api/workers/${workerId}`)).status, 200);
  t.is((await api('GET', `/api/jobs?worker=${workerId}&newest=${capitals}`)).json.total, 1);
  const refused = (await api('POST', '/api/jobs/cancel', { ids: [capitals] })).json.refused as object[];
  t.like(refused[0], { id, code: 'invalid_transition' });
});

test('what GET answers can be sent again: null is not given', async (t) => {
  const { api } = await setupApi(t);
  const names =
    'prompt input messages provider model priority tier tags params metadata timeout_seconds not_before';
  for (const sent of [
    { prompt: 'x', provider: 'echo' },
    { messages: [{ role: 'user', content: null, tool_calls: [] }], provider: 'echo', tier: 'gold' },
  ]) {
    const { id } = (await api('POST', '/api/jobs', sent)).json;
    const { json } = await api('GET', `/api/jobs/${id}`);
    const again = Object.fromEntries(names.split(' ').map((name) => [name, json[name]]));
    for (const body of [again, { ...again, tags: null, params: null, metadata: null, priority: null }]) {
      const copy = await api('POST', '/api/jobs', body);
      t.is(copy.status, 201);
      for (const name of names.split(' ')) t.deepEqual(copy.json[name], json[name], name);
      t.is((await api('POST', '/api/jobs/batch', { jobs: [body] })).status, 201);
    }
  }
  t.is((await api('POST', '/api/jobs', { prompt: null, provider: 'echo' })).status, 400);
  t.is((await api('POST', '/api/jobs', { prompt: 'x', provider: 'echo', promt: null })).status, 400);
});
