import { brotliCompressSync, gzipSync } from 'node:zlib';
import type { ExecutionContext } from 'ava';
import test from 'ava';
import { routes } from '../../src/http/app.ts';
import { environmentKey, type Reply, setupApi } from '../support/api.ts';
import { testConfig } from '../support/config.ts';

function isProblem(t: ExecutionContext, reply: Reply, status: number, code: string): void {
  t.is(reply.status, status, reply.text);
  t.regex(reply.headers.get('content-type') ?? '', /^application\/problem\+json/);
  t.like(reply.json, { status, code });
  t.truthy(reply.json.title);
  t.truthy(reply.json.detail);
  t.is(reply.json.request_id, reply.headers.get('x-request-id'));
}

const job = { prompt: 'x', provider: 'echo' };

test('every answer carries a request id, the caller’s own when it is a plain word', async (t) => {
  const { api } = await setupApi(t);
  t.truthy((await api('GET', '/health')).headers.get('x-request-id'));
  t.is(
    (await api('GET', '/api/jobs', undefined, { 'x-request-id': 'mine-1' })).headers.get('x-request-id'),
    'mine-1',
  );
  const odd = await api('GET', '/api/jobs', undefined, { 'x-request-id': 'a b<script>' });
  t.not(odd.headers.get('x-request-id'), 'a b<script>');
});

test('a missing, malformed or wrong key is 401 on every route, known or not', async (t) => {
  const { api } = await setupApi(t);
  for (const path of ['/api/jobs', '/api/workers/x', '/api/nothing', '/metrics']) {
    for (const authorization of ['', 'Bearer', 'Basic abc', 'Bearer wrong', 'Bearer svc_admin_0_0']) {
      const reply = await api('GET', path, undefined, { authorization });
      isProblem(t, reply, 401, 'authentication_failed');
      t.regex(String(reply.json.detail), /^Authentication failed/);
      t.is(reply.headers.get('www-authenticate'), 'Bearer');
    }
  }
});

test('a key is taken from its header alone: not from a query, a cookie, a body or another header', async (t) => {
  const { api, keys } = await setupApi(t);
  const none = { authorization: '' };
  for (const name of ['key', 'api_key', 'access_token', 'token', 'ticket', 'authorization'])
    isProblem(
      t,
      await api('GET', `/api/jobs?${name}=${keys.admin}`, undefined, none),
      401,
      'authentication_failed',
    );
  for (const header of ['x-api-key', 'api-key', 'proxy-authorization'])
    isProblem(
      t,
      await api('GET', '/api/jobs', undefined, { ...none, [header]: keys.admin }),
      401,
      'authentication_failed',
    );
  isProblem(
    t,
    await api('GET', '/api/jobs', undefined, { ...none, cookie: `key=${keys.admin}` }),
    401,
    'authentication_failed',
  );
  const body = { prompt: 'x', provider: 'echo', key: keys.admin, authorization: `Bearer ${keys.admin}` };
  isProblem(t, await api('POST', '/api/jobs', body, none), 401, 'authentication_failed');
  t.is((await api('GET', '/api/jobs', undefined, { authorization: `Bearer ${keys.admin}` })).status, 200);
});

test('what is not there is 404, what is not offered 405 with Allow', async (t) => {
  const { api } = await setupApi(t);
  isProblem(t, await api('GET', '/api/jobs/nope'), 404, 'job_not_found');
  isProblem(t, await api('POST', '/api/workers/nope/pause'), 404, 'worker_not_found');
  isProblem(t, await api('GET', '/api/nothing'), 404, 'not_found');
  isProblem(t, await api('GET', '/api/jobs/%E0%A4%A'), 404, 'job_not_found');
  const reply = await api('DELETE', '/api/jobs');
  isProblem(t, reply, 405, 'method_not_allowed');
  const allow = (reply.headers.get('allow') ?? '').split(', ');
  t.deepEqual([...allow].sort(), ['GET', 'HEAD', 'POST']);
});

test('a slash at the end changes nothing, the case of a path does, and spaces before a key do not', async (t) => {
  const { url } = await setupApi(t);
  // Not through `api`: the document names none of these paths.
  const statusOf = async (path: string, authorization?: string): Promise<number> =>
    (await fetch(url + path, authorization === undefined ? {} : { headers: { authorization } })).status;
  t.is(await statusOf('/health/'), 200);
  t.is(await statusOf('/health/x'), 401);
  const bearer = `Bearer ${environmentKey}`;
  t.is(await statusOf('/api/jobs/', bearer), 200);
  for (const path of ['/API/jobs', '/api/Jobs', '/Metrics']) t.is(await statusOf(path, bearer), 404, path);
  // RFC 9110, 11.4: one or more spaces part the scheme from what it takes.
  t.is(await statusOf('/api/jobs', `bearer   ${environmentKey}`), 200);
});

test('a bad dispatch names every field at fault and leaves no trace', async (t) => {
  const { api } = await setupApi(t);
  const cases: [unknown, string][] = [
    [{}, 'prompt'],
    [{ provider: 'echo', prompt: '' }, 'prompt'],
    [{ ...job, prompt: 5 }, 'prompt'],
    [{ ...job, messages: [{ role: 'user', content: 'x' }] }, 'prompt'],
    [{ provider: 'echo', messages: [] }, 'messages'],
    [{ provider: 'echo', messages: [{ role: 5, content: 'x' }] }, 'messages[0].role'],
    [{ ...job, tags: 'a' }, 'tags'],
    [{ ...job, tags: ['a', 1] }, 'tags[1]'],
    [{ ...job, tags: ['a', 'a'] }, 'tags'],
    [{ ...job, priority: 'nope' }, 'priority'],
    [{ ...job, promt: 'y' }, 'promt'],
    [{ ...job, provider: 7 }, 'provider'],
    [{ ...job, provider: null }, 'provider'],
    [{ ...job, params: [] }, 'params'],
    [{ ...job, metadata: { a: 1 } }, 'metadata.a'],
    [{ ...job, timeout_seconds: -1 }, 'timeout_seconds'],
    [{ ...job, timeout_seconds: '5' }, 'timeout_seconds'],
    [{ ...job, not_before: 'tomorrow' }, 'not_before'],
    [{ prompt: 'x' }, 'provider'],
    // The parser itself refuses a poisoned object, so no field is named.
    ['{"prompt":"x","provider":"echo","__proto__":{"a":1}}', ''],
  ];
  for (const [body, field] of cases) {
    const reply = await api('POST', '/api/jobs', body);
    isProblem(t, reply, 400, 'invalid_request');
    t.true(
      reply.json.errors?.some((error) => error.field === field),
      `${JSON.stringify(body)} → ${reply.text}`,
    );
  }
  const empty = await api('POST', '/api/jobs', { ...job, tags: [''] });
  t.deepEqual(empty.json.errors, [{ field: 'tags[0]', message: 'must not be empty' }]);
  const several = await api('POST', '/api/jobs', { prompt: 5, tags: 'x', nonsense: true });
  t.deepEqual(several.json.errors?.map(({ field }) => field).sort(), ['nonsense', 'prompt', 'tags']);
  t.regex(
    (await api('POST', '/api/jobs', { ...job, priority: 'nope' })).text,
    /critical, high, normal, low, background/,
  );
  t.is((await api('GET', '/api/jobs')).json.total, 0);
});

test('of a list that is too long only its length is told, and of many faults a hundred', async (t) => {
  const { api } = await setupApi(t);
  const many = Array(40_000).fill(1);
  for (const [path, body, field] of [
    ['/api/jobs', { ...job, tags: many }, 'tags'],
    ['/api/jobs', { provider: 'echo', messages: many }, 'messages'],
    ['/api/jobs/cancel', { ids: many }, 'ids'],
    ['/api/jobs/retry', { filter: { tag: many } }, 'filter.tag'],
    ['/api/jobs/retry', { filter: { ...many } }, 'filter'],
    ['/api/jobs', { ...job, ...many }, ''],
  ] as const) {
    const reply = await api('POST', path, body);
    isProblem(t, reply, 400, 'invalid_request');
    const errors = reply.json.errors as { field: string; message: string }[];
    t.is(errors.length, 1, `${path} ${field}`);
    t.is(errors[0]?.field, field);
    t.regex(errors[0]?.message ?? '', /^must have at most \d+ (items|members)$/);
  }
  const wrong = await api('POST', '/api/jobs', { provider: 'echo', messages: Array(10_000).fill(1) });
  isProblem(t, wrong, 400, 'invalid_request');
  t.is((wrong.json.errors as unknown[]).length, 100);
});

const members = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, 1]));

test('params and metadata have a bound on their members, and every body has one before it is parsed', async (t) => {
  const { api } = await setupApi(t);
  const faultsOf = async (fields: object, path = '/api/jobs') => {
    const reply = await api('POST', path, { ...job, ...fields });
    isProblem(t, reply, 400, 'invalid_request');
    return (reply.json.errors as { field: string; message: string }[]).map(
      ({ field, message }) => `${field} ${message}`,
    );
  };
  const deep = { a: members(10_000), b: [{ c: members(9_999) }] };
  for (const path of ['/api/jobs', '/api/route/explain']) {
    const tooMany = ['params must have at most 20000 members in all its levels'];
    t.deepEqual(await faultsOf({ params: members(20_001) }, path), tooMany);
    t.deepEqual(await faultsOf({ params: { ...deep, d: 1 } }, path), tooMany);
    t.deepEqual(await faultsOf({ metadata: members(101) }, path), ['metadata must have at most 100 entries']);
    t.deepEqual(await faultsOf({ params: members(60_000) }, path), [
      ' The body has more than 50000 members in all its levels',
    ]);
    t.deepEqual(await faultsOf({ params: { a: Array(100_000).fill(0) } }, path), [
      ' The body has more than 100000 values in all its levels',
    ]);
  }
  t.is((await api('POST', '/api/jobs', { ...job, params: members(20_000) })).status, 201);
  t.is(
    (await api('POST', '/api/jobs', { ...job, params: { a: deep.a, b: [{ c: members(9_997) }] } })).status,
    201,
  );
});

test('a body that is no JSON object is 400, of another type 415, too large 413', async (t) => {
  const { api } = await setupApi(t, {
    http: { ...testConfig().http, maxBodyBytes: 1000, maxBatchBytes: 2000 },
  });
  for (const body of ['{', '[]', '"x"', 'null', '5', '']) {
    isProblem(t, await api('POST', '/api/jobs', body), 400, 'invalid_request');
  }
  isProblem(t, await api('POST', '/api/jobs'), 400, 'invalid_request');
  isProblem(
    t,
    await api('POST', '/api/jobs', 'x', { 'content-type': 'text/plain' }),
    415,
    'unsupported_media_type',
  );
  isProblem(
    t,
    await api('POST', '/api/jobs', { ...job, prompt: 'x'.repeat(1000) }),
    413,
    'payload_too_large',
  );
  t.is((await api('GET', '/api/jobs')).json.total, 0);
});

test('a body that is not UTF-8 is refused, compressed or not, and U+FFFD itself is a character', async (t) => {
  const { url, api } = await setupApi(t);
  const send = async (body: Buffer, coding?: 'gzip' | 'br'): Promise<Reply> => {
    const coded = coding === 'gzip' ? gzipSync(body) : coding === 'br' ? brotliCompressSync(body) : body;
    const response = await fetch(`${url}/api/jobs`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${environmentKey}`,
        'content-type': 'application/json',
        ...(coding === undefined ? {} : { 'content-encoding': coding }),
      },
      body: coded,
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, json: JSON.parse(text) };
  };
  const latin1 = Buffer.from(JSON.stringify({ ...job, prompt: 'Gr\u00fc\u00dfe' }), 'latin1');
  // Four bytes of which the last is missing: replaced, they are as long as they were.
  const cut = Buffer.from(JSON.stringify({ ...job, prompt: '😀' }));
  const beginsAt = cut.indexOf('😀');
  const truncated = Buffer.concat([cut.subarray(0, beginsAt + 3), cut.subarray(beginsAt + 4)]);
  const fine = { ...job, prompt: 'a \ufffd of their own' };
  for (const coding of [undefined, 'gzip', 'br'] as const) {
    for (const body of [latin1, truncated]) {
      const reply = await send(body, coding);
      isProblem(t, reply, 400, 'invalid_request');
      t.is(reply.json.detail, 'The body is not UTF-8');
    }
    const reply = await send(Buffer.from(JSON.stringify(fine)), coding);
    t.is(reply.status, 201);
    t.is(reply.json.prompt, fine.prompt);
  }
  t.is((await api('GET', '/api/jobs')).json.total, 3);
});

test('a query is checked whole: unknown names, wrong values and repetitions', async (t) => {
  const { api } = await setupApi(t);
  for (const query of [
    'limit=0',
    'limit=-1',
    'limit=abc',
    'limit=1001',
    'limit=1.5',
    'limit=',
    'offset=-1',
    'status=nope',
    'unknown=1',
    'created_after=x',
    'limit=1&limit=2',
    'include=everything',
    'provider=',
  ]) {
    isProblem(t, await api('GET', `/api/jobs?${query}`), 400, 'invalid_request');
  }
  const both = await api('GET', '/api/jobs?limit=0&nope=1');
  t.deepEqual(
    both.json.errors?.map(({ field }) => field),
    ['limit', 'nope'],
  );
  isProblem(t, await api('POST', '/api/jobs/x/cancel?now=1'), 400, 'invalid_request');
});

test('every route refuses a parameter that it does not know', async (t) => {
  const { api } = await setupApi(t);
  for (const { method, path, body } of routes) {
    const where = `${path.replaceAll(/:\w+/g, 'none')}?nonsense=1`;
    const reply = await api(method, where, body === undefined ? undefined : {});
    isProblem(t, reply, 400, 'invalid_request');
    t.true(
      reply.json.errors?.some(({ field }) => field === 'nonsense'),
      `${method} ${path}`,
    );
  }
});

test('an event that the state refuses is 409 with the job’s status', async (t) => {
  const { api } = await setupApi(t);
  const { id } = (await api('POST', '/api/jobs', job)).json;
  isProblem(t, await api('POST', `/api/jobs/${id}/retry`), 409, 'invalid_transition');
  t.is((await api('POST', `/api/jobs/${id}/cancel`)).status, 200);
  const again = await api('POST', `/api/jobs/${id}/cancel`);
  isProblem(t, again, 409, 'invalid_transition');
  t.is(again.json.job_status, 'cancelled');
});

test('a full queue is 429 and a draining coordinator 503, both with Retry-After', async (t) => {
  const { api, coordinator } = await setupApi(t, { jobs: { maxPending: 1 } });
  t.is((await api('POST', '/api/jobs', job)).status, 201);
  const full = await api('POST', '/api/jobs', job);
  isProblem(t, full, 429, 'queue_full');
  t.truthy(full.headers.get('retry-after'));
  await coordinator.drain(0);
  const draining = await api('POST', '/api/jobs', job);
  isProblem(t, draining, 503, 'draining');
  t.truthy(draining.headers.get('retry-after'));
  t.is((await api('GET', '/health')).json.status, 'draining');
  t.is((await api('GET', '/health?ready=1')).status, 503);
});

test('a bug is a bare 500: neither its text nor its stack gets out', async (t) => {
  const { api, coordinator } = await setupApi(t);
  coordinator.jobs = () => Promise.reject(new Error('secret detail'));
  const reply = await api('GET', '/api/jobs');
  isProblem(t, reply, 500, 'internal_error');
  t.notRegex(reply.text, /secret|at /);
});
