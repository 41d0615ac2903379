// The main flow with openapi-typescript and openapi-fetch. It does not compile when the document loses a type.
import assert from 'node:assert/strict';
import createClient from 'openapi-fetch';
import type { components, paths } from './schema.d.ts';

type Job = components['schemas']['Job'];

const { SVC_URL: baseUrl = '', SVC_KEY = '' } = process.env;
const { GET, POST } = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${SVC_KEY}` } });

/** The data of an answer. */
async function done<T>(asked: Promise<{ data?: T; error?: unknown }>): Promise<T> {
  const { data, error } = await asked;
  assert.ok(data !== undefined, JSON.stringify(error));
  return data;
}

const outputOf = (job: Job): string | null => job.result?.output ?? null;
const inputOf = (job: Job): string | null => job.input;

const sent = await done(
  POST('/api/jobs', {
    params: { query: { wait: 30 }, header: { 'Idempotency-Key': 'fetch-1' } },
    body: { prompt: 'Repeat', input: 'fetch', provider: 'echo', tags: ['client'] },
  }),
);
assert.equal(sent.status, 'completed');
assert.ok(outputOf(sent)?.includes('fetch'));
assert.equal(inputOf(sent), 'fetch');

const path = { id: sent.id };
assert.equal(outputOf(await done(GET('/api/jobs/{id}', { params: { path } }))), outputOf(sent));
const query = { status: ['completed' as const], tag: ['client'], limit: 5 };
const { jobs, total } = await done(GET('/api/jobs', { params: { query } }));
assert.deepEqual([total, jobs[0]?.prompt_truncated], [1, false]);

const waiting = await done(POST('/api/jobs', { body: { prompt: 'x', provider: 'nobody' } }));
const reason: 'no_worker' | string | undefined = waiting.waiting?.reason;
assert.equal(reason, 'no_worker');
const cancelled = await done(POST('/api/jobs/{id}/cancel', { params: { path: { id: waiting.id } } }));
assert.equal(cancelled.status, 'cancelled');
const failing = { prompt: 'x', provider: 'echo', params: { echo_fail: 'invalid_request' } };
const failed = await done(POST('/api/jobs', { params: { query: { wait: 30 } }, body: failing }));
assert.equal(failed.error?.class, 'invalid_request');
const retried = await done(POST('/api/jobs/{id}/retry', { params: { path: { id: failed.id } } }));
assert.equal(retried.retry_count, 1);

const made = await done(POST('/api/keys', { body: { role: 'worker', name: 'fetch', providers: ['echo'] } }));
const key: string = made.key;
assert.ok(key.startsWith('svc_worker_'));
assert.deepEqual(made.providers, ['echo']);

const { providers } = await done(GET('/api/providers'));
assert.ok(providers.some(({ name, workers }) => name === 'echo' && workers === 1));
assert.ok((await done(GET('/api/stats'))).jobs.total >= 3);
assert.equal((await done(GET('/api/cost/summary'))).currency, 'USD');
const { error } = await GET('/api/jobs/{id}', { params: { path: { id: 'none' } } });
assert.equal(error?.code, 'job_not_found');
