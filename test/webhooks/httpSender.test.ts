import { readFileSync } from 'node:fs';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import test, { type ExecutionContext } from 'ava';
import OpenAI from 'openai';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { Webhook as SvixWebhook } from 'svix';
import type { WebhookEvent } from '../../src/domain/webhook.ts';
import { systemClock } from '../../src/lib/systemClock.ts';
import { HttpSender, type Resolve, ThreadSender } from '../../src/webhooks/index.ts';
import { type Received, startReceiver } from '../support/receiver.ts';

const tls = join(import.meta.dirname, '../fixtures/tls');
const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const formerSecret = `whsec_${Buffer.alloc(32, 8).toString('base64')}`;
const lan = { allowHttp: true, allowPrivate: ['127.0.0.0/8'], allowedHosts: [] };
const event: WebhookEvent = {
  id: 'evt_1',
  type: 'batch.completed',
  at: Date.parse('2026-11-21T09:00:00.500Z'),
  data: { id: 'batch_äöü', run_id: 'r' },
};

function senderOf(t: ExecutionContext, settings: typeof lan = lan, resolve?: Resolve): HttpSender {
  const sender = new HttpSender({ settings: () => settings, clock: systemClock, resolve });
  t.teardown(() => sender.close());
  return sender;
}

const headersOf = ({ headers }: Received) =>
  Object.fromEntries(Object.entries(headers).map(([key, value]) => [key, String(value)]));

test('the verifiers of Standard Webhooks, Svix and OpenAI take a message, with each of two secrets', async (t) => {
  const receiver = await startReceiver(t);
  const outcome = await senderOf(t).send({ url: receiver.url, event, secrets: [secret, formerSecret] });
  t.like(outcome, { status: 200, error: null, retryAfter: null });
  const [message] = await receiver.messages(1);
  if (message === undefined) throw new Error('there is none');
  const expected = {
    id: 'evt_1',
    object: 'event',
    type: 'batch.completed',
    timestamp: '2026-11-21T09:00:00.500Z',
    created_at: Date.parse('2026-11-21T09:00:00Z') / 1000,
    data: event.data,
  };
  const headers = headersOf(message);
  t.is(headers['webhook-id'], 'evt_1');
  t.regex(headers['user-agent'] ?? '', /^svc-webhooks\//);
  const openai = new OpenAI({ apiKey: 'none' });
  for (const one of [secret, formerSecret]) {
    t.deepEqual(new StandardWebhook(one).verify(message.body, headers), expected);
    t.notThrows(() => new SvixWebhook(one).verify(message.body, headers));
    t.deepEqual(await openai.webhooks.unwrap(message.body, headers, one), expected as never);
  }
  const foreign = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;
  t.throws(() => new StandardWebhook(foreign).verify(message.body, headers));
  t.throws(() => new SvixWebhook(foreign).verify(message.body, headers));
  t.throws(() => new StandardWebhook(secret).verify(`${message.body} `, headers));
});

test('a message goes over TLS to the name that it is for, at the address that was checked, and to no other', async (t) => {
  const certificate = readFileSync(join(tls, 'certificate.pem'), 'utf8');
  const names: unknown[] = [];
  const server = createTlsServer(
    { cert: certificate, key: readFileSync(join(tls, 'key.pem')) },
    (request, response) => {
      names.push('servername' in request.socket ? request.socket.servername : null);
      response.end();
    },
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  const sender = senderOf(t, lan, async () => [{ address: '127.0.0.1', family: 4 }]);
  const to = (host: string) => sender.send({ url: `https://${host}:${port}/`, event, secrets: [secret] });
  t.like(await to('provider.example'), { status: null });
  const trusted = getCACertificates('default');
  setDefaultCACertificates([...trusted, certificate]);
  t.teardown(() => setDefaultCACertificates(trusted));
  t.like(await to('provider.example'), { status: 200, error: null });
  t.deepEqual(names, ['provider.example']);
  t.like(await to('other.example'), { status: null });
  t.is(names.length, 1);
});

test('a redirect is not followed, and its answer is a status like any other', async (t) => {
  const target = await startReceiver(t);
  const receiver = await startReceiver(t, (response) =>
    response.writeHead(307, { location: target.url, 'retry-after': '7' }).end(),
  );
  const outcome = await senderOf(t).send({ url: receiver.url, event, secrets: [secret] });
  t.like(outcome, { status: 307, retryAfter: '7' });
  t.is(target.received.length, 0);
});

test('an answer without an end is cut, and its status counts', async (t) => {
  let written = 0;
  const receiver = await startReceiver(t, (response) => {
    response.writeHead(200);
    const piece = Buffer.alloc(64 * 1024);
    const go = (): void => {
      while (!response.destroyed && response.write(piece)) written += piece.length;
    };
    response.on('drain', go);
    go();
  });
  const outcome = await senderOf(t).send({ url: receiver.url, event, secrets: [secret] });
  t.is(outcome.status, 200);
  // What fits into buffers on the way is on top.
  t.true(written < 32 * 1024 ** 2, String(written));
});

test('a receiver that closes, resets, answers nonsense or switches protocols has not answered', async (t) => {
  for (const reply of [
    '',
    'nonsense\r\n\r\n',
    'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n',
  ]) {
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => socket.end(reply));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.teardown(() => server.close());
    const { port } = server.address() as AddressInfo;
    const outcome = await senderOf(t).send({ url: `http://127.0.0.1:${port}/`, event, secrets: [secret] });
    t.is(outcome.status, null, reply);
    t.truthy(outcome.error, reply);
  }
  const outcome = await senderOf(t).send({ url: 'http://127.0.0.1:1/', event, secrets: [secret] });
  t.like(outcome, { status: null, error: 'the connection was refused' });
});

test('a name whose address changes between the check and the connection leads to the one that was checked', async (t) => {
  const receiver = await startReceiver(t);
  let lookups = 0;
  // Allowed at first, forbidden from then on: only the first may count.
  const rebinding: Resolve = async () => {
    lookups += 1;
    return [{ address: lookups === 1 ? '127.0.0.1' : '127.0.0.2', family: 4 }];
  };
  const sender = senderOf(t, { ...lan, allowPrivate: ['127.0.0.1'] }, rebinding);
  const url = `http://rebind.example:${receiver.port}/`;
  t.is((await sender.send({ url, event, secrets: [secret] })).status, 200);
  t.is(lookups, 1);
  t.is(receiver.received[0]?.headers.host, `rebind.example:${receiver.port}`);
  const refused = await sender.send({ url, event, secrets: [secret] });
  t.is(refused.status, null);
  t.regex(refused.error ?? '', /127\.0\.0\.2/);
  t.is(receiver.received.length, 1);
});

test('a message to a forbidden address is never sent, whatever was allowed when the endpoint was made', async (t) => {
  const receiver = await startReceiver(t);
  const strict = { ...lan, allowPrivate: [] };
  const outcome = await senderOf(t, strict).send({ url: receiver.url, event, secrets: [secret] });
  t.is(outcome.status, null);
  t.regex(outcome.error ?? '', /not on the internet/);
  t.is(receiver.received.length, 0);
  t.regex((await senderOf(t, strict).refusal(receiver.url)) ?? '', /not on the internet/);
  t.is(await senderOf(t).refusal(receiver.url), null);
});

test('a receiver, or a lookup, that says nothing is given up after the timeout', async (t) => {
  // Timers of the sender run a hundred times as fast.
  const clock = {
    ...systemClock,
    after: (ms: number, task: () => void) => systemClock.after(ms / 100, task),
  };
  const silent = await startReceiver(t, () => {});
  const sender = new HttpSender({ settings: () => lan, clock });
  t.like(await sender.send({ url: silent.url, event, secrets: [secret] }), {
    status: null,
    error: 'no answer in time',
  });
  const never: Resolve = () => new Promise(() => {});
  const blind = new HttpSender({ settings: () => lan, clock, resolve: never });
  const outcome = await blind.send({ url: 'http://x.example/', event, secrets: [secret] });
  t.regex(outcome.error ?? '', /looked up in time/);
});

test('a connection is used again for the next message, also after one that the receiver has closed', async (t) => {
  const ports = new Set<number | undefined>();
  const receiver = await startReceiver(t, (response) => {
    ports.add(response.socket?.remotePort);
    response.writeHead(200).end('ok');
  });
  const sender = senderOf(t);
  const send = () => sender.send({ url: receiver.url, event, secrets: [secret] });
  for (let count = 0; count < 3; count += 1) t.is((await send()).status, 200);
  t.is(ports.size, 1);
  receiver.dropConnections();
  t.like(await send(), { status: 200, error: null });
  t.is(ports.size, 2);
});

test('a receiver that takes a message on a kept connection and breaks it gets the message once more, not for ever', async (t) => {
  let isBroken = false;
  const receiver = await startReceiver(t, (response) => {
    if (isBroken) response.socket?.resetAndDestroy();
    else response.writeHead(200).end();
  });
  const sender = senderOf(t);
  const send = () => sender.send({ url: receiver.url, event, secrets: [secret] });
  t.is((await send()).status, 200);
  isBroken = true;
  t.like(await send(), { status: null, error: 'the connection was reset' });
  t.is(receiver.received.length, 3);
});

test('a kept connection is not used for a name that leads elsewhere now', async (t) => {
  const receiver = await startReceiver(t);
  const second = await startReceiver(t, undefined, { address: '127.0.0.2', port: receiver.port });
  let address = '127.0.0.1';
  const sender = senderOf(t, lan, async () => [{ address, family: 4 }]);
  const url = `http://moved.example:${receiver.port}/`;
  t.is((await sender.send({ url, event, secrets: [secret] })).status, 200);
  address = '127.0.0.2';
  t.is((await sender.send({ url, event, secrets: [secret] })).status, 200);
  t.deepEqual([receiver.received.length, second.received.length], [1, 1]);
});

test('a thread sends many at once, takes the settings as they are then', async (t) => {
  const receiver = await startReceiver(t);
  let settings = lan;
  const sender = new ThreadSender({ settings: () => settings });
  t.teardown(() => sender.close());
  const send = (url = receiver.url) => sender.send({ url, event, secrets: [secret] });
  const outcomes = await Promise.all(Array.from({ length: 50 }, () => send()));
  t.deepEqual(new Set(outcomes.map(({ status }) => status)), new Set([200]));
  t.is(receiver.received.length, 50);
  t.is(await sender.refusal(receiver.url), null);
  settings = { ...lan, allowPrivate: [] };
  t.regex((await sender.refusal(receiver.url)) ?? '', /not on the internet/);
  t.is((await send()).status, null);
  settings = lan;
  t.is((await send()).status, 200);
  sender.close();
  t.like(await send(), { status: null, error: 'the coordinator stops' });
});

test('a thread that fails leaves no message without an outcome, and the next one starts another', async (t) => {
  const file = new URL(
    `data:text/javascript,import { parentPort } from 'node:worker_threads';
    parentPort.on('message', () => { throw new Error('a bug'); });`,
  );
  const sender = new ThreadSender({ settings: () => lan, file });
  t.teardown(() => sender.close());
  for (let count = 0; count < 2; count += 1) {
    const sent = sender.send({ url: 'https://hooks.example.com/', event, secrets: [secret] });
    const refused = sender.refusal('https://hooks.example.com/');
    t.like(await sent, { status: null, error: 'it could not be sent: a bug' });
    t.is(await refused, 'it could not be sent: a bug');
  }
});
