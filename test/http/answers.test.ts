import test from 'ava';
import { type ApiBundle, environmentKey, setupApi } from '../support/api.ts';
import { HandSender } from '../support/handSender.ts';
import { apiDocument, operations } from '../support/openapi.ts';

type Ask = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
) => Promise<Answer>;
interface Answer {
  status: number;
  headers: Headers;
  json: Record<string, unknown>;
}

/** Every success that the document has: `GET /api/jobs 200`. Of /health its 503 is an answer of its own too. */
const documented = operations.flatMap(({ method, path, operation }) =>
  Object.entries(operation.responses)
    .filter(([status, response]) => Number(status) < 400 || !('$ref' in response))
    .map(([status]) => `${method} ${path} ${status}`),
);

/** `api`, which holds every answer against the document, with a list of what was answered. */
function recording({ api, url }: ApiBundle): { ask: Ask; seen: Set<string> } {
  const seen = new Set<string>();
  const ask: Ask = async (method, path, body, headers) => {
    const reply = await api(method, path, body, headers);
    const { pathname } = new URL(url + path);
    const known = operations.filter((one) => one.method === method && one.pattern.test(pathname));
    const operation = known.find((one) => one.path === pathname) ?? known[0];
    seen.add(`${method} ${operation?.path} ${reply.status}`);
    return reply;
  };
  return { ask, seen };
}

test('every success that the document has is answered, just as it says', async (t) => {
  const sender = new HandSender();
  const bundle = await setupApi(t, {}, { webhookSender: sender });
  const { ask, seen } = recording(bundle);
  await jobs(bundle, ask);
  await runs(bundle, ask);
  await workers(bundle, ask);
  await keysAndSessions(bundle, ask);
  await webhooks(bundle, sender, ask);
  for (const path of [
    '/api/providers',
    '/api/config',
    '/api/cost/summary',
    ...['provider', 'model', 'worker', 'tag', 'tier'].map((by) => `/api/cost/breakdown?by=${by}`),
    '/api/stats',
    '/api/stats/history',
    '/api/machines',
    '/api/machines/job',
    '/api/inspect',
    '/api/audit',
    '/metrics',
    '/api/events',
    '/health?ready=1',
  ])
    await ask('GET', path);
  for (const path of ['/api/worker-config', '/api/openapi.json']) {
    const { headers } = await ask('GET', path);
    await ask('GET', path, undefined, { 'if-none-match': headers.get('etag') ?? '' });
  }
  for (const path of ['/api/providers/echo/reset', '/api/queue/pause', '/api/queue/resume'])
    await ask('POST', path);
  await ask('POST', '/api/config/reload');
  await ask('POST', '/api/route/explain', { prompt: 'x', provider: 'echo' });
  const drained = bundle.coordinator.drain(0);
  await ask('GET', '/health?ready=1');
  bundle.clock.advance(1);
  await drained;
  t.deepEqual(
    [...documented].filter((one) => !seen.has(one)),
    [],
  );
});

const failure = {
  class: 'invalid_request' as const,
  message: 'broken',
  code: null,
  status: 400,
  retryAfterMs: null,
};

async function jobs(bundle: ApiBundle, ask: Ask): Promise<void> {
  const job = { prompt: 'Say hello', input: 'x', provider: 'echo', model: 'm', tier: 'gold', tags: ['a'] };
  const key = { 'idempotency-key': 'k' };
  const { json: first } = await ask('POST', '/api/jobs', job, key);
  await ask('POST', '/api/jobs', job, key);
  const many = { jobs: [{ ...job, messages: [{ role: 'user', content: 'x' }], prompt: null }] };
  await ask('POST', '/api/jobs/batch', many, { 'idempotency-key': 'b' });
  await ask('POST', '/api/jobs/batch', many, { 'idempotency-key': 'b' });
  const worker = await bundle.worker({ name: 'hand', concurrency: 2 });
  await worker.complete(await worker.job());
  const second = await worker.job(2);
  await worker.connection.conclude(
    { jobId: second.job_id, lease: second.lease },
    { type: 'fail', failure, usage: null, begun: true },
  );
  await ask('POST', `/api/jobs/${second.job_id}/retry`);
  await ask('POST', `/api/jobs/${second.job_id}/cancel`);
  await ask('POST', '/api/jobs/cancel', { filter: {} });
  await ask('POST', '/api/jobs/retry', { ids: [first.id, 'none'] });
  await ask('GET', '/api/jobs?include=request,input,result');
  await ask('GET', '/api/jobs/export?archived=true');
  for (const part of ['', '/history', '/events']) await ask('GET', `/api/jobs/${first.id}${part}`);
  // The job has ended, so its stream ends; a client that has its last event gets none again.
  const headers = { authorization: `Bearer ${environmentKey}` };
  const stream = await (await fetch(`${bundle.url}/api/jobs/${first.id}/events`, { headers })).text();
  const last = [...stream.matchAll(/^id: (\d+)$/gm)].at(-1)?.[1];
  await ask('GET', `/api/jobs/${first.id}/events?since=${last}`);
}

async function runs(bundle: ApiBundle, ask: Ask): Promise<void> {
  const limits = { max_cost_usd: 5, max_failures: 1, deadline: '2199-01-01T00:00:00Z' };
  const run = { name: 'nightly', ...limits, defaults: { provider: 'echo', params: { max_tokens: 5 } } };
  await ask('POST', '/api/runs', run);
  await ask('POST', '/api/runs', run);
  const lines = ['a', 'b', 'c'].map((id) => ({ line_id: id, prompt: `Say ${id}` }));
  await ask('POST', '/api/runs/nightly/jobs', { jobs: lines });
  const worker = await bundle.worker({ name: 'runner', concurrency: 1 });
  await worker.complete(await worker.job());
  const second = await worker.job(2);
  await worker.connection.conclude(
    { jobId: second.job_id, lease: second.lease },
    { type: 'fail', failure, usage: null, begun: true },
  );
  await ask('GET', '/api/runs');
  await ask('GET', '/api/runs/nightly');
  await ask('GET', '/api/runs/nightly/results');
  await ask('POST', '/api/runs/nightly/results', { line_ids: ['b', 'none'] });
  await ask('POST', '/api/runs/nightly/retry', {});
  await ask('POST', '/api/runs/nightly/resume', { max_failures: 10 });
  await ask('POST', '/api/runs/nightly/pause');
  await ask('GET', '/api/runs/nightly');
  await ask('POST', '/api/runs/nightly/cancel');
  worker.drop();
}

async function workers(bundle: ApiBundle, ask: Ask): Promise<void> {
  const { id } = await bundle.worker({ name: 'other', models: { echo: ['m'] } });
  for (const path of ['/api/workers', `/api/workers/${id}`]) await ask('GET', path);
  for (const change of ['pause', 'resume']) await ask('POST', `/api/workers/${id}/${change}`);
  await ask('PATCH', `/api/workers/${id}`, { concurrency: 3 });
  const gone = await bundle.worker({ name: 'gone' });
  gone.drop();
  await ask('DELETE', `/api/workers/${gone.id}`);
}

async function webhooks({ coordinator, worker }: ApiBundle, sender: HandSender, ask: Ask): Promise<void> {
  const url = 'https://hooks.example.com/';
  sender.statuses.set(url, 200);
  await ask('POST', '/api/webhooks', { name: 'ops', url, events: [] });
  for (const path of ['/api/webhooks', '/api/webhooks/ops']) await ask('GET', path);
  await ask('PATCH', '/api/webhooks/ops', { description: 'Our own' });
  for (const act of ['rotate-secret', 'test']) await ask('POST', `/api/webhooks/ops/${act}`);
  const hand = await worker({ providers: ['hooked'] });
  await ask('POST', '/api/jobs', { prompt: 'Hi', provider: 'hooked', webhook: 'ops' });
  await hand.complete(await hand.job());
  await ask('GET', '/api/webhooks/ops/deliveries');
  const [delivery] = coordinator.webhooks.deliveries('ops', 1);
  await ask('POST', `/api/webhooks/ops/deliveries/${delivery?.id}/send`);
  await ask('DELETE', '/api/webhooks/ops');
}

async function keysAndSessions({ keys }: ApiBundle, ask: Ask): Promise<void> {
  const { json } = await ask('POST', '/api/keys', { role: 'worker', name: 'gpu', tags: ['a'] });
  await ask('PATCH', `/api/keys/${json.id}`, { max_concurrency: 4 });
  await ask('POST', `/api/keys/${json.id}/rotate`, { grace_seconds: 60 });
  await ask('GET', '/api/keys');
  await ask('DELETE', `/api/keys/${json.id}`);
  await ask('POST', '/api/tickets');
  const asViewer = { authorization: `Bearer ${keys.viewer}` };
  const { json: one } = await ask('POST', '/api/sessions', undefined, asViewer);
  const { json: two } = await ask('POST', '/api/sessions', undefined, asViewer);
  await ask('GET', '/api/sessions', undefined, asViewer);
  await ask('DELETE', `/api/sessions/${one.id}`, undefined, asViewer);
  await ask('DELETE', '/api/sessions/current', undefined, { authorization: `Bearer ${two.key}` });
}

test('an answer with a member that the document does not have is noticed, but where it may have any', (t) => {
  const open: string[] = [];
  walk(apiDocument.components.schemas, '', open);
  for (const [path, item] of Object.entries(apiDocument.paths)) {
    for (const [method, operation] of Object.entries(item))
      walk((operation as { responses?: unknown }).responses, `${method} ${path}`, open);
  }
  t.deepEqual(open, [
    '/AuditEntry/properties/details',
    '/Config/properties/config',
    '/Dispatch/properties/params',
    '/Inspection/properties/events/items/properties/event',
    '/Inspection/properties/events/items/properties/context',
    '/Job/properties/params',
    '/ListedJob/properties/params',
    '/Message',
    '/Run/properties/defaults',
    '/RunLineJob/properties/params',
    '/WorkerConfig/properties/providers/additionalProperties/properties/timeouts',
    'get /api/openapi.json/200/content/application/json/schema',
  ]);
});

/** Collect the objects that do not say which members they have. */
function walk(node: unknown, at: string, open: string[]): void {
  if (typeof node !== 'object' || node === null) return;
  const { type, additionalProperties } = node as { type?: unknown; additionalProperties?: unknown };
  const isObject = type === 'object' || (Array.isArray(type) && type.includes('object'));
  if (isObject && (additionalProperties === undefined || additionalProperties === true)) open.push(at);
  for (const [key, member] of Object.entries(node))
    if (key !== 'examples') walk(member, `${at}/${key}`, open);
}
