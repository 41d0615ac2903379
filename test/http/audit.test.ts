import { request as httpRequest } from 'node:http';
import test from 'ava';
import type { AuditAction } from '../../src/domain/audit.ts';
import type { WireAuditEntry } from '../../src/domain/wire/audit.ts';
import { type ApiBundle, environmentKey, setupApi } from '../support/api.ts';
import { testConfig } from '../support/config.ts';
import { request } from '../support/coordinator.ts';

async function entriesOf({ api }: ApiBundle, query = ''): Promise<WireAuditEntry[]> {
  const { status, json } = await api('GET', `/api/audit${query}`);
  if (status !== 200) throw new Error(JSON.stringify(json));
  return json.entries as unknown as WireAuditEntry[];
}

/** The same when there are as many: what no answer waits for. */
async function entriesWhen(bundle: ApiBundle, count: number, query = ''): Promise<WireAuditEntry[]> {
  for (;;) {
    const entries = await entriesOf(bundle, query);
    if (entries.length >= count) return entries;
  }
}

/** The first entry of an action. */
async function entryOf(bundle: ApiBundle, action: AuditAction): Promise<WireAuditEntry | undefined> {
  return (await entriesOf(bundle, `?action=${action}`))[0];
}

const as = (key: string) => ({ authorization: `Bearer ${key}` });
const admin = { key_id: 'environment', name: 'SVC_API_KEY', role: 'admin' };

test('every change of a key is recorded: who, what, when and from where, and no secret', async (t) => {
  const bundle = await setupApi(t);
  const { api, clock } = bundle;
  const at = new Date(clock.now()).toISOString();
  const { id, key } = (await api('POST', '/api/keys', { role: 'client', name: 'nightly' })).json;
  const rotated = (await api('POST', `/api/keys/${id}/rotate`, { grace_seconds: 60 })).json.key;
  await api('DELETE', `/api/keys/${id}`);
  await api('DELETE', `/api/keys/${id}`);
  const entries = await entriesOf(bundle);
  t.deepEqual(
    entries.map(({ action }) => action),
    ['key.revoked', 'key.rotated', 'key.created'],
  );
  const target = { kind: 'key', id, name: 'nightly' };
  const common = { at, actor: admin, target, from: { address: '127.0.0.1' }, outcome: 'done' };
  t.like(entries[2], { ...common, details: { role: 'client', expires_at: null } });
  t.like(entries[1], {
    ...common,
    details: { previous_valid_until: new Date(clock.now() + 60_000).toISOString() },
  });
  t.like(entries[0], common);
  const text = JSON.stringify(entries);
  for (const secret of [key, rotated, environmentKey]) t.false(text.includes(String(secret).slice(-20)));
});

test('what operators do to workers, providers, jobs and the configuration is recorded', async (t) => {
  const bundle = await setupApi(t);
  const { api, coordinator, keys, worker } = bundle;
  const hand = await worker({ name: 'box' });
  const asOperator = as(keys.operator);
  const path = `/api/workers/${hand.id}`;
  await api('POST', `${path}/pause`, undefined, asOperator);
  // Nothing changes: no entry.
  await api('POST', `${path}/pause`, undefined, asOperator);
  await api('POST', `${path}/resume`, undefined, asOperator);
  await api('PATCH', path, { concurrency: 7 }, asOperator);
  await api('POST', '/api/providers/echo/reset', undefined, asOperator);
  hand.drop();
  await api('DELETE', path, undefined, asOperator);
  await coordinator.dispatch(request({ prompt: 'a secret of a client' }));
  const filter = { q: 'a secret', provider: 'echo' };
  await api('POST', '/api/jobs/cancel', { filter }, as(keys.client));
  await api('POST', '/api/jobs/cancel', { filter }, as(keys.client));
  await api('POST', '/api/config/reload');
  const entries = await entriesOf(bundle);
  t.deepEqual(
    entries.map(({ action, actor, target, details }) => [action, actor?.role, target.name, details]),
    [
      ['config.reloaded', 'admin', null, { changed: [], needs_restart: [] }],
      ['jobs.bulk_cancelled', 'client', null, { changed: 1, refused: 0, filters: ['provider', 'text'] }],
      ['worker.forgotten', 'operator', 'box', {}],
      ['provider.reset', 'operator', 'echo', {}],
      ['worker.resized', 'operator', 'box', { concurrency: 7, before: 1 }],
      ['worker.resumed', 'operator', 'box', {}],
      ['worker.paused', 'operator', 'box', {}],
    ],
  );
  t.false(JSON.stringify(entries).includes('a secret'));
});

test('a change and its entry are one: what the store does not take is in neither', async (t) => {
  const bundle = await setupApi(t);
  const { api, store } = bundle;
  const commit = store.commit.bind(store);
  const commits: string[][] = [];
  store.commit = async (changes) => {
    const all = [...changes];
    commits.push(all.map(({ kind }) => kind));
    return commit(all);
  };
  const { id } = (await api('POST', '/api/keys', { role: 'client' })).json;
  await api('DELETE', `/api/keys/${id}`);
  t.deepEqual(commits, [
    ['key', 'audit'],
    ['keyRemoved', 'audit'],
  ]);
});

test('a refusal of a role is recorded at once, and again and again only as a count', async (t) => {
  const bundle = await setupApi(t);
  const { api, clock, keys } = bundle;
  const ask = () => api('GET', '/api/keys', undefined, as(keys.client));
  t.is((await ask()).status, 403);
  const refused = await entryOf(bundle, 'role.refused');
  t.like(refused, { outcome: 'refused', details: { needs: 'admin' }, actor: { role: 'client' } });
  t.deepEqual(refused?.target, { kind: 'route', id: 'GET /api/keys', name: null });
  for (let count = 0; count < 50; count += 1) await ask();
  t.is((await entriesOf(bundle)).length, 1);
  clock.advance(60_000);
  t.like((await entriesWhen(bundle, 2))[0], {
    action: 'role.refused',
    details: { needs: 'admin', count: 50 },
  });
  t.is((await entriesOf(bundle)).length, 2);
});

test('a socket that is refused for a role is recorded', async (t) => {
  const bundle = await setupApi(t);
  const { port, keys } = bundle;
  for (const [path, key] of [
    ['/ws/worker', keys.client],
    ['/ws', keys.metrics],
  ] as const) {
    const headers = {
      ...as(key),
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
    };
    const status = await new Promise((resolve, reject) => {
      const asked = httpRequest({ port, host: '127.0.0.1', path, headers }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      asked.on('error', reject).end();
    });
    t.is(status, 403);
  }
  t.deepEqual(
    (await entriesWhen(bundle, 2, '?action=role.refused')).map(({ target, actor }) => [
      target.id,
      actor?.role,
    ]),
    [
      ['GET /ws', 'metrics'],
      ['GET /ws/worker', 'client'],
    ],
  );
});

test('the address is the one that trusted proxies tell, and only theirs', async (t) => {
  for (const [trustedProxies, address] of [
    [0, '127.0.0.1'],
    [1, '203.0.113.9'],
  ] as const) {
    const bundle = await setupApi(t, { http: { ...testConfig().http, trustedProxies } });
    const forwarded = { 'x-forwarded-for': '198.51.100.1, 203.0.113.9' };
    await bundle.api('POST', '/api/keys', { role: 'viewer' }, { ...as(environmentKey), ...forwarded });
    t.is((await entryOf(bundle, 'key.created'))?.from.address, address);
  }
});

test('the audit log is for admins, in pages, and its query is checked', async (t) => {
  const bundle = await setupApi(t);
  const { api, keys } = bundle;
  for (const role of ['viewer', 'client', 'operator', 'worker', 'metrics'] as const)
    t.is((await api('GET', '/api/audit', undefined, as(keys[role]))).status, 403, role);
  const page = await api('GET', '/api/audit?limit=2&offset=1');
  t.like(page.json, { total: 5, limit: 2, offset: 1 });
  t.is((await entriesOf(bundle, '?action=key.created')).length, 0);
  t.is((await entriesOf(bundle, '?actor=nobody')).length, 0);
  t.is((await entriesOf(bundle, '?since=2026-11-21T09:00:00Z&until=2026-11-21T09:00:01Z')).length, 5);
  for (const query of ['action=key.stolen', 'limit=1001', 'since=yesterday', 'who=me'])
    t.is((await api('GET', `/api/audit?${query}`)).status, 400, query);
});
