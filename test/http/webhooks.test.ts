import test from 'ava';
import { webhooksMax } from '../../src/domain/webhook.ts';
import { setupApi } from '../support/api.ts';
import { HandSender } from '../support/handSender.ts';

const url = 'https://hooks.example.com/svc';

test('a webhook is made, its secret shown once, changed, paused and deleted', async (t) => {
  const { api } = await setupApi(t, {}, { webhookSender: new HandSender() });
  const made = await api('POST', '/api/webhooks', { name: 'ops', url, tags: ['nightly'] });
  t.is(made.status, 201);
  const { id, secret } = made.json;
  t.is(made.headers.get('location'), `/api/webhooks/${id}`);
  t.like(made.json, { name: 'ops', url, events: null, tags: ['nightly'], enabled: true, pending: 0 });
  for (const path of ['/api/webhooks', '/api/webhooks/ops', `/api/webhooks/${id}`]) {
    const shown = await api('GET', path);
    t.is(shown.status, 200);
    t.false(shown.text.includes(String(secret)));
  }
  const paused = await api('PATCH', '/api/webhooks/ops', { enabled: false, events: ['job.failed'] });
  t.like(paused.json, { enabled: false, stopped: { reason: 'paused' }, events: ['job.failed'], url });
  t.like((await api('PATCH', '/api/webhooks/ops', { enabled: true })).json, { enabled: true, stopped: null });
  const rotated = await api('POST', '/api/webhooks/ops/rotate-secret');
  t.not(rotated.json.secret, secret);
  t.truthy(rotated.json.previous_secret_until);
  t.is((await api('DELETE', '/api/webhooks/ops')).status, 200);
  t.is((await api('GET', '/api/webhooks/ops')).status, 404);
  const { json } = await api('GET', '/api/audit');
  const actions = (json.entries as { action: string }[]).map(({ action }) => action);
  t.deepEqual(actions, [
    'webhook.deleted',
    'webhook.rotated',
    'webhook.changed',
    'webhook.changed',
    'webhook.created',
  ]);
});

test('only admins see or make webhooks', async (t) => {
  const { api, keys } = await setupApi(t, {}, { webhookSender: new HandSender() });
  await api('POST', '/api/webhooks', { name: 'ops', url });
  for (const role of ['viewer', 'client', 'operator', 'worker', 'metrics'] as const) {
    const as = { authorization: `Bearer ${keys[role]}` };
    for (const [method, path, body] of [
      ['GET', '/api/webhooks'],
      ['POST', '/api/webhooks', { name: 'mine', url: 'https://evil.example/' }],
      ['GET', '/api/webhooks/ops'],
      ['PATCH', '/api/webhooks/ops', { url: 'https://evil.example/' }],
      ['DELETE', '/api/webhooks/ops'],
      ['POST', '/api/webhooks/ops/rotate-secret'],
      ['POST', '/api/webhooks/ops/test'],
      ['GET', '/api/webhooks/ops/deliveries'],
      ['POST', '/api/webhooks/ops/deliveries/x/send'],
    ] as const)
      t.is((await api(method, path, body, as)).status, 403, `${role} ${method} ${path}`);
  }
  t.is(((await api('GET', '/api/webhooks')).json.webhooks as unknown[]).length, 1);
});

test('bad bodies of webhooks name their fields', async (t) => {
  const sender = new HandSender();
  const { api } = await setupApi(t, {}, { webhookSender: sender });
  await api('POST', '/api/webhooks', { name: 'ops', url });
  for (const [body, field] of [
    [{ url }, 'name'],
    [{ name: 'a' }, 'url'],
    [{ name: 'ops', url }, 'name'],
    [{ name: 'https://x', url }, 'name'],
    [{ name: 'a'.repeat(201), url }, 'name'],
    [{ name: 'a', url: `https://x/${'a'.repeat(2100)}` }, 'url'],
    [{ name: 'a', url, events: ['job.started'] }, 'events[0]'],
    [{ name: 'a', url, events: 'job.failed' }, 'events'],
    [{ name: 'a', url, tags: [] }, 'tags'],
    [{ name: 'a', url, tags: [''] }, 'tags[0]'],
    [{ name: 'a', url, enabled: 'yes' }, 'enabled'],
    [{ name: 'a', url, secret: 'whsec_mine' }, 'secret'],
    [{ name: 'a', url, description: 'a'.repeat(501) }, 'description'],
  ] as const) {
    const reply = await api('POST', '/api/webhooks', body);
    t.is(reply.status, 400, JSON.stringify(body).slice(0, 80));
    t.is(reply.json.errors?.[0]?.field, field);
  }
  t.is((await api('PATCH', '/api/webhooks/ops', {})).status, 400);
  sender.refused = 'localhost leads to 127.0.0.1, which is not on the internet';
  for (const [method, path] of [
    ['POST', '/api/webhooks'],
    ['PATCH', '/api/webhooks/ops'],
  ] as const) {
    const reply = await api(method, path, { name: 'b', url: 'https://localhost/' });
    t.is(reply.status, 400);
    t.like(reply.json.errors?.[0], { field: 'url', message: sender.refused });
  }
});

test('there are at most so many webhooks', async (t) => {
  const { api } = await setupApi(t, {}, { webhookSender: new HandSender() });
  for (let count = 0; count < webhooksMax; count += 1)
    t.is((await api('POST', '/api/webhooks', { name: `w${count}`, url, enabled: false })).status, 201);
  t.is((await api('POST', '/api/webhooks', { name: 'more', url })).status, 400);
});

test('deliveries are listed and sent again; a test says how it ended', async (t) => {
  const sender = new HandSender();
  const { api, worker } = await setupApi(t, {}, { webhookSender: sender });
  await api('POST', '/api/webhooks', { name: 'ops', url, events: [] });
  const hand = await worker();
  const sent = await api('POST', '/api/jobs', { prompt: 'Hi', provider: 'echo', webhook: 'ops' });
  t.is(sent.status, 201);
  t.is(sent.json.webhook, 'ops');
  await hand.complete(await hand.job());
  const message = await sender.message(1);
  t.is(message.event.data.id, String(sent.json.id));
  const deliveries = async () =>
    (await api('GET', '/api/webhooks/ops/deliveries')).json.deliveries as { id: string; state: string }[];
  const [waiting] = await deliveries();
  t.like(waiting, {
    state: 'pending',
    type: 'job.completed',
    tries: 0,
    last: null,
    event_id: message.event.id,
  });
  message.answer(200);
  while ((await deliveries())[0]?.state !== 'delivered');
  const again = await api('POST', `/api/webhooks/ops/deliveries/${waiting?.id}/send`);
  t.is(again.status, 200);
  t.is((await sender.message(2)).event.id, message.event.id);
  t.is((await api('POST', '/api/webhooks/ops/deliveries/none/send')).status, 404);
  await api('PATCH', '/api/webhooks/ops', { enabled: false });
  for (const { id } of await deliveries()) {
    const stopped = await api('POST', `/api/webhooks/ops/deliveries/${id}/send`);
    t.is(stopped.status, 409);
    t.like(stopped.json, { code: 'invalid_transition' });
    t.regex(String(stopped.json.detail), /ops is paused.*svc webhooks resume/);
  }
  t.is((await deliveries()).length, 2);
  await api('PATCH', '/api/webhooks/ops', { enabled: true });
  sender.statuses.set(url, 500);
  t.like((await api('POST', '/api/webhooks/ops/test')).json, { delivered: false, status: 500, error: null });
  const refused = await api('POST', '/api/jobs', { prompt: 'Hi', provider: 'echo', webhook: 'nobody' });
  t.is(refused.status, 400);
  t.is(refused.json.errors?.[0]?.field, 'webhook');
});
