import test from 'ava';
import { StoreUnavailable } from '../../src/domain/errors.ts';
import type { WireQueue } from '../../src/domain/wire/queue.ts';
import { setupApi } from '../support/api.ts';
import { request } from '../support/coordinator.ts';

const as = (key: string) => ({ authorization: `Bearer ${key}` });

test('an operator pauses and resumes the queue, and figures and audit log say who did', async (t) => {
  const { api, keys, clock, coordinator } = await setupApi(t);
  const operator = as(keys.operator);
  const paused = await api('POST', '/api/queue/pause', { reason: ' maintenance ' }, operator);
  t.is(paused.status, 200);
  const { by } = paused.json as unknown as WireQueue;
  t.deepEqual(Object.keys(by ?? {}), ['key_id', 'name']);
  const since = new Date(clock.now()).toISOString();
  t.deepEqual(paused.json, { paused: true, since, by, reason: 'maintenance' });
  t.deepEqual((await api('GET', '/api/stats')).json.queue, paused.json);
  t.like((await api('GET', '/api/stats')).json.coordinator, { status: 'paused' });
  t.is((await api('GET', '/health?ready=1')).status, 200);
  const { id } = (await api('POST', '/api/jobs', { prompt: 'x', provider: 'echo' })).json;
  t.like((await api('GET', `/api/jobs/${id}`)).json, { waiting: { reason: 'queue_paused' } });
  t.regex((await api('GET', '/metrics')).text, /^svc_queue_paused 1$/m);
  clock.advance(1_000);
  t.deepEqual((await api('POST', '/api/queue/pause', { reason: 'again' })).json, paused.json);
  const resumed = await api('POST', '/api/queue/resume', undefined, operator);
  t.like(resumed.json, { paused: false, since: new Date(clock.now()).toISOString(), by, reason: null });
  t.deepEqual((await api('POST', '/api/queue/resume')).json, resumed.json);
  t.regex((await api('GET', '/metrics')).text, /^svc_queue_paused 0$/m);
  const { entries } = (await api('GET', '/api/audit?action=queue.paused,queue.resumed')).json;
  t.like(entries, [
    { action: 'queue.resumed', actor: by, target: { kind: 'queue', id: null, name: null }, details: {} },
    { action: 'queue.paused', actor: by, details: { reason: 'maintenance' }, outcome: 'done' },
  ]);
  t.is((await coordinator.dispatch(request())).waiting?.reason, 'no_worker');
});

test('a pause needs no body and no reason', async (t) => {
  const { api } = await setupApi(t);
  for (const body of [undefined, {}, { reason: null }, { reason: '  ' }]) {
    const { status, json } = await api('POST', '/api/queue/pause', body);
    t.is(status, 200);
    t.like(json, { paused: true, reason: null });
    await api('POST', '/api/queue/resume');
  }
});

test('what is no reason is refused, as is who is no operator', async (t) => {
  const { api, keys } = await setupApi(t);
  for (const body of [{ reason: 5 }, { reason: 'x'.repeat(501) }, { why: 'x' }, []]) {
    const { status, json } = await api('POST', '/api/queue/pause', body);
    t.is(status, 400);
    t.is(json.code, 'invalid_request');
  }
  t.is((await api('POST', '/api/queue/pause?x=1')).status, 400);
  for (const verb of ['pause', 'resume'] as const) {
    t.is((await api('POST', `/api/queue/${verb}`, undefined, as(keys.client))).status, 403);
    t.is((await api('GET', `/api/queue/${verb}`)).status, 405);
  }
  t.like((await api('GET', '/api/stats')).json.queue, { paused: false });
});

test('a pause that the store cannot take is answered with 503, and the queue is not paused', async (t) => {
  const { api, store } = await setupApi(t);
  const commit = store.commit.bind(store);

  store.commit = async () => {
    throw new StoreUnavailable('the disk is full');
  };
  const { status, json } = await api('POST', '/api/queue/pause');
  t.is(status, 503);
  t.is(json.code, 'store_unavailable');
  store.commit = commit;
  t.like((await api('GET', '/api/stats')).json.queue, { paused: false });
});
