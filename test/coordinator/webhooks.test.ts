import { setTimeout as delay } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { nobody } from '../../src/domain/audit.ts';
import type { Principal } from '../../src/domain/key.ts';
import { formerSecretsMax, pendingMax, type WebhookRecord } from '../../src/domain/webhook.ts';
import { nextTurn } from '../../src/lib/nextTurn.ts';
import { type Bundle, request, setup } from '../support/coordinator.ts';
import { HandSender } from '../support/handSender.ts';

const url = 'https://hooks.example.com/svc';
const other = 'https://other.example.com/';
const second = 1_000;
const hour = 3_600_000;

interface Hooked extends Bundle {
  sender: HandSender;
}

async function hooked(t: ExecutionContext, overrides: Parameters<typeof setup>[1] = {}): Promise<Hooked> {
  const sender = new HandSender();
  return { ...(await setup(t, overrides, { webhookSender: sender })), sender };
}

async function create(
  { coordinator }: Bundle,
  settings: Partial<Parameters<Bundle['coordinator']['webhooks']['create']>[0]> = {},
): Promise<WebhookRecord> {
  const events: WebhookRecord['events'] = ['job.completed'];
  const wanted = { name: 'ops', url, description: null, events, tags: null, isEnabled: true, ...settings };
  return (await coordinator.webhooks.create(wanted, nobody)).webhook;
}

/** A job that has completed. */
async function complete(bundle: Bundle, fields: Parameters<typeof request>[0] = {}): Promise<string> {
  const worker = await bundle.worker();
  const { job } = await bundle.coordinator.dispatch(request(fields));
  await worker.complete(await worker.job());
  await bundle.jobAs(job.id, 'completed');
  worker.close(1000, '');
  return job.id;
}

/** Resolves when it is as `seen` says. The clock of the coordinator stands still meanwhile. */
async function until(seen: () => boolean): Promise<void> {
  const startedAt = Date.now();
  while (!seen()) {
    if (Date.now() - startedAt > 20_000) throw new Error(`it does not come to ${seen}`);
    await nextTurn();
  }
}

const last = ({ coordinator }: Bundle, name = 'ops') => coordinator.webhooks.deliveries(name, 1)[0];

test('the end of a job is sent to an endpoint, signed with its secret', async (t) => {
  const bundle = await hooked(t);
  const webhook = await create(bundle);
  const id = await complete(bundle);
  const message = await bundle.sender.message(1);
  t.like(message, { url, secrets: [webhook.secret], event: { type: 'job.completed', data: { id } } });
  t.regex(webhook.secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  message.answer(204);
  await until(() => last(bundle)?.state === 'delivered');
  t.like(last(bundle), { tries: 1, nextAt: null, last: { status: 204, error: null } });
  t.is(bundle.sender.sent.length, 1);
});

test('without an endpoint a job carries nothing', async (t) => {
  const bundle = await hooked(t);
  await complete(bundle);
  t.deepEqual(await bundle.store.webhooks(), { webhooks: [], deliveries: [] });
  t.is(bundle.sender.sent.length, 0);
});

test('a receiver that is down for hours gets the message by the steps of the standard, under one id', async (t) => {
  const bundle = await hooked(t);
  await create(bundle);
  await complete(bundle);
  const { clock, sender } = bundle;
  const waits: number[] = [];
  for (let count = 1; count <= 10; count += 1) {
    (await sender.message(count)).answer(500);
    await until(() => last(bundle)?.tries === count);
    const { nextAt = null } = last(bundle) ?? {};
    if (nextAt === null) break;
    waits.push(nextAt - clock.now());
    // Its breaker may be open for up to an hour more.
    while (sender.sent.length === count) {
      clock.advance(60 * second);
      await nextTurn();
    }
  }
  const steps = [5 * second, 300 * second, 1800 * second, ...[2, 5, 10, 14, 20, 24].map((h) => h * hour)];
  t.is(waits.length, steps.length);
  for (const [index, step] of steps.entries()) {
    const wait = waits[index] ?? 0;
    t.true(wait >= step && wait <= step * 1.1, `${wait} for ${step}`);
  }
  t.is(new Set(sender.sent.map(({ event }) => event.id)).size, 1);
  t.like(last(bundle), { state: 'failed', tries: 10 });
  // Nothing has arrived for three days.
  t.like(bundle.coordinator.webhooks.get('ops').webhook.stopped, { reason: 'failing' });
});

test('what was not delivered when the process was killed is sent after the restart', async (t) => {
  const bundle = await hooked(t);
  await create(bundle);
  const id = await complete(bundle);
  const { event } = await bundle.sender.message(1);
  const again = await bundle.restart();
  const message = await bundle.sender.message(2);
  t.deepEqual(message.event, event);
  t.is(message.event.data.id, id);
  message.answer(200);
  await until(() => last(again)?.state === 'delivered');
  const third = await again.restart();
  await complete(third);
  t.not((await bundle.sender.message(3)).event.id, event.id);
});

test('a dead endpoint holds up no other: it is probed by one message at a time', async (t) => {
  const bundle = await hooked(t);
  const { sender, clock } = bundle;
  await create(bundle, { name: 'dead', url: other });
  await create(bundle);
  sender.statuses.set(url, 200);
  sender.statuses.set(other, null);
  for (let count = 0; count < 12; count += 1) await complete(bundle);
  const toDead = () => sender.sent.filter((message) => message.url === other).length;
  await until(() => sender.sent.filter((message) => message.url === url).length === 12);
  await until(() => bundle.coordinator.webhooks.get('ops').pending === 0);
  // Five in a row, and those that were under way with them.
  t.true(toDead() >= 5 && toDead() <= 8, String(toDead()));
  const before = toDead();
  clock.advance(34 * second);
  await until(() => toDead() === before + 1);
  clock.advance(50 * second);
  for (let turn = 0; turn < 20; turn += 1) await nextTurn();
  t.is(toDead(), before + 1);
  sender.statuses.set(other, 200);
  const left = () => bundle.coordinator.webhooks.get('dead').pending;
  // Pauses of real time, because what follows a message waits for the disk; ava's timeout ends what never comes.
  for (; left() > 0; await delay(10)) clock.advance(30 * second);
  t.is(last(bundle, 'dead')?.state, 'delivered');
});

test('an endpoint that says that it is gone gets nothing more, until an admin enables it', async (t) => {
  const bundle = await hooked(t);
  await create(bundle);
  await complete(bundle);
  (await bundle.sender.message(1)).answer(410);
  await until(() => last(bundle)?.state === 'failed');
  t.like(bundle.coordinator.webhooks.get('ops').webhook.stopped, { reason: 'gone' });
  await complete(bundle);
  t.is(bundle.sender.sent.length, 1);
  const audit = await bundle.coordinator.audit.page({
    since: null,
    until: null,
    actor: null,
    actions: ['webhook.stopped'],
    limit: 5,
    offset: 0,
  });
  t.is(audit.total, 1);
  await bundle.coordinator.webhooks.change('ops', { isEnabled: true }, nobody);
  await complete(bundle);
  await bundle.sender.message(2);
  t.pass();
});

test('Retry-After is honoured, up to a day', async (t) => {
  const bundle = await hooked(t);
  await create(bundle);
  await complete(bundle);
  const at = () => (last(bundle)?.nextAt ?? 0) - bundle.clock.now();
  (await bundle.sender.message(1)).answer(429, '120');
  await until(() => last(bundle)?.tries === 1);
  t.is(at(), 120 * second);
  // Others wait as well.
  await complete(bundle);
  for (let turn = 0; turn < 20; turn += 1) await nextTurn();
  t.is(bundle.sender.sent.length, 1);
  bundle.clock.advance(121 * second);
  (await bundle.sender.message(2)).answer(503, '99999999');
  (await bundle.sender.message(3)).answer(503, 'a while');
  const waits = () =>
    bundle.coordinator.webhooks.deliveries('ops', 2).map(({ nextAt }) => (nextAt ?? 0) - bundle.clock.now());
  await until(() => waits().every((ms) => ms > 0));
  t.is(Math.max(...waits()), 24 * hour);
});

test('filters choose by event and by tag; a job that names an endpoint passes them', async (t) => {
  const bundle = await hooked(t);
  for (const one of [url, other]) bundle.sender.statuses.set(one, 200);
  await create(bundle, { events: ['job.failed'] });
  await create(bundle, { name: 'nightly', url: other, tags: ['nightly'] });
  const sent = () => bundle.sender.sent.map((message) => [message.url, message.event.type]);
  await complete(bundle);
  t.deepEqual(sent(), []);
  await complete(bundle, { tags: ['nightly'] });
  await until(() => sent().length === 1);
  await complete(bundle, { webhook: 'ops' });
  await until(() => sent().length === 2);
  t.deepEqual(sent(), [
    [other, 'job.completed'],
    [url, 'job.completed'],
  ]);
  const failure = await t.throwsAsync(bundle.coordinator.dispatch(request({ webhook: 'nobody' })));
  t.like(failure, { code: 'invalid_request', details: { errors: [{ field: 'webhook' }] } });
});

test('a job names a URL only where its host is allowed and has an endpoint, whose secret signs', async (t) => {
  const bundle = await hooked(t, {
    webhooks: { allowHttp: false, allowPrivate: [], allowedHosts: ['hooks.example.com', 'x.example'] },
  });
  const { secret } = await create(bundle, { events: [] });
  const named = 'https://hooks.example.com/jobs/1';
  await complete(bundle, { webhook: named });
  t.like(await bundle.sender.message(1), { url: named, secrets: [secret] });
  for (const webhook of [
    'https://evil.example/',
    'https://x.example/',
    'http://[',
    'https://hooks.example.com:444/',
    'https://user:word@hooks.example.com/',
    'http://hooks.example.com/',
    `https://hooks.example.com/${'x'.repeat(2048)}`,
  ])
    t.like(await t.throwsAsync(bundle.coordinator.dispatch(request({ webhook }))), {
      code: 'invalid_request',
    });
});

test('what a former URL answers says nothing of the new one, which gets the message', async (t) => {
  const bundle = await hooked(t);
  await create(bundle);
  await complete(bundle);
  const { webhooks } = bundle.coordinator;
  const late = await bundle.sender.message(1);
  bundle.sender.statuses.set(other, 204);
  await webhooks.change('ops', { url: other }, nobody);
  late.answer(410);
  await until(() => last(bundle)?.state === 'delivered');
  t.is(webhooks.get('ops').webhook.stopped, null);
  t.is((await bundle.sender.message(2)).event.id, late.event.id);
});

test('endpoints that were stored with one former secret, or with none, go on', async (t) => {
  const bundle = await hooked(t);
  bundle.sender.statuses.set(url, 204);
  const { secret, ...plain } = await create(bundle);
  const former = { secret: 'whsec_b2xk', until: bundle.clock.now() + hour };
  const stored = [
    { ...plain, secret, previous: former },
    { ...plain, secret, id: 'second', name: 'second', previous: null },
  ] as unknown as WebhookRecord[];
  await bundle.store.commit(stored.map((webhook) => ({ kind: 'webhook' as const, webhook })));
  const again = await bundle.restart();
  await complete(again);
  const sent = [await bundle.sender.message(1), await bundle.sender.message(2)];
  t.deepEqual(sent.map(({ secrets }) => secrets.length).sort(), [1, 2]);
});

test('how URLs that jobs name answer neither stops, slows nor empties the endpoint of their host', async (t) => {
  const bundle = await hooked(t, {
    webhooks: { allowHttp: false, allowPrivate: [], allowedHosts: ['hooks.example.com'] },
  });
  const { coordinator, sender, clock } = bundle;
  await create(bundle);
  const named = (path: string) => `https://hooks.example.com/${path}`;
  sender.statuses.set(url, 200);
  sender.statuses.set(named('gone'), 410);
  for (let count = 0; count < 8; count += 1) sender.statuses.set(named(`dead-${count}`), 500);
  const toOwn = () => sender.sent.filter((message) => message.url === url).length;

  await complete(bundle, { webhook: named('gone') });
  for (let count = 0; count < 8; count += 1) await complete(bundle, { webhook: named(`dead-${count}`) });
  await until(() => toOwn() === 9);
  t.is(coordinator.webhooks.get('ops').webhook.stopped, null);

  // More messages that nobody answers than may be under way.
  for (let count = 0; count < 80; count += 1)
    await coordinator.dispatch(request({ webhook: named(`slow-${count}`) }));
  const worker = await bundle.worker({ concurrency: 80 });
  for (let nth = 1; nth <= 80; nth += 1) await worker.complete(await worker.job(nth));
  await until(() => toOwn() === 89);
  worker.close(1000, '');
  const isSlow = ({ url: of }: { url: string }) => of.includes('slow-');
  await until(() => sender.sent.filter(isSlow).length >= 16);
  await complete(bundle);
  await until(() => toOwn() === 90);
  t.is(sender.sent.filter(isSlow).length, 16);
  // Each that is answered makes room for the next.
  for (let nth = 0; nth < 80; nth += 1) {
    await until(() => sender.sent.filter(isSlow).length > nth);
    sender.sent.filter(isSlow)[nth]?.answer(204);
  }
  await until(() => coordinator.webhooks.get('ops').pending === 8);

  // What is dead is given up after three days.
  for (; coordinator.webhooks.get('ops').pending > 0; await delay(1)) clock.advance(hour);
  t.is(coordinator.webhooks.get('ops').webhook.stopped, null);
});

test('of too much that waits, what goes to URLs of jobs is dropped first', async (t) => {
  const bundle = await hooked(t);
  const { id: webhookId } = await create(bundle);
  const ofJobs = 300;
  await bundle.store.commit(
    Array.from({ length: pendingMax }, (_, n) => ({
      kind: 'delivery' as const,
      delivery: {
        id: `waits-${n}`,
        webhookId,
        ...(n < pendingMax - ofJobs ? {} : { url: `${url}/${n}` }),
        event: { id: `evt_${n}`, type: 'job.completed' as const, at: 0, data: { id: `${n}` } },
        state: 'pending' as const,
        createdAt: 0,
        tries: 3,
        nextAt: bundle.clock.now() + hour,
        last: null,
      },
    })),
  );
  const again = await bundle.restart();
  const { webhooks } = again.coordinator;
  t.is(webhooks.get('ops').pending, pendingMax);
  await complete(again);
  await until(() => webhooks.get('ops').webhook.dropped > 0);
  t.true(webhooks.get('ops').webhook.dropped > ofJobs);
  const left = webhooks.deliveries('ops', pendingMax);
  t.deepEqual(
    left.filter((delivery) => delivery.url !== undefined),
    [],
  );
});

test('a job with the form of a response, a lost worker and a run are events too', async (t) => {
  const bundle = await hooked(t);
  bundle.sender.statuses.set(url, 200);
  await create(bundle, { events: null });
  const { coordinator } = bundle;
  const worker = await bundle.worker({ name: 'gpu' });
  const { job } = await coordinator.dispatch(request({ door: { form: 'response', fields: {} } }));
  await worker.complete(await worker.job());
  await bundle.jobAs(job.id, 'completed');
  const types = () => bundle.sender.sent.map(({ event }) => event.type);
  await until(() => types().length === 2);
  t.deepEqual(new Set(types()), new Set(['job.completed', 'response.completed']));
  const response = bundle.sender.sent.find(({ event }) => event.type === 'response.completed');
  t.deepEqual(response?.event.data, { id: `resp_${job.id.replaceAll('-', '')}`, job_id: job.id });
  worker.drop();
  const lost = await bundle.sender.message(3);
  t.like(lost.event, { type: 'worker.lost', data: { id: worker.id, name: 'gpu' } });
});

test('a response that is cut, fails or is cancelled is an event of its own', async (t) => {
  const bundle = await hooked(t);
  bundle.sender.statuses.set(url, 200);
  const events: WebhookRecord['events'] = ['response.incomplete', 'response.failed', 'response.cancelled'];
  await create(bundle, { events });
  const { coordinator } = bundle;
  const worker = await bundle.worker();
  const ids: string[] = [];
  for (const [place, type] of events.entries()) {
    const { job } = await coordinator.dispatch(request({ door: { form: 'response', fields: {} } }));
    ids.push(job.id);
    const assigned = await worker.job(place + 1);
    if (type === 'response.incomplete')
      await worker.complete(assigned, 'hell', undefined, { finishReason: 'length' });
    else if (type === 'response.cancelled') await coordinator.cancel(job.id);
    else {
      const failure = { class: 'invalid_request', message: 'no', status: 400, code: null } as const;
      const { lease } = assigned;
      await worker.connection.conclude(
        { jobId: job.id, lease },
        {
          type: 'fail',
          failure: { ...failure, retryAfterMs: null },
          usage: null,
        },
      );
    }
    await until(() => bundle.sender.sent.length > place);
  }
  for (const [place, { event }] of bundle.sender.sent.entries())
    t.like(event, { type: events[place], data: { job_id: ids[place] } });
});

test('after a rotation the old secret signs for a day, also after more rotations', async (t) => {
  const bundle = await hooked(t);
  bundle.sender.statuses.set(url, 200);
  const { secret } = await create(bundle);
  const rotated = (await bundle.coordinator.webhooks.rotate('ops', nobody)).webhook;
  t.not(rotated.secret, secret);
  await complete(bundle);
  t.deepEqual((await bundle.sender.message(1)).secrets, [rotated.secret, secret]);
  bundle.clock.advance(12 * hour);
  const later = (await bundle.coordinator.webhooks.rotate('ops', nobody)).webhook;
  await complete(bundle);
  t.deepEqual((await bundle.sender.message(2)).secrets, [later.secret, rotated.secret, secret]);
  bundle.clock.advance(12 * hour);
  await complete(bundle);
  t.deepEqual((await bundle.sender.message(3)).secrets, [later.secret, rotated.secret]);
  for (let count = 0; count < 10; count += 1) await bundle.coordinator.webhooks.rotate('ops', nobody);
  await complete(bundle);
  t.is((await bundle.sender.message(4)).secrets.length, 1 + formerSecretsMax);
});

test('what was sent can be sent again, under the same id', async (t) => {
  const bundle = await hooked(t);
  bundle.sender.statuses.set(url, 200);
  await create(bundle);
  await complete(bundle);
  await until(() => last(bundle)?.state === 'delivered');
  const first = last(bundle);
  await bundle.coordinator.webhooks.sendAgain('ops', first?.id ?? '');
  const again = await bundle.sender.message(2);
  t.is(again.event.id, first?.event.id ?? '');
  // One that waits is tried at once.
  bundle.sender.statuses.delete(url);
  await complete(bundle);
  (await bundle.sender.message(3)).answer(500);
  await until(() => last(bundle)?.tries === 1);
  await bundle.coordinator.webhooks.sendAgain('ops', last(bundle)?.id ?? '');
  t.is((await bundle.sender.message(4)).event.id, last(bundle)?.event.id ?? '');
});

test('of what waits for a dead endpoint the oldest is dropped, and counted', async (t) => {
  const bundle = await hooked(t);
  const webhook = await create(bundle, { events: [] });
  bundle.sender.statuses.set(url, null);
  const delivery = (place: number) =>
    ({
      id: `d${place}`,
      webhookId: webhook.id,
      event: { id: `evt_${place}`, type: 'job.failed', at: bundle.clock.now(), data: { id: String(place) } },
      state: 'pending',
      createdAt: bundle.clock.now(),
      tries: 0,
      nextAt: bundle.clock.now() + hour,
      last: null,
    }) as const;
  await bundle.store.commit(
    Array.from({ length: pendingMax + 1 }, (_, place) => ({ kind: 'delivery', delivery: delivery(place) })),
  );
  const again = await bundle.restart();
  const view = () => again.coordinator.webhooks.get('ops');
  await until(() => view().webhook.dropped > 0);
  t.is(view().webhook.dropped + view().pending, pendingMax + 1);
  const kept = (await again.store.webhooks()).deliveries;
  t.is(kept.length, view().pending);
  t.is(kept[0]?.id, `d${view().webhook.dropped}`);
});

test('an endpoint that is deleted takes its deliveries along', async (t) => {
  const bundle = await hooked(t);
  await create(bundle);
  await complete(bundle);
  const message = await bundle.sender.message(1);
  await bundle.coordinator.webhooks.remove('ops', nobody);
  message.answer(500);
  await complete(bundle);
  t.deepEqual(await bundle.store.webhooks(), { webhooks: [], deliveries: [] });
  t.throws(() => bundle.coordinator.webhooks.get('ops'));
});

test('a provider that stops is an event once, however often it is probed in vain', async (t) => {
  const breaker = { ratio: 0.5, minimum: 2, windowSeconds: 60, openSeconds: 2 };
  const provider = { rateLimit: null, model: null, baseUrl: null, apiKeyEnv: null, breaker };
  const bundle = await hooked(t, { providers: { echo: provider }, jobs: { maxAttempts: 1 } });
  bundle.sender.statuses.set(url, 200);
  await create(bundle, { events: ['provider.stopped'] });
  const worker = await bundle.worker();
  for (let count = 1; count <= 4; count += 1) {
    await bundle.coordinator.dispatch(request());
    if (count > 2) bundle.clock.advance(5 * second);
    const { job_id: jobId, lease } = await worker.job(count);
    const failure = {
      class: 'server_error',
      message: 'no',
      status: 500,
      code: null,
      retryAfterMs: null,
    } as const;
    await worker.connection.conclude({ jobId, lease }, { type: 'fail', failure, usage: null });
  }
  await until(() => bundle.coordinator.webhooks.deliveries('ops', 9)[0]?.state === 'delivered');
  t.deepEqual(
    bundle.sender.sent.map(({ event }) => [event.type, event.data]),
    [['provider.stopped', { id: 'echo' }]],
  );
});

test('a run that pauses, and one that ends, are events', async (t) => {
  const bundle = await hooked(t);
  bundle.sender.statuses.set(url, 200);
  await create(bundle, { events: ['run.completed', 'run.paused'] });
  const { coordinator } = bundle;
  const ann: Principal = { keyId: 'a', role: 'admin', name: 'ann', bounds: null, secretHash: '' };
  const limits = { maxCost: null, maxFailures: null, deadline: null };
  const { view } = await coordinator.runs.create({ name: 'nightly', limits, defaults: {} }, ann);
  const { id } = view.run;
  await coordinator.runs.add('nightly', [{ lineId: '1', planned: coordinator.plan(request()) }], ann);
  await coordinator.runs.pause('nightly', nobody, 'Wait');
  t.like((await bundle.sender.message(1)).event, { type: 'run.paused', data: { id, name: 'nightly' } });
  await coordinator.runs.resume('nightly', {}, nobody);
  const worker = await bundle.worker();
  await worker.complete(await worker.job());
  t.like((await bundle.sender.message(2)).event, { type: 'run.completed', data: { id, name: 'nightly' } });
});
