import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { KeyRing } from '../../src/auth/keyRing.ts';
import { createClient } from '../../src/client/client.ts';
import { loadConfig } from '../../src/config/load.ts';
import { keyStorage } from '../../src/coordinator/keyStorage.ts';
import { sessionsMax } from '../../src/domain/key.ts';
import { StartRefused } from '../../src/lib/listening.ts';
import { silent } from '../../src/lib/log.ts';
import { systemRandom } from '../../src/lib/systemClock.ts';
import { type Service, startService } from '../../src/service.ts';
import { dashboard } from '../live/support/dashboard.ts';
import { type ApiBundle, environmentKey, type Reply, setupApi } from '../support/api.ts';
import { request } from '../support/coordinator.ts';
import { temporaryFolder } from '../support/folder.ts';
import { until } from '../support/process.ts';

const dayMs = 86_400_000;
const bearer = (key: unknown) => ({ authorization: `Bearer ${key}` });

async function newKey({ api }: ApiBundle, body: object): Promise<{ id: string; key: string }> {
  const { id, key } = (await api('POST', '/api/keys', body)).json;
  return { id: String(id), key: String(key) };
}

async function newSession({ api }: ApiBundle, key: string): Promise<{ id: string; key: string }> {
  const { status, json } = await api('POST', '/api/sessions', undefined, bearer(key));
  if (status !== 201) throw new Error(JSON.stringify(json));
  return { id: String(json.id), key: String(json.key) };
}

async function statusOf({ api }: ApiBundle, key: string): Promise<number> {
  return (await api('GET', '/api/jobs', undefined, bearer(key))).status;
}

async function idsOf({ api }: ApiBundle, key: string = environmentKey): Promise<unknown[]> {
  const { sessions, total } = (await api('GET', '/api/sessions', undefined, bearer(key))).json;
  const ids = (sessions as { id: string }[]).map(({ id }) => id);
  if (ids.length !== total) throw new Error(`${ids.length} of ${total}`);
  return ids;
}

/** Ids of what the store holds of sessions. */
async function storedIds({ store }: Pick<ApiBundle, 'store'>): Promise<string[]> {
  return (await store.keys()).filter(({ sessionOf }) => sessionOf !== undefined).map(({ id }) => id);
}

/** Until the store holds these sessions and no others: what was swept is removed from it in the background, at the disk's speed. */
async function untilStored(
  t: ExecutionContext,
  bundle: Pick<ApiBundle, 'store'>,
  ids: string[],
): Promise<void> {
  let stored: string[] = [];
  await until(
    () => `the store has ${stored} and not ${ids}`,
    async () => {
      stored = await storedIds(bundle);
      return stored.length === ids.length;
    },
  );
  t.deepEqual(stored.sort(), [...ids].sort());
}

for (const role of ['viewer', 'client', 'operator', 'admin'] as const) {
  test(`a key with the role ${role} makes a session with its role, and the session ends by itself`, async (t) => {
    const bundle = await setupApi(t);
    const { api, clock } = bundle;
    const parent = await newKey(bundle, { role, name: 'laptop' });
    const made = await api('POST', '/api/sessions', undefined, bearer(parent.key));
    const expiresAt = new Date(clock.now() + 30 * dayMs).toISOString();
    t.like(made, { status: 201, json: { role, key_id: parent.id, expires_at: expiresAt } });
    t.is(made.headers.get('location'), `/api/sessions/${made.json.id}`);
    const session = bearer(made.json.key);
    t.regex(String(made.json.key), new RegExp(`^svc_${role}_[0-9a-f]{16}_[0-9a-f]{48}$`));
    const { json } = await api('GET', '/api/sessions', undefined, session);
    const own = (json.sessions as Record<string, unknown>[]).filter(({ current }) => current === true);
    t.like(own, [{ id: made.json.id, key_id: parent.id, key_name: 'laptop', role }]);
    t.is((await api('GET', '/api/keys', undefined, session)).status, role === 'admin' ? 200 : 403);
    const ended = await api('DELETE', '/api/sessions/current', undefined, session);
    t.like(ended, { status: 200, json: { id: made.json.id, current: true } });
    t.is((await api('GET', '/api/jobs', undefined, session)).status, 401);
    t.is(await statusOf(bundle, parent.key), 200);
    t.deepEqual(await storedIds(bundle), []);
  });
}

test('a worker or metrics key makes no sessions, and neither does a session', async (t) => {
  const bundle = await setupApi(t);
  const { api, keys } = bundle;
  for (const role of ['worker', 'metrics'] as const) {
    t.is((await api('POST', '/api/sessions', undefined, bearer(keys[role]))).status, 403, role);
  }
  const { key } = await newSession(bundle, keys.admin);
  t.like(await api('POST', '/api/sessions', undefined, bearer(key)), {
    status: 403,
    json: { code: 'forbidden' },
  });
  t.is((await api('POST', '/api/keys', { role: 'viewer' }, bearer(key))).status, 201);
  t.is((await api('DELETE', '/api/sessions/current')).status, 404);
});

test('what a session does is done by its key: jobs, idempotency keys, the audit log', async (t) => {
  const bundle = await setupApi(t);
  const { api } = bundle;
  const parent = await newKey(bundle, { role: 'operator', name: 'laptop' });
  const session = await newSession(bundle, parent.key);
  const body = { prompt: 'p', provider: 'nobody' };
  const headers = { ...bearer(session.key), 'idempotency-key': 'once' };
  const sent = await api('POST', '/api/jobs', body, headers);
  t.like(sent, { status: 201, json: { created_by: { key_id: parent.id, name: 'laptop' } } });
  const again = await api('POST', '/api/jobs', body, { ...headers, ...bearer(parent.key) });
  t.like(again, { status: 200, json: { id: sent.json.id } });
  await api('POST', '/api/queue/pause', undefined, bearer(session.key));
  await api('DELETE', `/api/sessions/${session.id}`, undefined, bearer(parent.key));
  const { entries } = (await api('GET', `/api/audit?actor=${parent.id}`)).json;
  const actor = { key_id: parent.id, name: 'laptop', role: 'operator' };
  const target = { kind: 'session', id: session.id, name: 'laptop' };
  t.like(entries, [
    { action: 'session.ended', actor, target, details: { key_id: parent.id, role: 'operator' } },
    { action: 'queue.paused', actor },
    { action: 'session.created', actor, target },
  ]);
  t.false(JSON.stringify(entries).includes(session.key.slice(-48, -8)));
});

test('sessions are no keys: they are in no list of keys, and are neither rotated nor revoked as one', async (t) => {
  const bundle = await setupApi(t);
  const { api, keys } = bundle;
  const { id, key } = await newSession(bundle, keys.viewer);
  t.is(await statusOf(bundle, key), 200);
  const list = await api('GET', '/api/keys');
  t.false(list.text.includes(id));
  for (const [method, path, body] of [
    ['DELETE', `/api/keys/${id}`, undefined],
    ['POST', `/api/keys/${id}/rotate`, undefined],
    ['PATCH', `/api/keys/${id}`, { tags: [] }],
  ] as const) {
    t.is((await api(method, path, body)).status, 404, path);
  }
  t.is(await statusOf(bundle, key), 200);
  const [viewer] = (list.json.keys as Record<string, unknown>[]).filter(({ role }) => role === 'viewer');
  t.truthy(viewer?.last_used_at, 'a request of a session is one of its key');
});

test('a key sees and ends its own sessions; admins those of all', async (t) => {
  const bundle = await setupApi(t);
  const { api } = bundle;
  const [one, other] = [await newKey(bundle, { role: 'viewer' }), await newKey(bundle, { role: 'operator' })];
  const first = await newSession(bundle, one.key);
  const second = await newSession(bundle, one.key);
  const third = await newSession(bundle, other.key);
  t.deepEqual((await idsOf(bundle, one.key)).sort(), [first.id, second.id].sort());
  t.deepEqual((await idsOf(bundle, second.key)).sort(), [first.id, second.id].sort());
  t.deepEqual((await idsOf(bundle)).sort(), [first.id, second.id, third.id].sort());
  const end = (id: string, key: string): Promise<Reply> =>
    api('DELETE', `/api/sessions/${id}`, undefined, bearer(key));
  t.is((await end(first.id, other.key)).status, 404);
  t.is((await end(first.id, second.key)).status, 200);
  t.is((await end(first.id, second.key)).status, 404);
  t.is((await end(one.id, environmentKey)).status, 404, 'a key is no session');
  t.deepEqual([await statusOf(bundle, first.key), await statusOf(bundle, second.key)], [401, 200]);
  t.like(await end(second.id, second.key), { status: 200, json: { current: true } });
  t.is((await end(third.id, environmentKey)).status, 200);
  t.deepEqual(await idsOf(bundle), []);
});

test('the sockets of a session end with it, 4401, and those of another session stay', async (t) => {
  const bundle = await setupApi(t);
  const { api, keys } = bundle;
  const [one, other] = [await newSession(bundle, keys.viewer), await newSession(bundle, keys.viewer)];
  const connect = async (key: string) => {
    const { ticket } = (await api('POST', '/api/tickets', undefined, bearer(key))).json;
    const protocols = ['svc.v1', `ticket.${ticket}`];
    return dashboard(t, bundle, { protocols, headers: { origin: bundle.url } });
  };
  const [ending, lasting] = [await connect(one.key), await connect(other.key)];
  const unused = (await api('POST', '/api/tickets', undefined, bearer(one.key))).json.ticket;
  await api('DELETE', `/api/sessions/${one.id}`);
  t.is(await ending.closed, 4401);
  t.is((await api('GET', `/api/events?ticket=${unused}`, undefined, { authorization: '' })).status, 401);
  const parent = (await api('GET', '/api/keys')).json.keys as { id: string; role: string }[];
  await api('DELETE', `/api/keys/${parent.find(({ role }) => role === 'viewer')?.id}`);
  t.is(await lasting.closed, 4401);
});

/** Each ends the key of a session. */
const ends: Record<string, (bundle: ApiBundle, id: string) => Promise<unknown>> = {
  revoked: ({ api }, id) => api('DELETE', `/api/keys/${id}`),
  rotated: ({ api }, id) => api('POST', `/api/keys/${id}/rotate`),
  'out of its grace': async (bundle, id) => {
    const { api, clock } = bundle;
    await api('POST', `/api/keys/${id}/rotate`, { grace_seconds: 60 });
    const [session] = (await api('GET', '/api/sessions')).json.sessions as { id: string }[];
    if (session === undefined) throw new Error('the grace counts for sessions too');
    clock.advance(60_000);
  },
  expired: async ({ clock }) => clock.advance(dayMs),
};

for (const [what, end] of Object.entries(ends)) {
  test(`a session ends with its key that is ${what}, and is removed from the store`, async (t) => {
    const bundle = await setupApi(t);
    const { clock, api, coordinator } = bundle;
    const expires_at = new Date(clock.now() + dayMs).toISOString();
    const parent = await newKey(bundle, { role: 'client', expires_at });
    const session = await newSession(bundle, parent.key);
    t.like((await api('GET', '/api/sessions')).json.sessions, [{ expires_at }]);
    const kept = await newSession(bundle, bundle.keys.viewer);
    const { job } = await coordinator.dispatch({ ...request(), provider: 'nobody' });
    const waiting = api('GET', `/api/jobs/${job.id}?wait=100`, undefined, bearer(session.key));
    t.is(await statusOf(bundle, session.key), 200);
    await end(bundle, parent.id);
    t.is((await waiting).status, 401);
    t.is(await statusOf(bundle, session.key), 401);
    t.is(await statusOf(bundle, kept.key), 200);
    t.deepEqual(await idsOf(bundle), [kept.id]);
    await untilStored(t, bundle, [kept.id]);
  });
}

test('a session made with the old secret in its grace ends with that, one of the new secret stays', async (t) => {
  const bundle = await setupApi(t);
  const { api, clock } = bundle;
  const parent = await newKey(bundle, { role: 'client' });
  const { key } = (await api('POST', `/api/keys/${parent.id}/rotate`, { grace_seconds: 60 })).json;
  const [old, renewed] = [await newSession(bundle, parent.key), await newSession(bundle, String(key))];
  const listed = (await api('GET', '/api/sessions')).json.sessions as { id: string; expires_at: string }[];
  const end = listed.find(({ id }) => id === old.id)?.expires_at;
  t.is(end, new Date(clock.now() + 60_000).toISOString());
  clock.advance(60_000);
  t.deepEqual([await statusOf(bundle, old.key), await statusOf(bundle, renewed.key)], [401, 200]);
});

test('a session ends after 30 days', async (t) => {
  const bundle = await setupApi(t);
  const { key } = await newSession(bundle, bundle.keys.viewer);
  bundle.clock.stall(30 * dayMs - 1_000);
  t.is(await statusOf(bundle, key), 200);
  bundle.clock.advance(1_000);
  t.is(await statusOf(bundle, key), 401);
  t.is(await statusOf(bundle, bundle.keys.viewer), 200);
  await untilStored(t, bundle, []);
});

test('a key has 50 sessions: the oldest ends when one more is made, none of another key does', async (t) => {
  const bundle = await setupApi(t);
  const { api, clock, keys } = bundle;
  const other = await newSession(bundle, keys.operator);
  const made: { id: string; key: string }[] = [];
  for (let count = 0; count <= sessionsMax; count += 1) {
    clock.advance(1_000);
    made.push(await newSession(bundle, keys.client));
  }
  t.deepEqual(
    await idsOf(bundle, keys.client),
    made.slice(1).map(({ id }) => id),
  );
  t.is(await statusOf(bundle, made[0]?.key ?? ''), 401);
  t.is(await statusOf(bundle, other.key), 200);
  t.is((await storedIds(bundle)).length, sessionsMax + 1);
  const [entry] = (await api('GET', '/api/audit?action=session.created')).json.entries as object[];
  t.like(entry, { details: { ended: [made[0]?.id] } });
});

test('two sessions asked for at the same time are both made, and a revocation that comes first leaves none', async (t) => {
  const bundle = await setupApi(t);
  const { api } = bundle;
  const parent = await newKey(bundle, { role: 'viewer' });
  const pair = await Promise.all([newSession(bundle, parent.key), newSession(bundle, parent.key)]);
  t.deepEqual((await idsOf(bundle)).sort(), pair.map(({ id }) => id).sort());
  const [, late] = await Promise.all([
    api('DELETE', `/api/keys/${parent.id}`),
    api('POST', '/api/sessions', undefined, bearer(parent.key)),
  ]);
  if (late.status === 201) t.is(await statusOf(bundle, String(late.json.key)), 401);
  t.deepEqual(await idsOf(bundle), []);
  await untilStored(t, bundle, []);
});

test('sessions survive a restart; those of another SVC_API_KEY and of keys that are gone do not', async (t) => {
  const bundle = await setupApi(t);
  const { clock, keys } = bundle;
  const parent = await newKey(bundle, {
    role: 'viewer',
    expires_at: new Date(clock.now() + dayMs).toISOString(),
  });
  const kept = await newSession(bundle, keys.client);
  const late = await newSession(bundle, parent.key);
  const own = await newSession(bundle, environmentKey);
  t.is(await statusOf(bundle, own.key), 200);
  bundle.parts.keys.close();
  const { store, coordinator } = await bundle.restart();
  const storage = keyStorage(store, coordinator.audit);
  const open = async (apiKey: string | null) => {
    const stored = await store.keys();
    const ring = new KeyRing({
      clock,
      random: systemRandom(),
      environmentKey: apiKey,
      keys: stored,
      storage,
    });
    t.teardown(() => ring.close());
    return ring;
  };
  const isTaken = (ring: KeyRing, { key }: { key: string }) =>
    typeof ring.authenticate(`Bearer ${key}`) !== 'string';
  const same = await open(environmentKey);
  t.deepEqual(
    [kept, late, own].map((session) => isTaken(same, session)),
    [true, true, true],
  );
  t.like(same.authenticate(`Bearer ${own.key}`), {
    keyId: 'environment',
    role: 'admin',
    name: 'SVC_API_KEY',
  });
  same.close();
  clock.advance(dayMs);
  const changed = await open('another-admin-key-for-tests');
  t.deepEqual(
    [kept, late, own].map((session) => isTaken(changed, session)),
    [true, false, false],
  );
  await untilStored(t, { store }, [kept.id]);
  changed.close();
  t.false(isTaken(await open(environmentKey), own), 'it does not come back with the old key');
});

test('a start counts no session as a key', async (t) => {
  const folder = temporaryFolder(t);
  const { config } = await loadConfig({
    env: { SVC_DATA_DIR: join(folder, 'data') },
    cwd: folder,
    overrides: { port: 0 },
  });
  const start = (apiKey: string | null, host = '127.0.0.1') =>
    startService({ config: { ...config, host }, apiKey, logger: silent });
  const signIn = (service: Service) =>
    createClient({ baseUrl: service.url, apiKey: service.adminKey }).createSession();
  const first = await start(environmentKey);
  await signIn(first);
  await first.stop(0);
  const second = await start(null);
  t.true(second.isNewKey, 'a session of an SVC_API_KEY that is gone is no way in');
  const { key } = await signIn(second);
  await second.stop(0);
  await t.throwsAsync(start(null, '0.0.0.0'), { instanceOf: StartRefused });
  const third = await start(null);
  t.teardown(() => third.stop(0));
  t.false(third.isNewKey);
  await createClient({ baseUrl: third.url, apiKey: key }).jobs();
});
