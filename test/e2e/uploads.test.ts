import { once } from 'node:events';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import { createClient } from '../../src/client/client.ts';
import type { Role } from '../../src/domain/key.ts';
import { depth } from '../support/depth.ts';
import { answerTo, exchange } from '../support/e2eHttp.ts';
import {
  adminKey,
  type Running,
  sharedCoordinator,
  startCoordinator,
  until,
  within,
} from '../support/process.ts';

const jobs = { heartbeat_interval_seconds: 60, reap_stale_after_seconds: 0 };
const mebibyte = 1024 * 1024;

const start = (t: ExecutionContext, http: Record<string, unknown> = {}, env: Record<string, string> = {}) =>
  startCoordinator(t, { config: { jobs, http }, env });
/** For tests that leave nothing behind; what it counts goes on from test to test. */
const shared = sharedCoordinator({ config: { jobs } });
const keyOf = async ({ client }: Running, role: Role): Promise<string> =>
  (await client.createKey({ role })).key;
const by = (key: string) => ({ authorization: `Bearer ${key}` });

async function metric({ port }: Running, name: string): Promise<number> {
  const { text } = await answerTo(port, { path: '/metrics' });
  const line = text.split('\n').find((each) => each.startsWith(`${name} `));
  return line === undefined ? 0 : Number(line.slice(name.length + 1));
}

/** A body that is announced and sent but for its end. */
async function stalled(
  t: ExecutionContext,
  { port }: Running,
  { key = adminKey, path = '/api/jobs', bytes }: { key?: string; path?: string; bytes: number },
): Promise<{ socket: Socket; said: () => string }> {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  socket.on('error', () => {});
  socket.on('data', (part) => {
    text += part;
  });
  t.teardown(() => socket.destroy());
  await within('it connects', once(socket, 'connect'));
  const head = [
    `POST ${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    `Authorization: Bearer ${key}`,
    'Content-Type: application/json',
    `Content-Length: ${bytes + 10_000}`,
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  socket.write(`{"prompt":"${'a'.repeat(bytes - 11)}`);
  return { socket, said: () => text };
}

test.serial(
  'stalled bodies end no coordinator with a small heap, and others are served beside them',
  async (t) => {
    const heap = depth(192, 512);
    const coordinator = await start(t, {}, { NODE_OPTIONS: `--max-old-space-size=${heap}` });
    const keys = await Promise.all([1, 2, 3].map(() => keyOf(coordinator, 'client')));
    const bytes = Math.floor(9.9 * mebibyte);
    // More than the heap.
    const all = Array.from({ length: Math.ceil((1.1 * heap * mebibyte) / bytes) }, (_, n) =>
      stalled(t, coordinator, { key: keys[n % 3] ?? '', bytes }),
    );
    // Looked at from the beginning: on a busy machine the first are given up while the last still come.
    const isFull = until(
      'the memory for bodies is full',
      async () => (await metric(coordinator, 'svc_body_bytes')) > 0.2 * heap * mebibyte,
      60_000,
    );
    await Promise.all([...all, isFull]);
    const held = await metric(coordinator, 'svc_body_bytes');
    t.true(held <= (heap / 4) * mebibyte, `${held} bytes are held`);
    t.true((await metric(coordinator, 'nodejs_heap_size_used_bytes')) < (heap / 2) * mebibyte);
    const body = JSON.stringify({ prompt: 'x', provider: 'nobody' });
    for (const key of [adminKey, await keyOf(coordinator, 'client')]) {
      const answer = await until('others are served', async () => {
        const got = await answerTo(coordinator.port, {
          method: 'POST',
          path: '/api/jobs',
          body,
          headers: by(key),
        });
        return got.status === 201 ? got : null;
      });
      t.is(answer.status, 201);
    }
    t.is(coordinator.process.exit, null);
  },
);

test.serial('stalled batches take no place from those that move, of their own key or another', async (t) => {
  const coordinator = await start(t);
  const client = await keyOf(coordinator, 'client');
  const bytes = 63 * mebibyte;
  const path = '/api/jobs/batch';
  const held = await Promise.all([1, 2].map(() => stalled(t, coordinator, { key: client, path, bytes })));
  await until('they are held', async () => (await metric(coordinator, 'svc_body_bytes')) > 120 * mebibyte);
  const batch = JSON.stringify({
    jobs: Array.from({ length: depth(40, 100) }, () => ({ prompt: 'x'.repeat(100_000), provider: 'nobody' })),
  });
  const sent = (key: string) =>
    answerTo(coordinator.port, { method: 'POST', path, body: batch, headers: by(key) });
  t.is((await sent(await keyOf(coordinator, 'client'))).status, 201);
  await until('its own key is served too', async () => (await sent(client)).status === 201);
  await until('one of them lost its place', () =>
    held.some(({ said }) => said().startsWith('HTTP/1.1 408 ')),
  );
  t.regex(
    held.map(({ said }) => said()).join(),
    /it stalled while others needed its place.*"code":"request_timeout"/,
  );
  t.is(await metric(coordinator, 'svc_bodies_refused_total{reason="stalled"}'), 1);
});

test.serial(
  'what a key sends beyond its share is refused with what and how much, and operators are not held to it',
  async (t) => {
    const http = { body_memory_bytes: 10 * mebibyte, shares: { bytes_in: 0.4 } };
    const coordinator = await start(t, http);
    const [client, operator] = [await keyOf(coordinator, 'client'), await keyOf(coordinator, 'operator')];
    await stalled(t, coordinator, { key: client, bytes: 3 * mebibyte });
    await until('it is held', async () => (await metric(coordinator, 'svc_body_bytes')) >= 3 * mebibyte);
    const body = JSON.stringify({ prompt: 'x'.repeat(2 * mebibyte), provider: 'nobody' });
    const sent = (key: string) =>
      answerTo(coordinator.port, { method: 'POST', path: '/api/jobs', body, headers: by(key) });
    // At once: it is too early to call the other one stalled.
    const refused = await sent(client);
    t.like(refused, { status: 429, json: { code: 'share_exceeded' } });
    t.regex(refused.text, /hold \d+ of the 4194304 bytes.*http\.shares\.bytes_in/);
    t.is(refused.headers['retry-after'], '1');
    t.is((await sent(operator)).status, 201);
    t.true((await metric(coordinator, 'svc_bodies_refused_total{reason="share"}')) >= 1);
    const never = JSON.stringify({ prompt: 'x'.repeat(5 * mebibyte), provider: 'nobody' });
    const tooLarge = { method: 'POST', path: '/api/jobs', body: never, headers: by(client) };
    t.like(await answerTo(coordinator.port, tooLarge), { status: 413, json: { code: 'payload_too_large' } });
    t.is((await answerTo(coordinator.port, { ...tooLarge, headers: by(operator) })).status, 201);
  },
);

test.serial('a body that comes too slowly is cut off after ten seconds, and gets its answer', async (t) => {
  const coordinator = shared();
  const { socket, said } = await stalled(t, coordinator, { bytes: 5_000 });
  const drip = setInterval(() => socket.write('a'), 100);
  t.teardown(() => clearInterval(drip));
  await until('it is cut off', () => /^HTTP\/1\.1 408 [\s\S]*\}$/.test(said()));
  t.regex(said(), /http\.upload_min_bytes_per_second.*"code":"request_timeout"/);
  await until('nothing is held', async () => (await metric(coordinator, 'svc_body_bytes')) === 0);
  t.is(await metric(coordinator, 'svc_bodies_refused_total{reason="slow"}'), 1, 'no other test is so slow');
});

test.serial('what a client held that went in the middle of its body is free at once', async (t) => {
  const coordinator = shared();
  const uploads = await Promise.all(
    ['', 'Content-Encoding: gzip\r\n', 'Content-Encoding: br\r\n'].flatMap((coding) =>
      ['/api/jobs', '/api/jobs/batch'].map(async (path) => {
        const socket = connect(coordinator.port, '127.0.0.1');
        await within('it connects', once(socket, 'connect'));
        const key = `Authorization: Bearer ${adminKey}\r\nContent-Type: application/json\r\n${coding}`;
        socket.write(`POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${key}Content-Length: 90000\r\n\r\n`);
        socket.write(coding.includes('gzip') ? gzipSync('x'.repeat(500)).subarray(0, 20) : 'x'.repeat(500));
        return socket;
      }),
    ),
  );
  await until('they are held', async () => (await metric(coordinator, 'svc_body_bytes')) >= 1_000);
  for (const socket of uploads) socket.destroy();
  await until('nothing is held', async () => (await metric(coordinator, 'svc_body_bytes')) === 0);
  t.is(coordinator.process.exit, null);
});

test.serial('a refusal is read by whoever still sends: too large, a wrong key, no such path', async (t) => {
  const coordinator = shared();
  const body = JSON.stringify({ prompt: 'x'.repeat(12 * mebibyte), provider: 'nobody' });
  for (const [path, key, status] of [
    ['/api/jobs', adminKey, 413],
    ['/api/jobs', 'wrong', 401],
    ['/api/nothing', adminKey, 404],
    ['/api/workers', adminKey, 405],
  ] as const) {
    for (let n = 0; n < depth(2, 8); n += 1) {
      const answer = await fetch(`${coordinator.url}${path}`, {
        method: 'POST',
        headers: { ...by(key), 'content-type': 'application/json' },
        body,
      });
      t.is(answer.status, status);
      t.is(((await answer.json()) as { status: number }).status, status);
    }
  }
  const client = createClient({ baseUrl: coordinator.url, apiKey: adminKey });
  for (let n = 0; n < depth(1, 5); n += 1) {
    await t.throwsAsync(client.dispatch({ prompt: 'x'.repeat(12 * mebibyte), provider: 'nobody' }), {
      message: /larger than the 10485760 bytes that http\.max_body_bytes allows/,
    });
  }
  // In parts, without a length.
  const parts = request(`${coordinator.url}/api/jobs`, {
    method: 'POST',
    headers: { ...by(adminKey), 'content-type': 'application/json' },
  });
  for (let n = 0; n < 12; n += 1) parts.write(' '.repeat(mebibyte));
  parts.end();
  const [response] = await within('it is answered', once(parts, 'response'));
  t.is(response.statusCode, 413);
  const bomb = gzipSync(Buffer.alloc(depth(40, 200) * mebibyte, ' '));
  const unpacked = { method: 'POST', path: '/api/jobs', body: bomb, headers: { 'content-encoding': 'gzip' } };
  t.is((await answerTo(coordinator.port, unpacked)).status, 413);
});

test.serial(
  'a body in parts of one byte takes no more memory than another, and holds up nobody',
  async (t) => {
    const coordinator = await start(t);
    const before = await metric(coordinator, 'nodejs_heap_size_used_bytes');
    const socket = connect(coordinator.port, '127.0.0.1');
    t.teardown(() => socket.destroy());
    socket.on('error', () => {});
    const head = [
      'POST /api/jobs HTTP/1.1',
      'Host: 127.0.0.1',
      `Authorization: Bearer ${adminKey}`,
      'Content-Type: application/json',
      'Transfer-Encoding: chunked',
    ];
    socket.write(`${head.join('\r\n')}\r\n\r\n`);
    const bytes = mebibyte;
    for (let n = 0; n < 64; n += 1) {
      if (!socket.write('1\r\n \r\n'.repeat(bytes / 64))) await once(socket, 'drain');
    }
    await until('all of it is held', async () => (await metric(coordinator, 'svc_body_bytes')) === bytes);
    const after = await metric(coordinator, 'nodejs_heap_size_used_bytes');
    t.true(after - before < 64 * mebibyte, `${after - before} bytes more`);
  },
);

test.serial('what is no HTTP, and a head that is too large, are answered with a problem', async (t) => {
  const { port } = shared();
  for (const [sent, status, code] of [
    ['what is this\r\n\r\n', 400, 'invalid_request'],
    [`GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ${'x'.repeat(3 * mebibyte)}\r\n\r\n`, 431, 'headers_too_large'],
  ] as const) {
    const answer = await exchange(port, sent);
    t.is(answer.status, status);
    t.regex(answer.text, /\r\nContent-Type: application\/problem\+json/);
    const problem = JSON.parse(answer.text.slice(answer.text.indexOf('\r\n\r\n') + 4));
    t.like(problem, { status, code });
    t.is(typeof problem.request_id, 'string');
  }
});

test.serial('two Host headers are refused, also by sockets', async (t) => {
  const { port } = shared();
  const hosts = `Host: 127.0.0.1:${port}\r\nhost: evil.example\r\nConnection: close`;
  t.is((await exchange(port, `GET /health HTTP/1.1\r\n${hosts}\r\n\r\n`)).status, 400);
  t.is((await exchange(port, `GET /api/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\n${hosts}\r\n\r\n`)).status, 400);
  const upgrade = `Host: 127.0.0.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket`;
  t.is((await exchange(port, `GET /ws HTTP/1.1\r\n${upgrade}\r\n\r\n`)).status, 400);
});
