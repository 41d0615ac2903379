import test from 'ava';
import { setupApi } from '../support/api.ts';

test('a worker’s record has what it registered, and stays when it has gone', async (t) => {
  const { api, worker } = await setupApi(t);
  const hand = await worker({
    name: 'box-1',
    providers: ['p1', 'p2'],
    concurrency: 3,
    kind: 'local',
    tags: ['eu'],
    models: { p1: ['m'] },
  });
  const registered = {
    id: hand.id,
    name: 'box-1',
    kind: 'local',
    providers: ['p1', 'p2'],
    models: { p1: ['m'] },
    tags: ['eu'],
    concurrency: 3,
    paused: false,
    running: 0,
  };
  t.like((await api('GET', `/api/workers/${hand.id}`)).json, {
    ...registered,
    connected: true,
    status: 'active',
  });
  hand.drop();
  t.like((await api('GET', `/api/workers/${hand.id}`)).json, {
    ...registered,
    connected: false,
    status: 'disconnected',
  });
  t.is((await api('GET', '/api/workers')).json.total, 1);
});

test('pause and resume answer the worker and may be repeated', async (t) => {
  const { api, worker } = await setupApi(t);
  const { id } = await worker();
  for (const [verb, paused, status] of [
    ['pause', true, 'paused'],
    ['pause', true, 'paused'],
    ['resume', false, 'active'],
    ['resume', false, 'active'],
  ] as const) {
    const reply = await api('POST', `/api/workers/${id}/${verb}`);
    t.is(reply.status, 200);
    t.like(reply.json, { paused, status });
  }
});

test('a concurrency that was set outlives a reconnect until the worker’s own setting changes', async (t) => {
  const { api, worker } = await setupApi(t);
  const first = await worker({ name: 'box', concurrency: 4 });
  t.is((await api('PATCH', `/api/workers/${first.id}`, { concurrency: 1 })).json.concurrency, 1);
  t.like(first.frames.at(-1), { type: 'settings', concurrency: 1 });
  first.drop();
  const second = await worker({ name: 'box', concurrency: 4 });
  t.like(second.frames[0], { type: 'welcome', concurrency: 1 });
  second.drop();
  const third = await worker({ name: 'box', concurrency: 5 });
  t.like(third.frames[0], { type: 'welcome', concurrency: 5 });
  t.is((await api('PATCH', `/api/workers/${third.id}`, { concurrency: -1 })).status, 400);
});

test('a worker is forgotten only while it is not connected', async (t) => {
  const { api, worker } = await setupApi(t);
  const hand = await worker();
  t.is((await api('DELETE', `/api/workers/${hand.id}`)).status, 409);
  hand.drop();
  t.is((await api('DELETE', `/api/workers/${hand.id}`)).status, 200);
  t.is((await api('GET', `/api/workers/${hand.id}`)).status, 404);
});
