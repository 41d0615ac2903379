import type { ExecutionContext } from 'ava';
import test from 'ava';
import { type ApiBundle, environmentKey, setupApi } from '../support/api.ts';
import { testConfig } from '../support/config.ts';

const job = { prompt: 'Summarise', provider: 'echo' };
const ndjson = { 'content-type': 'application/x-ndjson' };
const total = async ({ api }: ApiBundle) => (await api('GET', '/api/jobs')).json.total;
const fieldsOf = ({ json }: Awaited<ReturnType<ApiBundle['api']>>) =>
  (json.errors ?? []).map(({ field, message }) => `${field} ${message}`);

test('a batch answers 201 with its jobs in order, and all of them run', async (t) => {
  const { api, worker } = await setupApi(t);
  const jobs = [1, 2, 3].map((n) => ({ ...job, input: String(n), tags: [`t${n}`] }));
  const reply = await api('POST', '/api/jobs/batch', { jobs });
  t.is(reply.status, 201);
  t.is(reply.json.count, 3);
  const taken = reply.json.jobs as { id: string; status: string }[];
  t.deepEqual(
    taken.map(({ status }) => status),
    ['pending', 'pending', 'pending'],
  );
  const hand = await worker({ concurrency: 3 });
  await hand.job(3);
  t.deepEqual(
    hand.jobs.map(({ job_id, input }) => [job_id, input]),
    taken.map(({ id }, index) => [id, String(index + 1)]),
  );
});

test('NDJSON is a job a line; blank lines are nothing', async (t) => {
  const bundle = await setupApi(t);
  const body = `\n${JSON.stringify(job)}\r\n\n${JSON.stringify({ ...job, prompt: 'Grüße\n' })}`;
  const reply = await bundle.api('POST', '/api/jobs/batch', body, ndjson);
  t.like(reply, { status: 201, json: { count: 2 } });
  const [, { id = '' } = {}] = reply.json.jobs as { id: string }[];
  t.is((await bundle.api('GET', `/api/jobs/${id}`)).json.prompt, 'Grüße\n');
});

test('a fault in any job refuses all of them, and every fault is named by its place', async (t) => {
  const bundle = await setupApi(t);
  const bad = [job, { ...job, prompt: '' }, { ...job, tags: ['a', 1], promt: 'x' }, 5, { prompt: 'x' }];
  const expected = [
    'jobs[1].prompt must not be empty',
    'jobs[2].tags[1] must be a string',
    'jobs[2].promt is not known',
    'jobs[3] must be an object',
  ];
  const list = await bundle.api('POST', '/api/jobs/batch', { jobs: bad, mode: 'fast' });
  t.like(list, { status: 400, json: { code: 'invalid_request' } });
  const named = fieldsOf(list);
  for (const fault of [...expected, 'mode is not known']) t.true(named.includes(fault), `${fault}: ${named}`);
  t.true(named.some((fault) => fault.startsWith('jobs[4].provider is needed')));
  const text = `${bad.map((one) => JSON.stringify(one)).join('\n')}\n\n{"prompt`;
  const lines = fieldsOf(await bundle.api('POST', '/api/jobs/batch', text, ndjson));
  for (const fault of [...expected, 'jobs[6] is not JSON'])
    t.true(lines.includes(fault), `${fault}: ${lines}`);
  t.is(await total(bundle), 0);
});

test('at most 100 faults are listed', async (t) => {
  const { api } = await setupApi(t);
  const reply = await api('POST', '/api/jobs/batch', { jobs: Array(500).fill({ provider: 'echo' }) });
  t.is(reply.json.errors?.length, 100);
  t.is(reply.json.errors?.[99]?.field, 'jobs[99].prompt');
});

const outsideFault = ' The body must be a JSON object with a list of jobs, and hardly anything else';

async function isRefused(t: ExecutionContext, bundle: ApiBundle, body: string, fault: string): Promise<void> {
  const reply = await bundle.api('POST', '/api/jobs/batch', body);
  t.is(reply.status, 400, body);
  t.deepEqual(fieldsOf(reply), [fault], body);
}

test('a body of another shape is 400 and says why', async (t) => {
  const bundle = await setupApi(t);
  const one = JSON.stringify(job);
  await isRefused(t, bundle, '{}', 'jobs is required');
  await isRefused(t, bundle, '{"jobs":{}}', 'jobs must be an array');
  await isRefused(t, bundle, '{"jobs":[]}', 'jobs must have at least 1 item');
  await isRefused(t, bundle, `[${one}]`, ' The body must be a JSON object');
  await isRefused(t, bundle, `{"jobs":[${one}]`, ' The body is not a JSON object');
  await isRefused(t, bundle, `{"jobs":[${one},]}`, 'jobs[1] is not JSON');
  await isRefused(t, bundle, `{"jobs":[${one}],"jobs":[${one}]}`, 'jobs may be given once');
  const poisoned = `{"jobs":[{"prompt":"x","provider":"echo","params":{"\\u005f_proto__":{}}}]}`;
  await isRefused(t, bundle, poisoned, 'jobs[0] must not have a member called __proto__');
  const deep = `${'['.repeat(250)}${']'.repeat(250)}`;
  await isRefused(t, bundle, `{"jobs":[{"params":{"a":${deep}}}]}`, 'jobs[0] nests deeper than 200 levels');
  await isRefused(
    t,
    bundle,
    `{"jobs":[${Array(10_001).fill(one).join()}]}`,
    'jobs must have at most 10000 items',
  );
  const empty = await bundle.api('POST', '/api/jobs/batch', '\n', ndjson);
  t.deepEqual(fieldsOf(empty), ['jobs must have at least 1 item']);
  t.is(await total(bundle), 0);
});

test('a byte order mark before a batch is nothing, and another encoding than UTF-8 is refused', async (t) => {
  const bundle = await setupApi(t);
  const one = JSON.stringify(job);
  t.is((await bundle.api('POST', '/api/jobs/batch', `\ufeff${one}\r\n${one}`, ndjson)).status, 201);
  const send = (body: string | Buffer, type: string) =>
    fetch(`${bundle.url}/api/jobs/batch`, {
      method: 'POST',
      headers: { 'content-type': type, authorization: `Bearer ${environmentKey}` },
      body,
    });
  t.is((await send(`\ufeff{"jobs":[${one}]}`, 'application/json')).status, 201);
  t.is(await total(bundle), 3);
  const latin1 = await send(
    Buffer.from(JSON.stringify({ ...job, prompt: 'Grüße' }), 'latin1'),
    'application/x-ndjson',
  );
  t.is(latin1.status, 400);
  t.regex(await latin1.text(), /The body is not UTF-8/);
  t.is(await total(bundle), 3);
});

test('no body, another type, a coded one, a large one and a large job are refused', async (t) => {
  const http = { ...testConfig().http, maxBodyBytes: 1_000, maxBatchBytes: 3_000 };
  const bundle = await setupApi(t, { http });
  const { api } = bundle;
  t.is((await api('POST', '/api/jobs/batch')).status, 400);
  t.is((await api('POST', '/api/jobs/batch', 'x', { 'content-type': 'text/csv' })).status, 415);
  t.is((await api('POST', '/api/jobs/batch', { jobs: [job] }, { 'content-encoding': 'gzip' })).status, 415);
  const fits = { ...job, prompt: 'x'.repeat(900) };
  const many = await api('POST', '/api/jobs/batch', { jobs: Array(4).fill(fits) });
  t.like(many, { status: 413, json: { code: 'payload_too_large' } });
  t.is((await api('POST', '/api/jobs/batch', { jobs: [fits, fits] })).status, 201);
  const large = await api('POST', '/api/jobs/batch', { jobs: [job, { ...job, prompt: 'x'.repeat(1_100) }] });
  t.like(large, { status: 400, json: { errors: [{ field: 'jobs[1]' }] } });
  t.is(await total(bundle), 2);
});

test('a batch of blanks, however long, is read; one of too many values is refused before it is parsed', async (t) => {
  const bundle = await setupApi(t);
  const one = JSON.stringify(job);
  const blank = ' '.repeat(1_000_000);
  const json = `${blank}{${blank}"jobs"${blank}:${blank}[${blank}${one}${blank},${one}${blank}]${blank}}${blank}`;
  t.like(await bundle.api('POST', '/api/jobs/batch', json), { status: 201, json: { count: 2 } });
  const lines = '\n \r\n'.repeat(500_000);
  const text = await bundle.api('POST', '/api/jobs/batch', `${lines}${one}${lines}${one}${lines}`, ndjson);
  t.like(text, { status: 201, json: { count: 2 } });
  await isRefused(t, bundle, `{"jobs":[]${blank},"more":"${'x'.repeat(70_000)}"}`, outsideFault);
  await isRefused(t, bundle, '['.repeat(1_000_000), outsideFault);
  const values = `{"prompt":"x","provider":"echo","params":{"a":[${'0,'.repeat(99_000)}0]}}`;
  const many = await bundle.api('POST', '/api/jobs/batch', Array(12).fill(values).join('\n'), ndjson);
  t.deepEqual(fieldsOf(many), ['jobs must have at most 1000000 values in all; send smaller batches']);
});

test('a batch that the queue has no room for is refused whole', async (t) => {
  const bundle = await setupApi(t, { jobs: { maxPending: 3 } });
  const batch = (count: number) => bundle.api('POST', '/api/jobs/batch', { jobs: Array(count).fill(job) });
  t.is((await batch(2)).status, 201);
  const refused = await batch(2);
  t.like(refused, { status: 429, json: { code: 'queue_full' } });
  t.truthy(refused.headers.get('retry-after'));
  t.is(await total(bundle), 2);
  t.is((await batch(1)).status, 201);
});

test('a batch that no queue could hold is no matter of waiting', async (t) => {
  const bundle = await setupApi(t, { jobs: { maxPending: 3 } });
  const reply = await bundle.api('POST', '/api/jobs/batch', { jobs: Array(4).fill(job) });
  t.like(reply, { status: 400, json: { code: 'invalid_request', errors: [{ field: 'jobs' }] } });
  t.is(reply.headers.get('retry-after'), null);
  t.is((await bundle.api('POST', '/api/jobs/batch', { jobs: Array(3).fill(job) })).status, 201);
});

test('10,000 jobs are one commit, told in order before any of them starts', async (t) => {
  const bundle = await setupApi(t);
  const { coordinator, worker, api } = bundle;
  const hand = await worker({ concurrency: 50 });
  const created = new Set<string>();
  let tooEarly = 0;
  let started = 0;
  coordinator.bus.subscribe((event) => {
    if (event.type === 'job.created') created.add(event.job.id);
    if (event.type !== 'job.started') return;
    started += 1;
    if (!created.has(event.job.id)) tooEarly += 1;
  });
  const reply = await api('POST', '/api/jobs/batch', { jobs: Array(10_000).fill(job) });
  t.like(reply, { status: 201, json: { count: 10_000 } });
  await hand.until(() => hand.jobs.length === 50);
  t.is(created.size, 10_000);
  t.is(started, 50);
  t.is(tooEarly, 0);
  t.is(await total(bundle), 10_000);
});
