// The main flow with @hey-api/openapi-ts. It does not compile when the document loses a type.
import assert from 'node:assert/strict';
import { client } from './hey/client.gen.ts';
import * as svc from './hey/sdk.gen.ts';
import type { Job, NewKey } from './hey/types.gen.ts';

const { SVC_URL: baseUrl = '', SVC_KEY = '' } = process.env;
client.setConfig({ baseUrl, auth: SVC_KEY });

/** The data of an answer. */
async function done<T>(asked: Promise<{ data: T | undefined; error: unknown }>): Promise<T> {
  const { data, error } = await asked;
  assert.ok(data !== undefined, JSON.stringify(error));
  return data;
}

const outputOf = (job: Job): string | null => job.result?.output ?? null;
const inputOf = (job: Job): string | null => job.input;
const secretOf = (key: NewKey): string => key.key;

const sent: Job = await done(
  svc.dispatchJob({
    query: { wait: 30 },
    headers: { 'Idempotency-Key': 'hey-1' },
    body: { prompt: 'Repeat', input: 'hey', provider: 'echo', tags: ['hey'] },
  }),
);
assert.equal(sent.status, 'completed');
assert.ok(outputOf(sent)?.includes('hey'));
assert.equal(inputOf(sent), 'hey');

const path = { id: sent.id };
assert.equal(outputOf(await done(svc.getJob({ path }))), outputOf(sent));
const query = { status: ['completed' as const], tag: ['hey'], limit: 5 };
const { jobs, total } = await done(svc.listJobs({ query }));
assert.deepEqual([total, jobs[0]?.prompt_truncated], [1, false]);

const waiting = await done(svc.dispatchJob({ body: { prompt: 'x', provider: 'nobody' } }));
assert.equal(waiting.waiting?.reason, 'no_worker');
const cancelled = await done(svc.cancelJob({ path: { id: waiting.id } }));
assert.equal(cancelled.status, 'cancelled');
const failing = { prompt: 'x', provider: 'echo', params: { echo_fail: 'invalid_request' } };
const failed = await done(svc.dispatchJob({ query: { wait: 30 }, body: failing }));
assert.equal(failed.error?.class, 'invalid_request');
const retried = await done(svc.retryJob({ path: { id: failed.id } }));
assert.equal(retried.retry_count, 1);

const made = await done(svc.createKey({ body: { role: 'worker', name: 'hey', providers: ['echo'] } }));
assert.ok(secretOf(made).startsWith('svc_worker_'));
assert.deepEqual(made.providers, ['echo']);

const { providers } = await done(svc.listProviders());
assert.ok(providers.some(({ name, workers }) => name === 'echo' && workers === 1));
assert.ok((await done(svc.getStats())).jobs.total >= 3);
assert.equal((await done(svc.getCostSummary())).currency, 'USD');
const { error } = await svc.getJob({ path: { id: 'none' } });
assert.equal(error?.code, 'job_not_found');
