import test from 'ava';
import { Tickets } from '../../src/auth/tickets.ts';
import type { WireKeyUse } from '../../src/domain/wire/key.ts';
import { setupApi } from '../support/api.ts';
import { request } from '../support/coordinator.ts';
import { FakeClock, seededRandom } from '../support/fakeClock.ts';

test('a key is made, shown once, used, and taken back', async (t) => {
  const { api } = await setupApi(t);
  const made = await api('POST', '/api/keys', { role: 'viewer', name: 'wall display' });
  t.is(made.status, 201);
  const { id, key } = made.json;
  t.regex(String(key), /^svc_viewer_[0-9a-f]+_[0-9a-f]+$/);
  const asViewer = { authorization: `Bearer ${key}` };
  t.is((await api('GET', '/api/jobs', undefined, asViewer)).status, 200);
  t.is((await api('GET', '/api/keys', undefined, asViewer)).status, 403);
  const list = await api('GET', '/api/keys');
  t.false(list.text.includes(String(key).split('_')[3] ?? ''));
  t.true((list.json.keys as { id: string }[]).some((one) => one.id === id));
  t.is((await api('DELETE', `/api/keys/${id}`)).status, 200);
  t.is((await api('GET', '/api/jobs', undefined, asViewer)).status, 401);
  t.is((await api('DELETE', `/api/keys/${id}`)).status, 404);
});

test('a rotated key keeps its id; the old secret is refused at once unless a grace is given', async (t) => {
  const { api, clock } = await setupApi(t);
  const { id, key } = (await api('POST', '/api/keys', { role: 'client' })).json;
  const works = async (secret: unknown) =>
    (await api('GET', '/api/jobs', undefined, { authorization: `Bearer ${secret}` })).status === 200;
  const graceful = await api('POST', `/api/keys/${id}/rotate`, { grace_seconds: 60 });
  t.like(graceful.json, { id, role: 'client' });
  t.true((await works(key)) && (await works(graceful.json.key)));
  clock.advance(60_000);
  t.false(await works(key));
  const sudden = await api('POST', `/api/keys/${id}/rotate`);
  t.false(await works(graceful.json.key));
  t.true(await works(sudden.json.key));
});

test('an answer that waits for the end of a job is not given to a key that was revoked meanwhile', async (t) => {
  const { api, worker, coordinator } = await setupApi(t);
  const { id, key } = (await api('POST', '/api/keys', { role: 'viewer' })).json;
  const hand = await worker();
  const { job } = await coordinator.dispatch(request());
  const assigned = await hand.job();
  const waiting = api('GET', `/api/jobs/${job.id}?wait=30`, undefined, { authorization: `Bearer ${key}` });
  // The server takes its connections in order: an answer to a later one says that this one has come.
  await api('GET', '/health');
  t.is((await api('DELETE', `/api/keys/${id}`)).status, 200);
  await hand.complete(assigned, 'a secret');
  const answer = await waiting;
  t.is(answer.status, 401);
  t.false(answer.text.includes('a secret'));
});

test('bad bodies of keys name their fields', async (t) => {
  const { api } = await setupApi(t);
  for (const [path, body, field] of [
    ['/api/keys', {}, 'role'],
    ['/api/keys', { role: 'god' }, 'role'],
    ['/api/keys', { role: 'viewer', expires_at: 'soon' }, 'expires_at'],
    ['/api/keys', { role: 'viewer', expires_at: '2027-02-29T00:00:00Z' }, 'expires_at'],
    ['/api/keys', { role: 'viewer', expires_at: '2026-11-21T09:00:00Z' }, 'expires_at'],
    ['/api/keys', { role: 'viewer', scopes: [] }, 'scopes'],
    ['/api/keys/x/rotate', { grace_seconds: -1 }, 'grace_seconds'],
  ] as const) {
    const reply = await api('POST', path, body);
    t.is(reply.status, 400);
    t.is(reply.json.errors?.[0]?.field, field);
  }
});

test('a key that is revoked while it is rotated is gone, and stays gone over a restart', async (t) => {
  const { api, restart } = await setupApi(t);
  const { id } = (await api('POST', '/api/keys', { role: 'worker' })).json;
  const [revoked, rotated] = await Promise.all([
    api('DELETE', `/api/keys/${id}`),
    api('POST', `/api/keys/${id}/rotate`, { grace_seconds: 60 }),
  ]);
  // Whichever came first, the revocation is the last word.
  t.is(revoked.status, 200);
  const answers: unknown[] = [200, 404];
  t.true(answers.includes(rotated.status));
  const listed = (await api('GET', '/api/keys')).json.keys as { id: string }[];
  t.false(listed.some((key) => key.id === id));
  const authorization = `Bearer ${rotated.json.key ?? 'none'}`;
  t.is((await api('GET', '/api/worker-config', undefined, { authorization })).status, 401);
  const { store } = await restart();
  t.false((await store.keys()).some((key) => key.id === id));
});

test('two rotations at once come one after the other: the grace is for the secret between them', async (t) => {
  const { api } = await setupApi(t);
  const { id } = (await api('POST', '/api/keys', { role: 'client' })).json;
  const rotate = () => api('POST', `/api/keys/${id}/rotate`, { grace_seconds: 60 });
  for (const { status, json } of await Promise.all([rotate(), rotate()])) {
    t.is(status, 200);
    const authorization = `Bearer ${json.key}`;
    t.is((await api('GET', '/api/jobs', undefined, { authorization })).status, 200);
  }
});

test('a ticket is for whoever reads, and the worker role gets none', async (t) => {
  const { api, keys } = await setupApi(t);
  const issued = await api('POST', '/api/tickets', undefined, { authorization: `Bearer ${keys.viewer}` });
  t.is(issued.status, 201);
  t.is(typeof issued.json.ticket, 'string');
  t.is(
    (await api('POST', '/api/tickets', undefined, { authorization: `Bearer ${keys.worker}` })).status,
    403,
  );
});

test('a ticket says why a socket of the page that asks would be refused', async (t) => {
  const { api, live, url } = await setupApi(t);
  const refusal = async (headers: Record<string, string>) =>
    (await api('POST', '/api/tickets', undefined, headers)).json.refusal;
  t.is(await refusal({}), null);
  t.is(await refusal({ origin: url }), null);
  const foreign = await refusal({ origin: 'https://ops.example' });
  t.regex(
    String(foreign),
    /set public_url to https:\/\/ops\.example, or let the proxy pass the Host header on/,
  );
  live.close();
  t.regex(String(await refusal({ origin: url })), /./);
});

test('a ticket is taken once, within 30 seconds', (t) => {
  const clock = new FakeClock();
  const tickets = new Tickets({ clock, random: seededRandom() });
  const principal = { keyId: 'k', role: 'viewer', name: null, bounds: null, secretHash: 'h' } as const;
  const { ticket } = tickets.issue(principal);
  t.deepEqual(tickets.redeem(ticket), principal);
  t.is(tickets.redeem(ticket), null);
  const late = tickets.issue(principal).ticket;
  clock.advance(30_000);
  t.is(tickets.redeem(late), null);
  t.is(tickets.redeem('never issued'), null);
});

test('of more than 10,000 tickets that wait the oldest go', (t) => {
  const tickets = new Tickets({ clock: new FakeClock(), random: seededRandom() });
  const principalOf = (number: number) =>
    ({ keyId: `k${number % 11}`, role: 'viewer', name: null, bounds: null, secretHash: 'h' }) as const;
  const issued = Array.from({ length: 10_001 }, (_, number) => tickets.issue(principalOf(number)).ticket);
  t.is(tickets.count, 10_000);
  t.is(tickets.redeem(issued[0] ?? ''), null);
  t.deepEqual(tickets.redeem(issued[1] ?? ''), principalOf(1));
  t.deepEqual(tickets.redeem(issued[10_000] ?? ''), principalOf(10_000));
});

test('a key has 1,000 tickets that wait, and pushes out none of another', (t) => {
  const clock = new FakeClock();
  const tickets = new Tickets({ clock, random: seededRandom() });
  const greedy = { keyId: 'greedy', role: 'viewer', name: null, bounds: null, secretHash: 'h' } as const;
  const other = { keyId: 'other', role: 'viewer', name: null, bounds: null, secretHash: 'i' } as const;
  const { ticket } = tickets.issue(other);
  const issued = Array.from({ length: 20_000 }, () => tickets.issue(greedy).ticket);
  t.is(tickets.count, 1_001);
  t.deepEqual(tickets.redeem(ticket), other);
  t.is(tickets.redeem(issued[18_999] ?? ''), null);
  t.deepEqual(tickets.redeem(issued[19_000] ?? ''), greedy);
  // What was used or has expired makes room again.
  clock.advance(30_000);
  const again = Array.from({ length: 1_000 }, () => tickets.issue(greedy).ticket);
  t.is(tickets.count, 1_000);
  t.deepEqual(tickets.redeem(again[0] ?? ''), greedy);
});

test('revoking a worker’s key ends its socket and fails its jobs in the spec’s words, those of no other; retry brings them back', async (t) => {
  const { coordinator, worker, jobAs } = await setupApi(t);
  const other = await worker({ providers: ['other'] });
  const { job: kept } = await coordinator.dispatch(request({ provider: 'other' }));
  const stays = await other.job();
  const hand = await worker({ concurrency: 2 });
  const { job } = await coordinator.dispatch(request());
  await hand.job();
  hand.connection.keyRefused();
  t.is(hand.closed?.code, 4401);
  const failed = await jobAs(job.id, 'failed');
  t.like(failed.life.error, { code: 'authentication_failed', status: 401 });
  t.regex(failed.life.error?.message ?? '', /Authentication failed/);
  t.is((await coordinator.retry(job.id)).job.state, 'pending.ready');
  t.is(other.closed, null);
  await other.complete(stays);
  t.is((await jobAs(kept.id, 'completed')).life.attempts.length, 1);
});

test('a worker key is bound when it is made, shown with that, and bound otherwise later', async (t) => {
  const { api } = await setupApi(t);
  const free = { name_patterns: null, tags: null, providers: null, max_concurrency: null };
  const bounds = { name_patterns: ['gpu-*'], tags: ['eu'], providers: ['vllm'], max_concurrency: 8 };
  t.like((await api('POST', '/api/keys', { role: 'worker' })).json, free);
  const made = await api('POST', '/api/keys', { role: 'worker', ...bounds });
  t.is(made.status, 201);
  t.like(made.json, bounds);
  const { id } = made.json;
  const listed = async () =>
    ((await api('GET', '/api/keys')).json.keys as { id: string }[]).find((key) => key.id === id);
  t.like(await listed(), bounds);
  const changed = await api('PATCH', `/api/keys/${id}`, { tags: null, max_concurrency: 2 });
  t.is(changed.status, 200);
  t.false('key' in changed.json);
  t.like(changed.json, { ...bounds, tags: null, max_concurrency: 2 });
  t.like((await api('POST', `/api/keys/${id}/rotate`)).json, { ...bounds, tags: null, max_concurrency: 2 });
  t.like(await listed(), { ...bounds, tags: null, max_concurrency: 2 });
});

test('bounds are for worker keys alone, and have a form', async (t) => {
  const { api } = await setupApi(t);
  const { id } = (await api('POST', '/api/keys', { role: 'client', tags: null })).json;
  const worker = (await api('POST', '/api/keys', { role: 'worker' })).json.id;
  for (const [method, path, body, field] of [
    ['POST', '/api/keys', { role: 'client', max_concurrency: 1 }, 'max_concurrency'],
    ['POST', '/api/keys', { role: 'admin', name_patterns: ['*'] }, 'name_patterns'],
    ['POST', '/api/keys', { role: 'worker', name_patterns: [] }, 'name_patterns'],
    ['POST', '/api/keys', { role: 'worker', tags: ['t'.repeat(201)] }, 'tags[0]'],
    ['POST', '/api/keys', { role: 'worker', providers: Array(101).fill('p') }, 'providers'],
    ['PATCH', `/api/keys/${worker}`, { max_concurrency: 10_001 }, 'max_concurrency'],
    ['PATCH', `/api/keys/${worker}`, { name: 'other' }, 'name'],
    ['PATCH', `/api/keys/${worker}`, {}, ''],
  ] as const) {
    const reply = await api(method, path, body);
    t.is(reply.status, 400, JSON.stringify(body));
    t.is(reply.json.errors?.[0]?.field, field, reply.text);
  }
  t.is((await api('PATCH', `/api/keys/${id}`, { tags: ['eu'] })).status, 400);
  t.is((await api('PATCH', '/api/keys/nobody', { tags: ['eu'] })).status, 404);
});

test('a key says which workers and programs have used it lately, the last 20 of them', async (t) => {
  const { api, clock, worker } = await setupApi(t);
  const { id, key } = (await api('POST', '/api/keys', { role: 'client', name: 'app' })).json;
  await worker({ name: 'box-1' }, [], { keyId: String(id), name: 'app', bounds: null });
  const as = (agent: string) =>
    api('GET', '/api/jobs', undefined, { authorization: `Bearer ${key}`, 'user-agent': agent });
  for (let count = 0; count < 22; count += 1) await as(`tool/${count}`);
  clock.advance(1_000);
  await as('tool/5');
  await as('a'.repeat(500));
  const list = (await api('GET', '/api/keys')).json.keys as { id: string; used_by: WireKeyUse }[];
  const used = list.find((one) => one.id === id)?.used_by;
  t.deepEqual(used?.workers, ['box-1']);
  t.deepEqual(
    used?.clients.map(({ name }) => name),
    [
      'a'.repeat(100),
      'tool/5',
      ...[21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 4, 3].map((count) => `tool/${count}`),
    ],
  );
  t.deepEqual(used?.clients[1], {
    name: 'tool/5',
    address: used?.clients[0]?.address ?? null,
    last_used_at: '2026-11-21T09:00:01.000Z',
  });
  const rotated = await api('POST', `/api/keys/${id}/rotate`);
  t.true(used?.more);
  t.deepEqual(rotated.json.used_by, used as never);
});
