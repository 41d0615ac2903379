import test from 'ava';
import { ownIdempotencyKey } from '../../src/domain/idempotency.ts';
import { setupApi } from '../support/api.ts';

const body = { prompt: 'Summarise', provider: 'echo', params: { temperature: 0, top_p: 1 } };
const day = 86_400_000;
/** As the coordinator keeps the keys of the admin from the environment. */
const kept = (key: string) => ownIdempotencyKey('environment', key);
const withKey = (key: string) => ({ 'idempotency-key': key });

test('a key and a body that were sent before answer 200 with the first job', async (t) => {
  const { api } = await setupApi(t);
  const first = await api('POST', '/api/jobs', body, withKey('k-1'));
  t.is(first.status, 201);
  // The same request in other words: keys in another order, a default spelt out.
  const again = { ...body, priority: 'normal', params: { top_p: 1, temperature: 0 }, tags: [] };
  const second = await api('POST', '/api/jobs', again, withKey('k-1'));
  t.is(second.status, 200);
  t.is(second.json.id, first.json.id);
  t.is(second.headers.get('location'), `/api/jobs/${first.json.id}`);
  t.is((await api('POST', '/api/jobs', body, withKey('k-2'))).status, 201);
  t.is((await api('GET', '/api/jobs')).json.total, 2);
});

test('a key with another body is a conflict that names the job and leaves no trace', async (t) => {
  const { api } = await setupApi(t);
  const { id } = (await api('POST', '/api/jobs', body, withKey('k'))).json;
  const reply = await api('POST', '/api/jobs', { ...body, prompt: 'Other' }, withKey('k'));
  t.like(reply, { status: 409, json: { code: 'idempotency_conflict' } });
  t.true(String(reply.json.detail).includes(String(id)));
  t.is((await api('GET', '/api/jobs')).json.total, 1);
});

test('requests with one key that come together make one job', async (t) => {
  const { api } = await setupApi(t);
  const replies = await Promise.all(
    Array.from({ length: 20 }, () => api('POST', '/api/jobs', body, withKey('k'))),
  );
  t.is(new Set(replies.map(({ json }) => json.id)).size, 1);
  t.deepEqual(replies.map(({ status }) => status).sort(), [...Array(19).fill(200), 201]);
});

test('a key is remembered over a restart, and for a day', async (t) => {
  const { api, restart, clock } = await setupApi(t);
  const { id } = (await api('POST', '/api/jobs', body, withKey('k'))).json;
  const { coordinator } = await restart();
  const { job } = await coordinator.job(String(id));
  clock.advance(day - 1_000);
  t.like(await coordinator.dispatchOnce(kept('k'), job.request), { isNew: false, view: { job: { id } } });
  clock.advance(1_000);
  t.true((await coordinator.dispatchOnce(kept('k'), job.request)).isNew);
});

test('a key is 1 to 255 visible ASCII characters', async (t) => {
  const { api } = await setupApi(t);
  for (const key of ['', 'a b', 'x'.repeat(256), 'é']) {
    const reply = await api('POST', '/api/jobs', body, withKey(key));
    t.like(reply, { status: 400, json: { code: 'invalid_request' } }, key);
    t.is(reply.json.errors?.[0]?.field, 'Idempotency-Key');
  }
  t.is((await api('POST', '/api/jobs', body, withKey('!~'.repeat(127)))).status, 201);
});

test('a refused request does not use its key up', async (t) => {
  const { api } = await setupApi(t, { jobs: { maxPending: 1 } });
  const { id } = (await api('POST', '/api/jobs', body)).json;
  t.is((await api('POST', '/api/jobs', body, withKey('k'))).json.code, 'queue_full');
  await api('POST', `/api/jobs/${id}/cancel`);
  t.is((await api('POST', '/api/jobs', body, withKey('k'))).status, 201);
  // The queue is full again, and what is known is still told.
  t.is((await api('POST', '/api/jobs', body, withKey('k'))).status, 200);
});

test('?wait= answers the end of the first job', async (t) => {
  const { api, worker } = await setupApi(t);
  const hand = await worker();
  await api('POST', '/api/jobs', body, withKey('k'));
  const waiting = api('POST', '/api/jobs?wait=30', body, withKey('k'));
  await hand.complete(await hand.job(), 'done');
  t.like(await waiting, { status: 200, json: { status: 'completed', result: { output: 'done' } } });
});

const jobs = [body, { ...body, prompt: 'Translate' }, { ...body, tags: ['b'] }];
const idsOf = (json: Record<string, unknown>) => (json.jobs as { id: string }[]).map(({ id }) => id);

test('a batch that is sent again answers 200 with its first jobs as they are now, in order', async (t) => {
  const { api, worker } = await setupApi(t);
  const first = await api('POST', '/api/jobs/batch', { jobs }, withKey('k'));
  t.is(first.status, 201);
  const ids = idsOf(first.json);
  t.is(new Set(ids).size, 3);
  const hand = await worker();
  const assignment = await hand.job();
  t.deepEqual([assignment.job_id], ids.slice(0, 1));
  await hand.complete(assignment);
  // The same jobs in other words, as NDJSON.
  const lines = jobs.map((job) => JSON.stringify({ priority: 'normal', ...job })).join('\n');
  const ndjson = { ...withKey('k'), 'content-type': 'application/x-ndjson' };
  const second = await api('POST', '/api/jobs/batch', lines, ndjson);
  t.is(second.status, 200);
  t.is(second.json.count, 3);
  t.deepEqual(idsOf(second.json), ids);
  t.is((second.json.jobs as { status: string }[])[0]?.status, 'completed');
  t.is((await api('GET', '/api/jobs')).json.total, 3);
});

test('a key that stands for a batch is a conflict for other jobs, for fewer of them, and for one alone', async (t) => {
  const { api } = await setupApi(t);
  const first = await api('POST', '/api/jobs/batch', { jobs }, withKey('k'));
  const conflict = { status: 409, json: { code: 'idempotency_conflict' } };
  for (const other of [jobs.slice(1), jobs.toReversed(), [...jobs, body]])
    t.like(await api('POST', '/api/jobs/batch', { jobs: other }, withKey('k')), conflict);
  await api('POST', '/api/jobs/batch', { jobs: [body] }, withKey('one'));
  const alone = await api('POST', '/api/jobs', body, withKey('one'));
  t.like(alone, conflict);
  await api('POST', '/api/jobs', body, withKey('alone'));
  t.like(await api('POST', '/api/jobs/batch', { jobs: [body] }, withKey('alone')), conflict);
  t.is((await api('GET', '/api/jobs')).json.total, 5);
  t.is((await api('POST', '/api/jobs/batch', { jobs }, withKey('k'))).json.count, first.json.count);
});

test('batches with one key that come together are one batch', async (t) => {
  const { api } = await setupApi(t);
  const replies = await Promise.all(
    Array.from({ length: 10 }, () => api('POST', '/api/jobs/batch', { jobs }, withKey('k'))),
  );
  t.deepEqual(replies.map(({ status }) => status).sort(), [...Array(9).fill(200), 201]);
  t.is(new Set(replies.map(({ json }) => idsOf(json).join())).size, 1);
  t.is((await api('GET', '/api/jobs')).json.total, 3);
});

test('the key of a batch is remembered over a restart, and is not used up by a refusal', async (t) => {
  const { api, restart } = await setupApi(t, { jobs: { maxPending: 4 } });
  const { id } = (await api('POST', '/api/jobs', body)).json;
  await api('POST', '/api/jobs', body);
  t.is((await api('POST', '/api/jobs/batch', { jobs }, withKey('k'))).json.code, 'queue_full');
  await api('POST', `/api/jobs/${id}/cancel`);
  const first = await api('POST', '/api/jobs/batch', { jobs }, withKey('k'));
  t.is(first.status, 201);
  const again = await restart();
  const planned = await Promise.all(
    idsOf(first.json).map(async (one) =>
      again.coordinator.plan((await again.coordinator.job(one)).job.request),
    ),
  );
  const second = await again.coordinator.dispatchAllOnce(kept('k'), planned);
  t.false(second.isNew);
  t.deepEqual(
    second.jobs.map((job) => job.id),
    idsOf(first.json),
  );
});

test('what one API key sent is no matter of another, even with the same idempotency key', async (t) => {
  const { api, keys } = await setupApi(t);
  const by = (role: 'client' | 'operator', prompt: string) =>
    api('POST', '/api/jobs', { ...body, prompt }, { ...withKey('k'), authorization: `Bearer ${keys[role]}` });
  const first = await by('client', 'Mine');
  const other = await by('operator', 'Mine');
  t.deepEqual([first.status, other.status], [201, 201]);
  t.not(other.json.id, first.json.id);
  t.is((await by('client', 'Mine')).json.id, first.json.id);
  const conflict = await by('client', 'Another');
  t.is(conflict.status, 409);
  t.true(conflict.text.includes(String(first.json.id)));
  t.false(conflict.text.includes(String(other.json.id)));
});

test('a key that an older version kept without its owner still stands for its job, and names it to nobody', async (t) => {
  const { api, coordinator } = await setupApi(t);
  const { json } = await api('POST', '/api/jobs', body);
  const { job } = await coordinator.job(String(json.id));
  // As records of older versions have it: the key alone.
  const older = await coordinator.dispatchOnce('k', job.request);
  t.like(await api('POST', '/api/jobs', body, withKey('k')), {
    status: 200,
    json: { id: older.view.job.id },
  });
  const conflict = await api('POST', '/api/jobs', { ...body, prompt: 'Other' }, withKey('k'));
  t.is(conflict.status, 409);
  t.false(conflict.text.includes(older.view.job.id));
});

test('an API key has a bound on the idempotency keys that are remembered of it, over a restart and for a day', async (t) => {
  const options = { idempotencyKeysMax: 3 };
  const bundle = await setupApi(t, {}, options);
  const { api, keys, clock } = bundle;
  const client = (key: string) =>
    api('POST', '/api/jobs', body, { ...withKey(key), authorization: `Bearer ${keys.client}` });
  for (const key of ['a', 'b', 'c']) t.is((await client(key)).status, 201);
  const refused = await client('d');
  t.like(refused, { status: 429, json: { code: 'share_exceeded' } });
  t.truthy(refused.headers.get('retry-after'));
  t.like(
    await api(
      'POST',
      '/api/jobs/batch',
      { jobs },
      { ...withKey('e'), authorization: `Bearer ${keys.client}` },
    ),
    { status: 429, json: { code: 'share_exceeded' } },
  );
  // What is known is still answered, and others have keys of their own.
  t.is((await client('a')).status, 200);
  t.is((await api('POST', '/api/jobs', body, withKey('d'))).status, 201);
  const owner = bundle.parts.keys.list().find(({ role }) => role === 'client')?.id ?? '';
  const { store } = await bundle.restart();
  t.is(await store.idempotencyKeys(owner), 3);
  clock.advance(day);
  t.is(await store.idempotencyKeys(owner), 0);
});
