import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { WebSocket } from 'ws';
import { liveSubprotocol } from '../../src/domain/liveProtocol.ts';
import { workerSubprotocol } from '../../src/domain/workerProtocol.ts';
import { depth } from '../support/depth.ts';
import { answerTo, exchange } from '../support/e2eHttp.ts';
import { hello, WorkerSocket } from '../support/e2eWorker.ts';
import {
  adminKey,
  type Running,
  sharedCoordinator,
  startCoordinator,
  until,
  within,
} from '../support/process.ts';

/** Nobody beats here, and nobody is missed. */
const jobs = { heartbeat_interval_seconds: 60, reap_stale_after_seconds: 0 };
const mebibyte = 1024 * 1024;
const key = `Authorization: Bearer ${adminKey}`;

/** For tests that leave nothing behind; what it counts goes on from test to test. */
const shared = sharedCoordinator({ config: { jobs } });
const start = (t: ExecutionContext, http: Record<string, unknown> = {}) =>
  startCoordinator(t, { config: { jobs, http } });

/** The value of a metric, labels and all as they stand in the exposition. */
async function metric({ port }: Running, name: string): Promise<number> {
  const { text } = await answerTo(port, { path: '/metrics' });
  const line = text.split('\n').find((each) => each.startsWith(`${name} `));
  return line === undefined ? 0 : Number(line.slice(name.length + 1));
}

/** A connection that says only what it is told to say. */
async function connection(t: ExecutionContext, port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  t.teardown(() => socket.destroy());
  await once(socket, 'connect');
  return socket;
}

/** What comes until the other side ends. */
async function rest(socket: Socket): Promise<string> {
  const parts: Buffer[] = [];
  socket.on('data', (part: Buffer) => parts.push(part));
  await within('the connection ends', once(socket, 'close'));
  return Buffer.concat(parts).toString();
}

test.serial('heads that come byte by byte are cut off in time, and harm nobody meanwhile', async (t) => {
  const coordinator = await start(t, { head_timeout_seconds: 0.6 });
  const { port } = coordinator;
  const sockets = await Promise.all(Array.from({ length: 100 }, () => connection(t, port)));
  const ends = sockets.map(rest);
  const drip = setInterval(() => {
    for (const socket of sockets) if (socket.writable) socket.write('X');
  }, 50);
  t.teardown(() => clearInterval(drip));
  for (const socket of sockets.slice(0, 50)) socket.write('GET /api/jobs HTTP/1.1\r\nX-Slow: ');
  t.is((await answerTo(port, { path: '/health' })).status, 200);
  const said = await Promise.all(ends);
  // Half of them have said no request line at all, so that their first byte is an error.
  t.true(said.slice(0, 50).every((text) => text.startsWith('HTTP/1.1 408 ')));
  t.true((await metric(coordinator, 'svc_requests_broken_total{status="408"}')) >= 50);
  await until('all are gone', async () => (await metric(coordinator, 'svc_connections')) < 5);
});

test.serial('heads that are too large or no HTTP are refused and counted', async (t) => {
  const coordinator = shared();
  const { port } = coordinator;
  const large = `GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Large: ${'x'.repeat(20_000)}\r\n\r\n`;
  t.is((await exchange(port, large)).status, 431);
  t.is((await exchange(port, 'what is this\r\n\r\n')).status, 400);
  t.is(await metric(coordinator, 'svc_requests_broken_total{status="431"}'), 1);
  t.is(await metric(coordinator, 'svc_requests_broken_total{status="400"}'), 1);
});

test.serial('garbage behind a request gets no word into its answer, and ends the connection', async (t) => {
  const { port } = shared();
  const socket = await connection(t, port);
  const end = rest(socket);
  socket.write(`GET /api/events HTTP/1.1\r\nHost: 127.0.0.1\r\n${key}\r\n\r\n`);
  await within('the answer begins', once(socket, 'data'));
  socket.write('what is this\r\n\r\n');
  const said = await end;
  t.regex(said, /^HTTP\/1\.1 200 /);
  t.notRegex(said, /HTTP\/1\.1 400/);
});

test.serial('connections that say nothing at all are cut off too', async (t) => {
  const coordinator = await start(t, { head_timeout_seconds: 0.5 });
  const sockets = await Promise.all(Array.from({ length: 20 }, () => connection(t, coordinator.port)));
  await Promise.all(sockets.map(rest));
  await until('all are gone', async () => (await metric(coordinator, 'svc_connections')) < 5);
  t.pass();
});

test.serial('who was refused a socket cannot keep the connection by not ending its own side', async (t) => {
  const coordinator = shared();
  const { port } = coordinator;
  const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13';
  const refused = async (path: string): Promise<string> => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    t.teardown(() => socket.destroy());
    socket.write(
      `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${upgrade}\r\nAuthorization: Bearer wrong\r\n\r\n`,
    );
    const [answer] = await within('the answer comes', once(socket, 'data'));
    return String(answer).slice(0, 12);
  };
  t.deepEqual(await Promise.all(['/ws', '/ws/worker', '/elsewhere'].map(refused)), [
    'HTTP/1.1 401',
    'HTTP/1.1 401',
    'HTTP/1.1 404',
  ]);
  await until('all are gone', async () => (await metric(coordinator, 'svc_connections')) < 3);
});

test.serial('a body that comes byte by byte is cut off in time, and leaves nothing', async (t) => {
  const coordinator = await start(t, { head_timeout_seconds: 0.5, body_timeout_seconds: 1 });
  const { port } = coordinator;
  const socket = await connection(t, port);
  const end = rest(socket);
  const fields = ['Host: 127.0.0.1', key, 'Content-Type: application/json', 'Content-Length: 1000'];
  socket.write(`POST /api/jobs HTTP/1.1\r\n${fields.join('\r\n')}\r\n\r\n{"prompt":"`);
  const drip = setInterval(() => socket.write('a'), 50);
  t.teardown(() => clearInterval(drip));
  t.regex(await end, /^HTTP\/1\.1 408 /);
  t.like((await answerTo(port, { path: '/api/jobs' })).json, { total: 0 });
});

test.serial(
  'there is room for http.max_connections; one more is closed, and room that is left is taken',
  async (t) => {
    const coordinator = await start(t, { max_connections: 10 });
    const { port } = coordinator;
    const sockets: Socket[] = [];
    // A connection is its key's from its first request; before, it makes room for others.
    while (sockets.length < 10) {
      const socket = await connection(t, port);
      sockets.push(socket);
      socket.write(`GET /api/stats HTTP/1.1\r\nHost: 127.0.0.1\r\n${key}\r\n\r\n`);
      await within('the answer comes', once(socket, 'data'));
    }
    const extra = await connection(t, port);
    t.is(await rest(extra), '');
    for (const socket of sockets) socket.destroy();
    const refused = await until('there is room again', async () => {
      const { status, text } = await exchange(
        port,
        `GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n${key}\r\n\r\n`,
      );
      return status === 200 ? /^svc_connections_refused_total (\d+)$/m.exec(text)?.[1] : null;
    });
    t.true(Number(refused) >= 1);
  },
);

test.serial('who reads nothing of an answer is cut off; who reads slowly gets all of it', async (t) => {
  const coordinator = await start(t, { unread_timeout_seconds: 1, max_body_bytes: 40 * mebibyte });
  const { port } = coordinator;
  // More than the buffers of both ends take, and more than a slow reader takes in the time.
  const body = JSON.stringify({ prompt: 'x'.repeat(30 * mebibyte), provider: 'echo' });
  const { json } = await answerTo(port, { method: 'POST', path: '/api/jobs', body });
  const { id } = json as { id: string };
  const ask = `GET /api/jobs/${id} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n${key}\r\n\r\n`;
  const deaf = await connection(t, port);
  deaf.pause();
  deaf.write(ask);
  const slow = await connection(t, port);
  let taken = 0;
  slow.pause();
  slow.on('data', (part) => {
    taken += part.length;
  });
  slow.write(ask);
  const slowEnd = once(slow, 'close');
  // It takes a part whenever the coordinator has answered somebody else, for as long as the deaf one is borne.
  await until('the deaf one is cut off', async () => {
    slow.once('data', () => slow.pause());
    slow.resume();
    return (await metric(coordinator, 'svc_connections_unread_total')) === 1;
  });
  t.true(taken < 30 * mebibyte, 'there was something left to read');
  slow.resume();
  await within('the slow one ends', slowEnd);
  t.true(taken > 30 * mebibyte, `${taken} bytes`);
  t.is(await metric(coordinator, 'svc_connections_unread_total'), 1);
});

/** A socket that is open, as it comes. */
async function open(t: ExecutionContext, { port }: Running, kind: 'live' | 'worker'): Promise<WebSocket> {
  const [path, protocol] = kind === 'live' ? ['/ws', liveSubprotocol] : ['/ws/worker', workerSubprotocol];
  const headers = { authorization: `Bearer ${adminKey}` };
  const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, protocol, { headers });
  t.teardown(() => socket.terminate());
  socket.on('error', () => {});
  await within('the socket opens', once(socket, 'open'));
  return socket;
}

for (const kind of ['live', 'worker'] as const) {
  test.serial(`${kind}: pings are answered, but not a flood of them, also when nobody reads`, async (t) => {
    const coordinator = shared();
    const ended = `svc_sockets_ended_total{kind="${kind}",reason="1008"}`;
    const before = await metric(coordinator, ended);
    const polite = await open(t, coordinator, kind);
    polite.ping('hello');
    t.is(String((await within('the pong comes', once(polite, 'pong')))[0]), 'hello');
    const socket = await open(t, coordinator, kind);
    socket.pause();
    for (let i = 0; i < 51; i += 1) socket.ping('x'.repeat(125));
    await until('it is ended', async () => (await metric(coordinator, ended)) === before + 1);
    socket.resume();
    t.is((await within('it is closed', once(socket, 'close')))[0], 1008);
    t.is(polite.readyState, WebSocket.OPEN);
  });

  test.serial(`${kind}: a message in endless tiny fragments ends the connection`, async (t) => {
    const coordinator = shared();
    const socket = await open(t, coordinator, kind);
    const closed = once(socket, 'close');
    for (let i = 0; i < 20_000 && socket.readyState === WebSocket.OPEN; i += 1) {
      socket.send(i === 0 ? '{' : ' ', { fin: false });
    }
    t.is((await within('it is closed', closed))[0], 1008);
    t.is((await answerTo(coordinator.port, { path: '/health' })).status, 200);
  });

  test.serial(
    `${kind}: frames that go on after the end are not listened to, and who stays is cut off`,
    async (t) => {
      const coordinator = shared();
      const socket = await open(t, coordinator, kind);
      const closed = once(socket, 'close');
      const answers: string[] = [];
      socket.on('message', (data) => answers.push(String(data)));
      for (let i = 0; i < 1_000; i += 1) socket.send('garbage');
      const [code] = await within('it is closed', closed);
      t.is(code, kind === 'live' ? 1008 : 4400);
      t.true(answers.length <= 10, `${answers.length} answers`);
    },
  );
}

/** A text frame of a client; a mask of zeros is one too. */
function frameOf(text: string): Buffer {
  const payload = Buffer.from(text);
  const length =
    payload.length < 126 ? [0x80 | payload.length] : [0x80 | 126, payload.length >> 8, payload.length & 255];
  return Buffer.concat([Buffer.from([0x81, ...length, 0, 0, 0, 0]), payload]);
}

test.serial('a worker that floods loses nothing and leaves time for others', async (t) => {
  const coordinator = shared();
  const { port } = coordinator;
  const socket = await connection(t, port);
  let said = '';
  let acks = 0;
  socket.setEncoding('latin1').on('data', (text: string) => {
    const parts = (said + text).split('heartbeat_ack');
    acks += parts.length - 1;
    // A word may come in two parts.
    said = (parts.at(-1) ?? '').slice(-20);
  });
  const fields = [
    'Host: 127.0.0.1',
    key,
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    `Sec-WebSocket-Protocol: ${workerSubprotocol}`,
  ];
  socket.write(`GET /ws/worker HTTP/1.1\r\n${fields.join('\r\n')}\r\n\r\n`);
  await once(socket, 'data');
  socket.write(frameOf(JSON.stringify(hello({ name: 'flood' }))));
  await once(socket, 'data');
  const frames = depth(5_000, 15_000);
  const one = frameOf('{"type":"heartbeat","running":[]}');
  socket.write(Buffer.concat(Array.from({ length: frames }, () => one)));
  const asked = performance.now();
  t.is((await answerTo(port, { path: '/health' })).status, 200);
  const tookMs = performance.now() - asked;
  t.true(tookMs < 2_000, `${tookMs} ms`);
  await until('every heartbeat is answered', () => acks === frames);
  t.false(socket.closed);
});

test.serial(
  'a worker that reads nothing is cut off before its jobs fill the memory, and they stay its own',
  async (t) => {
    const coordinator = await start(t);
    const { port } = coordinator;
    const worker = await WorkerSocket.join(t, coordinator.url, { concurrency: 20 });
    worker.deafen();
    const prompt = 'x'.repeat(9 * mebibyte);
    const ended = 'svc_sockets_ended_total{kind="worker",reason="unread"}';
    for (let i = 0; i < 16 && (await metric(coordinator, ended)) === 0; i += 1) {
      const body = JSON.stringify({ prompt, provider: 'echo' });
      t.is((await answerTo(port, { method: 'POST', path: '/api/jobs', body })).status, 201);
    }
    await until('it is cut off', async () => (await metric(coordinator, ended)) === 1);
    t.like((await answerTo(port, { path: '/api/workers' })).json, { workers: [{ connected: false }] });
  },
);

test.serial('a worker that never says hello is sent away', async (t) => {
  const coordinator = shared();
  const silent = await open(t, coordinator, 'worker');
  const joined = await WorkerSocket.open(t, coordinator.url);
  joined.send(hello());
  await joined.frame('welcome');
  const [code, reason] = await within('it is closed', once(silent, 'close'));
  t.deepEqual([code, String(reason)], [4400, 'no hello received']);
  t.is(joined.closed, null);
});
