import test from 'ava';
import WebSocket from 'ws';
import { workerSubprotocol } from '../../src/domain/workerProtocol.ts';
import { environmentKey, setupApi } from '../support/api.ts';
import { testConfig } from '../support/config.ts';

const limited = (perSecond: number) => ({ http: { ...testConfig().http, rateLimitPerKey: perSecond } });

test('without http.rate_limit_per_key a key may ask as often as it likes', async (t) => {
  const { api } = await setupApi(t);
  const replies = await Promise.all(Array.from({ length: 300 }, () => api('GET', '/api/stats')));
  t.true(replies.every(({ status }) => status === 200));
});

test('a key that asks too often is told 429 with Retry-After and what to do, and nothing happens', async (t) => {
  const { api, clock } = await setupApi(t, limited(2));
  const job = { prompt: 'x', provider: 'echo' };
  t.is((await api('POST', '/api/jobs', job)).status, 201);
  t.is((await api('GET', '/api/jobs')).status, 200);
  const refused = await api('POST', '/api/jobs', job);
  t.is(refused.status, 429);
  t.like(refused.json, { code: 'rate_limited', status: 429 });
  t.regex(String(refused.json.detail), /http\.rate_limit_per_key.*wait 1 s.*\/api\/jobs\/batch/);
  t.is(refused.headers.get('retry-after'), '1');
  clock.advance(1000);
  t.like((await api('GET', '/api/jobs')).json, { total: 1 });
});

test('Retry-After is long enough: who waits for it passes', async (t) => {
  const { api, clock } = await setupApi(t, limited(0.3));
  t.is((await api('GET', '/api/stats')).status, 200);
  clock.advance(100);
  const { status, headers } = await api('GET', '/api/stats');
  t.deepEqual([status, headers.get('retry-after')], [429, '4']);
  clock.advance(4000);
  t.is((await api('GET', '/api/stats')).status, 200);
});

test('each key has a limit of its own, and a wrong one uses up nobody’s', async (t) => {
  const { api, keys } = await setupApi(t, limited(1));
  const as = (key: string) => api('GET', '/api/stats', undefined, { authorization: `Bearer ${key}` });
  t.is((await as(keys.viewer)).status, 200);
  t.is((await as(keys.viewer)).status, 429);
  for (const _ of [1, 2, 3]) t.is((await as(`${keys.client.slice(0, -1)}x`)).status, 401);
  t.is((await as(keys.client)).status, 200);
  t.is((await as(environmentKey)).status, 200);
});

test('health, the configuration of workers and their sockets are not counted', async (t) => {
  const { api, keys, port } = await setupApi(t, limited(1));
  const authorization = `Bearer ${keys.worker}`;
  for (const _ of [1, 2, 3]) {
    t.is((await api('GET', '/health')).status, 200);
    t.is((await api('GET', '/api/worker-config', undefined, { authorization })).status, 200);
    const socket = new WebSocket(`ws://127.0.0.1:${port}/ws/worker`, workerSubprotocol, {
      headers: { authorization },
    });
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
    socket.terminate();
  }
});
