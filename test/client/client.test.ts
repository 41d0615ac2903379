import test from 'ava';
import { ApiError, createClient, Unreachable } from '../../src/client/client.ts';
import { completedJob, deadUrl, jobId, problem, serve, wireJob, wireWorker } from './server.ts';

const apiKey = '0123456789abcdef';

test('each function is its route, with the key and the body', async (t) => {
  const { url, seen } = await serve(t, ({ path }) => ({
    json: { ...(path.includes('worker') ? wireWorker() : wireJob()), workers: [], total: 0 },
  }));
  const client = createClient({ baseUrl: `${url}/`, apiKey });
  t.is(client.baseUrl, url);

  await client.health();
  await client.dispatch({ prompt: 'hi', tags: ['a'] }, { idempotencyKey: 'once', waitSeconds: 5 });
  await client.dispatchBatch([{ prompt: 'one' }, { prompt: 'two' }]);
  await client.job(jobId);
  await client.job('a/b', { waitSeconds: 1.9 });
  await client.cancel(jobId);
  await client.retry(jobId);
  await client.workers();
  await client.worker('w 1');
  await client.pauseWorker('w-1');
  await client.resumeWorker('w-1');
  await client.costSummary();
  await client.costBreakdown({ period: 'week', tz: 'Europe/Berlin', by: 'tag' });

  t.deepEqual(
    seen.map(({ method, path, query }) => `${method} ${path} ${query}`.trim()),
    [
      'GET /health',
      'POST /api/jobs wait=5',
      'POST /api/jobs/batch',
      `GET /api/jobs/${jobId}`,
      'GET /api/jobs/a%2Fb wait=1',
      `POST /api/jobs/${jobId}/cancel`,
      `POST /api/jobs/${jobId}/retry`,
      'GET /api/workers',
      'GET /api/workers/w%201',
      'POST /api/workers/w-1/pause',
      'POST /api/workers/w-1/resume',
      'GET /api/cost/summary',
      'GET /api/cost/breakdown period=week&tz=Europe%2FBerlin&by=tag',
    ],
  );
  t.deepEqual(seen[1]?.body, { prompt: 'hi', tags: ['a'] });
  t.deepEqual(seen[2]?.body, { jobs: [{ prompt: 'one' }, { prompt: 'two' }] });
  t.is(seen[1]?.headers['idempotency-key'], 'once');
  t.is(seen[1]?.headers['content-type'], 'application/json');
  t.true(seen.every(({ headers }) => headers.authorization === `Bearer ${apiKey}`));
});

test('filters become the query of the list', async (t) => {
  const { url, seen } = await serve(t, () => ({ json: { jobs: [], total: 0, limit: 5, offset: 10 } }));
  const client = createClient({ baseUrl: url, apiKey });
  await client.jobs({
    status: 'failed',
    provider: 'echo',
    tags: ['a', 'b'],
    createdAfter: '2026-11-21T00:00:00.000Z',
    q: 'a & b',
    include: ['input', 'result'],
    limit: 5,
    offset: 10,
  });
  t.is(
    seen[0]?.query.toString(),
    'status=failed&provider=echo&q=a+%26+b&limit=5&offset=10&tag=a&tag=b&created_after=2026-11-21T00%3A00%3A00.000Z&include=input%2Cresult',
  );
});

test('without a key none is sent', async (t) => {
  const { url, seen } = await serve(t, () => ({ json: {} }));
  await createClient({ baseUrl: url, apiKey: null }).health();
  t.is(seen[0]?.headers.authorization, undefined);
});

test('a refusal carries everything that its document says', async (t) => {
  const errors = [{ field: 'tags[0]', message: 'must be a string' }];
  const { url } = await serve(t, () =>
    problem(400, 'invalid_request', 'The request is not valid', { errors }),
  );
  const refused = createClient({ baseUrl: url, apiKey }).dispatch({});
  const error = await t.throwsAsync(refused, { instanceOf: ApiError, message: 'The request is not valid' });
  t.like(error, { status: 400, code: 'invalid_request', errors, requestId: 'r-1', jobStatus: null });
});

test('a refusal because of the state names the state, and one because of load when to come back', async (t) => {
  const { url } = await serve(t, ({ path }) =>
    path.endsWith('cancel')
      ? problem(409, 'invalid_transition', 'It has ended', { job_status: 'completed' })
      : { status: 503, json: { code: 'draining', detail: 'Shutting down' }, headers: { 'retry-after': '7' } },
  );
  const client = createClient({ baseUrl: url, apiKey });
  t.like(await t.throwsAsync(client.cancel(jobId), { instanceOf: ApiError }), { jobStatus: 'completed' });
  const draining = { code: 'draining', retryAfterSeconds: 7, requestId: null };
  t.like(await t.throwsAsync(client.retry(jobId), { instanceOf: ApiError }), draining);
});

test('an answer that is not of a coordinator is told as such', async (t) => {
  const { url } = await serve(t, ({ path }) => (response) => {
    response.writeHead(path === '/health' ? 200 : 502, { 'content-type': 'text/html' }).end('<h1>proxy</h1>');
  });
  const client = createClient({ baseUrl: url, apiKey });
  for (const [asked, status] of [[client.health(), 200] as const, [client.job(jobId), 502] as const]) {
    const error = await t.throwsAsync(asked, { instanceOf: ApiError, message: /is a proxy in between/ });
    t.like(error, { status, code: 'unexpected_answer' });
  }
});

test('an address where nobody listens is told, with what to do', async (t) => {
  const baseUrl = await deadUrl();
  const error = await t.throwsAsync(createClient({ baseUrl, apiKey }).health(), { instanceOf: Unreachable });
  t.is(
    error?.message,
    `cannot reach the coordinator at ${baseUrl} (ECONNREFUSED): is the coordinator running? start it with svc coordinator`,
  );
});

test('an address whose certificate is not trusted is told with what to do, which is no start of a coordinator', (t) => {
  const { message } = new Unreachable('https://svc.example', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE');
  t.regex(
    message,
    /^cannot reach the coordinator at https:\/\/svc\.example \(UNABLE_TO_VERIFY_LEAF_SIGNATURE\): /,
  );
  t.regex(message, /NODE_EXTRA_CA_CERTS/);
  t.notRegex(message, /svc coordinator/);
});

test('a coordinator that never answers is unreachable after the timeout', async (t) => {
  const { url } = await serve(t, () => () => {});
  const client = createClient({ baseUrl: url, apiKey, timeoutMs: 50 });
  await t.throwsAsync(client.health(), { instanceOf: Unreachable, message: /no answer within/ });
});

test('an answer that breaks off is no answer', async (t) => {
  const { url } = await serve(t, () => (response) => {
    response.writeHead(200, { 'content-length': '100' });
    response.write('{"id"', () => response.destroy());
  });
  await t.throwsAsync(createClient({ baseUrl: url, apiKey }).job(jobId), { instanceOf: Unreachable });
});

test('a request that is aborted throws the reason of its signal', async (t) => {
  const controller = new AbortController();
  const { url } = await serve(t, () => () => controller.abort(new Error('enough')));
  const asked = createClient({ baseUrl: url, apiKey }).job(jobId, { signal: controller.signal });
  await t.throwsAsync(asked, { message: 'enough' });
});

test('an address that is not http is refused at once', (t) => {
  t.throws(() => createClient({ baseUrl: 'ftp://x', apiKey: null }), { instanceOf: TypeError });
  t.throws(() => createClient({ baseUrl: 'nonsense', apiKey: null }), { instanceOf: TypeError });
});

test('another fetch can stand in its place', async (t) => {
  const fetch: typeof globalThis.fetch = async () => Response.json(completedJob());
  t.is((await createClient({ baseUrl: 'http://nowhere', apiKey, fetch }).job(jobId)).status, 'completed');
});
