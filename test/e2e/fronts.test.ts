import { readdirSync, readFileSync } from 'node:fs';
import { type Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import test from 'ava';
import { WebSocket } from 'ws';
import { liveSubprotocol } from '../../src/domain/liveProtocol.ts';
import type { WireJob } from '../../src/domain/wire/job.ts';
import { answerTo, attempt, connections, exchange, type HttpAnswer, problemOf } from '../support/e2eHttp.ts';
import { WorkerSocket } from '../support/e2eWorker.ts';
import { seededRandom } from '../support/fakeClock.ts';
import { temporaryFolder } from '../support/folder.ts';
import {
  adminKey,
  type Running,
  sharedCoordinator,
  spawnCoordinator,
  startCoordinator,
  until,
  within,
} from '../support/process.ts';

const onLinux = process.platform === 'linux' ? test.serial : test.serial.skip;
const jobs = { heartbeat_interval_seconds: 60, reap_stale_after_seconds: 0 };
const http = { fronts: 2 };
const shared = sharedCoordinator({ config: { jobs, http } });
const path = '/api/jobs';
const authorization = `Bearer ${adminKey}`;

const bodyOf = (fields: object = {}): string =>
  JSON.stringify({ prompt: 'Say hello', provider: 'nobody', ...fields });
const dispatch = (port: number, body = bodyOf(), headers: Record<string, string> = {}, agent?: Agent) =>
  answerTo(port, { method: 'POST', path, body, headers, agent });

/** A request as bytes. @param lines of the head, besides the usual ones. */
function rawRequest(body: string, lines: readonly string[] = [], target = path): string {
  const head = [
    `POST ${target} HTTP/1.1`,
    'Host: 127.0.0.1',
    `Authorization: ${authorization}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...lines,
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}

/** A metric with its labels; 0 when there is none. */
async function metric(port: number, name: string): Promise<number> {
  const { text } = await answerTo(port, { path: '/metrics' });
  const line = text.split('\n').find((each) => each.startsWith(`${name} `));
  return Number(line?.slice(name.length + 1) ?? 0);
}

const made = (port: number) => metric(port, 'svc_front_dispatches_total{outcome="made"}');

/** The processes that a process has started. */
function childrenOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  );
}

/** What differs from one response to the next. */
function plain(text: string): string {
  return text
    .replaceAll(/[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[\da-f]{4}-[\da-f]{12}/g, '<job>')
    .replaceAll(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g, '<request>')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
    .replaceAll(/^Date: .*$/gm, 'Date: <date>');
}

onLinux('a front answers a dispatch byte for byte as the core does', async (t) => {
  const { port } = shared();
  const later = new Date(Date.now() + 3_600_000).toISOString();
  const bodies = [
    bodyOf(),
    bodyOf({ prompt: 'Größe ✓ "\u2028" \ud800', metadata: { a: 'b' }, tags: ['x', 'y'], tier: 'gold' }),
    bodyOf({ prompt: null, messages: [{ role: 'user', content: [{ type: 'text', text: 'a' }] }] }),
    bodyOf({ not_before: later, timeout_seconds: 5, priority: 'high', params: { temperature: 1e-7 } }),
  ];
  const before = await made(port);
  for (const body of bodies) {
    for (const lines of [[], ['Connection: close'], ['X-Request-Id: mine', 'Idempotency-Key: ']]) {
      if (lines.some((line) => line === 'Idempotency-Key: ')) lines[1] = `Idempotency-Key: ${Math.random()}`;
      const byFront = await oneAnswer(port, rawRequest(body, lines));
      if (lines[1] !== undefined) lines[1] += '1';
      const byCore = await oneAnswer(port, rawRequest(body, lines, `${path}?wait=0`));
      t.is(plain(byFront), plain(byCore));
    }
  }
  t.is((await made(port)) - before, 3 * bodies.length);
});

/** The first response on a connection of its own, as text. */
async function oneAnswer(port: number, bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  try {
    socket.write(bytes);
    return await textUntil(socket, isWhole);
  } finally {
    socket.destroy();
  }
}

function isWhole(text: string): boolean {
  const length = /^content-length: (\d+)\r$/im.exec(text)?.[1];
  const headEnd = text.indexOf('\r\n\r\n');
  return length !== undefined && headEnd >= 0 && Buffer.byteLength(text.slice(headEnd + 4)) >= Number(length);
}

function textUntil(socket: Socket, isEnough: (text: string) => boolean): Promise<string> {
  const text = new Promise<string>((resolve, reject) => {
    const parts: Buffer[] = [];
    const look = (): boolean => {
      const all = Buffer.concat(parts).toString();
      if (isEnough(all)) resolve(all);
      return isEnough(all);
    };
    socket.on('data', (part: Buffer) => {
      parts.push(part);
      look();
    });
    socket.on('close', () => look() || reject(new Error(`it ended with ${Buffer.concat(parts)}`)));
    socket.on('error', () => {});
  });
  return within('the response comes', text);
}

onLinux('what a front cannot answer is answered by the core, on the same connection', async (t) => {
  const { port } = shared();
  const agent = connections(1);
  t.teardown(() => agent.destroy());
  const key = (await answerTo(port, { method: 'POST', path: '/api/keys', body: '{"role":"viewer"}' }))
    .json as { key: string };
  const cases: [HttpAnswer, number, string][] = [
    [await dispatch(port, bodyOf(), { authorization: 'Bearer wrong' }, agent), 401, 'authentication_failed'],
    [await dispatch(port, bodyOf(), { authorization: `Bearer ${key.key}` }, agent), 403, 'forbidden'],
    [await dispatch(port, '{"prompt": 1}', {}, agent), 400, 'invalid_request'],
    [await dispatch(port, '{"prompt": ', {}, agent), 400, 'invalid_request'],
    [await dispatch(port, bodyOf({ priority: 'urgent' }), {}, agent), 400, 'invalid_request'],
    [await dispatch(port, bodyOf(), { host: 'evil.example' }, agent), 403, 'forbidden'],
    [await dispatch(port, bodyOf(), { 'idempotency-key': 'ä' }, agent), 400, 'invalid_request'],
    [await dispatch(port, bodyOf({ provider: null }), {}, agent), 400, 'invalid_request'],
  ];
  for (const [answer, status, code] of cases) {
    t.is(answer.status, status);
    t.is(problemOf(answer).code, code as never);
  }
  t.is((await dispatch(port, bodyOf(), {}, agent)).status, 201);
});

onLinux(
  'many dispatches sent at once are answered in their order, with other requests between',
  async (t) => {
    const { port } = shared();
    const before = await made(port);
    const get = `GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`;
    const posts = ['a', 'b', 'c'].map((id) => rawRequest(bodyOf(), [`X-Request-Id: ${id}`]));
    const last = rawRequest(bodyOf(), ['X-Request-Id: d', 'Connection: close']);
    const { text } = await exchange(port, [...posts, get, last].join(''));
    t.deepEqual(
      [...text.matchAll(/^X-Request-Id: (.)\r$/gm)].map(([, id]) => id),
      ['a', 'b', 'c', 'd'],
    );
    t.deepEqual(
      [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => status),
      ['201', '201', '201', '200', '201'],
    );
    t.is((await made(port)) - before, 3);
  },
);

onLinux('what came behind a request that the core answers itself is not lost', async (t) => {
  const { port } = shared();
  const again = rawRequest(bodyOf(), ['Idempotency-Key: behind']);
  t.regex(await oneAnswer(port, again), /^HTTP\/1\.1 201 /);
  const behind = Array<string>(30).fill(rawRequest(bodyOf({ input: 'x'.repeat(10_000) })));
  const last = rawRequest(bodyOf(), ['Connection: close']);
  const { text } = await exchange(port, [again, ...behind, last].join(''));
  const statuses = [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => status);
  t.deepEqual(statuses, ['200', ...Array<string>(31).fill('201')]);
});

onLinux('a client that reads nothing for a while gets every answer later', async (t) => {
  const { port } = shared();
  // More answers than the system holds for a connection.
  const count = 1_200;
  const bytes = rawRequest(bodyOf({ prompt: 'x'.repeat(10_000) }));
  const socket = connect(port, '127.0.0.1');
  t.teardown(() => socket.destroy());
  const before = await made(port);
  let sent = 0;
  const feed = (): void => {
    for (let isTaken = true; isTaken && sent < count; sent += 1) isTaken = socket.write(bytes);
  };
  socket.on('drain', feed);
  feed();
  let last = -1;
  await until('its front waits for it', async () => {
    const then = last;
    last = (await made(port)) - before;
    return last > 0 && last === then;
  });
  t.true(last < count, `all ${count} were answered`);
  let answers = 0;
  let rest = '';
  socket.setEncoding('latin1').on('data', (part: string) => {
    const text = rest + part;
    answers += text.split('HTTP/1.1 201 ').length - 1;
    // The beginning of one that is split between two parts.
    rest = text.slice(-12).includes('HTTP/1.1 201 ') ? '' : text.slice(-12);
  });
  // One commit after the other: a slow disk takes 100 ms for each.
  await until('all are answered', () => answers >= count, 150_000);
  t.is(answers, count);
});

onLinux(
  'a request that comes byte by byte, and one whose client sends no more, get their answer',
  async (t) => {
    const { port } = shared();
    const slow = connect({ port, host: '127.0.0.1', noDelay: true });
    t.teardown(() => slow.destroy());
    const answer = textUntil(slow, isWhole);
    for (const byte of Buffer.from(rawRequest(bodyOf()))) {
      slow.write(Buffer.from([byte]));
      await new Promise((resolve) => setImmediate(resolve));
    }
    t.regex(await answer, /^HTTP\/1\.1 201 /);
    const half = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    t.teardown(() => half.destroy());
    half.end(rawRequest(bodyOf()));
    t.regex(await textUntil(half, isWhole), /^HTTP\/1\.1 201 /);
    const silent = connect(port, '127.0.0.1');
    t.teardown(() => silent.destroy());
    silent.write(rawRequest(bodyOf()).slice(0, 60));
    await until('it is handed over', async () => (await metric(port, 'svc_connections')) >= 2);
    silent.write(rawRequest(bodyOf()).slice(60));
    t.regex(await textUntil(silent, isWhole), /^HTTP\/1\.1 201 /);
  },
);

onLinux('whatever is odd in a request, front and core take it alike', async (t) => {
  const timeouts = { head_timeout_seconds: 2, body_timeout_seconds: 2 };
  const [front, core] = await Promise.all(
    [2, 0].map((fronts) => startCoordinator(t, { config: { jobs, http: { fronts, ...timeouts } } })),
  );
  const random = seededRandom(7);
  const plainest = rawRequest(bodyOf(), ['X-Request-Id: a']);
  const odd = [
    plainest.replace('Content-Length', 'Content-Length: 3\r\nContent-Length'),
    plainest.replace('Content-Length', 'Transfer-Encoding: chunked\r\nContent-Length'),
    plainest.replace('Content-Type', 'X-Folded: a\r\n b\r\nContent-Type'),
    plainest.replace('\r\nHost', '\nHost'),
    plainest.replace('Content-Length: ', 'Content-Length: +'),
    plainest.replace('Content-Length: ', 'Content-Length : '),
    plainest.replace('Host: 127.0.0.1', 'Host: 127.0.0.1\r\nHost: 127.0.0.1'),
    plainest.replace('HTTP/1.1', 'HTTP/1.0'),
    plainest.replace('POST', 'post'),
    plainest.replace('POST /api/jobs', 'POST http://127.0.0.1/api/jobs'),
  ].map((text) => Buffer.from(text));
  const mutants = Array.from({ length: 150 }, () => {
    const bytes = Buffer.from(plainest);
    const at = Math.floor(random.next() * (bytes.length - bodyOf().length));
    const values = [0, 9, 10, 13, 32, 58, 255, Math.floor(random.next() * 256)];
    bytes[at] = values[Math.floor(random.next() * values.length)] ?? 0;
    return bytes;
  });
  // What follows shows where each of them thinks that the request has ended.
  const next = Buffer.from('GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n');
  const statuses = async (port: number, bytes: Buffer): Promise<string[]> => {
    const { text } = await exchange(port, Buffer.concat([bytes, next]));
    return [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => status ?? '');
  };
  const differing = await Promise.all(
    [...odd, ...mutants].map(async (bytes) => {
      const [byFront, byCore] = await Promise.all(
        [front, core].map((each) => statuses(each?.port ?? 0, bytes)),
      );
      // The core closes after some refusals whose body it has not read yet; handed over, it has.
      return `${byFront}`.startsWith(`${byCore}`) && byCore?.length !== 0
        ? []
        : [`${byFront}, not ${byCore}: ${bytes.toString('latin1')}`];
    }),
  );
  t.deepEqual(differing.flat(), []);
});

onLinux('one idempotency key, sent on many connections at once, makes one job', async (t) => {
  const { port } = shared();
  const headers = { 'idempotency-key': 'once' };
  const answers = await Promise.all(Array.from({ length: 16 }, () => dispatch(port, bodyOf(), headers)));
  t.deepEqual(answers.map(({ status }) => status).sort(), [...Array(15).fill(200), 201]);
  t.is(new Set(answers.map(({ json }) => (json as WireJob).id)).size, 1);
  const other = await dispatch(port, bodyOf({ input: 'another' }), headers);
  t.is(problemOf(other).code, 'idempotency_conflict');
});

onLinux('streams, sockets, a worker and an upload in parts pass through fronts', async (t) => {
  const { url, port, client } = shared();
  const live = new WebSocket(`${url.replace('http', 'ws')}/ws`, liveSubprotocol, {
    headers: { authorization },
  });
  t.teardown(() => live.terminate());
  await within('the live socket opens', new Promise((resolve) => live.once('open', resolve)));
  const worker = await WorkerSocket.join(t, url);
  const { json } = await dispatch(port, bodyOf({ provider: 'echo' }));
  const { id } = json as WireJob;
  const events = request({ port, path: `${path}/${id}/events`, headers: { authorization } });
  const ended = new Promise<string>((resolve) => {
    events.on('response', (response) => {
      let text = '';
      response.on('data', (part: Buffer) => (text += part));
      response.on('end', () => resolve(text));
    });
  });
  events.end();
  worker.complete(await worker.job(), 'through a front');
  t.regex(await within('the stream ends', ended), /"status":"completed"/);
  t.is((await client.job(id)).result?.output, 'through a front');
  // More than any front holds, in parts that arrive while the connection is handed over.
  const lines = Array.from({ length: 3_000 }, (_, place) => bodyOf({ input: `${place} ${'x'.repeat(500)}` }));
  const batch = request({
    port,
    path: `${path}/batch`,
    method: 'POST',
    agent: false,
    headers: { authorization, 'content-type': 'application/x-ndjson' },
  });
  const counted = new Promise<number>((resolve) => {
    batch.on('response', (response) => {
      let text = '';
      response.on('data', (part: Buffer) => (text += part));
      response.on('end', () => resolve(JSON.parse(text).count));
    });
  });
  for (const line of lines) batch.write(`${line}\n`);
  batch.end();
  t.is(await within('the batch is answered', counted), lines.length);
});

onLinux('limits of a key hold across fronts, and no header forges an address', async (t) => {
  const { port } = await startCoordinator(t, { config: { jobs, http: { ...http, rate_limit_per_key: 5 } } });
  const { json } = await answerTo(port, { method: 'POST', path: '/api/keys', body: '{"role":"client"}' });
  const { key } = json as { key: string };
  const headers = { authorization: `Bearer ${key}`, 'x-forwarded-for': '192.0.2.1' };
  const begun = performance.now();
  const answers = await Promise.all(Array.from({ length: 100 }, () => dispatch(port, bodyOf(), headers)));
  const most = 6 + (5 * (performance.now() - begun)) / 1000;
  const count = answers.filter(({ status }) => status === 201).length;
  t.true(count >= 5 && count <= most, `${count} of ${most}`);
  t.true(answers.every(({ status }) => status === 201 || status === 429));
  const { text } = await answerTo(port, { path: '/api/keys' });
  t.true(text.includes('127.0.0.1'), text);
  t.false(text.includes('192.0.2.1'), text);
});

onLinux('a second coordinator gets no part of a port that fronts have', async (t) => {
  const { port } = shared();
  const second = spawnCoordinator(t, { port, folder: temporaryFolder(t), config: { jobs, http } });
  t.not((await within('it gives up', second.exited)).code, 0);
  t.regex(second.err, /Port \d+ of 127\.0\.0\.1 is taken/);
});

onLinux(
  'a key that was taken back makes no more jobs, on connections that a front has kept too',
  async (t) => {
    const { port } = shared();
    const { json } = await answerTo(port, { method: 'POST', path: '/api/keys', body: '{"role":"client"}' });
    const { id, key } = json as { id: string; key: string };
    const agent = connections(1);
    t.teardown(() => agent.destroy());
    const headers = { authorization: `Bearer ${key}` };
    const before = await made(port);
    t.is((await dispatch(port, bodyOf(), headers, agent)).status, 201);
    t.is(await made(port), before + 1);
    t.is((await answerTo(port, { method: 'DELETE', path: `/api/keys/${id}` })).status, 200);
    t.is((await dispatch(port, bodyOf(), headers, agent)).status, 401);
  },
);

onLinux(
  'a front that is killed is started again: nothing acknowledged is lost, and others notice nothing',
  async (t) => {
    const coordinator = await startCoordinator(t, { config: { jobs, http } });
    const { port, url } = coordinator;
    const worker = await WorkerSocket.join(t, url, { providers: ['other'] });
    const first = childrenOf(coordinator.process.pid);
    t.is(first.length, 2);
    const acknowledged: string[] = [];
    let isOver = false;
    const clients = Array.from({ length: 16 }, async () => {
      const agent = connections(1);
      while (!isOver) {
        const attempted = await attempt(port, { method: 'POST', path, body: bodyOf(), agent });
        if (attempted.kind === 'answer' && attempted.answer.status === 201)
          acknowledged.push((attempted.answer.json as WireJob).id);
      }
      agent.destroy();
    });
    const grown = async (by: number) => {
      const count = acknowledged.length + by;
      await until('more jobs are made', () => acknowledged.length >= count);
    };
    for (const pid of first) {
      await grown(50);
      process.kill(pid, 'SIGKILL');
      await until('it is started again', () => {
        const now = childrenOf(coordinator.process.pid);
        return now.length === 2 && !now.includes(pid);
      });
    }
    await grown(100);
    isOver = true;
    await Promise.all(clients);
    const missing = await Promise.all(
      acknowledged.map(async (id) => (await answerTo(port, { path: `${path}/${id}` })).status !== 200),
    );
    t.false(missing.includes(true));
    t.is(worker.closed, null);
    const stopped = worker.ended;
    coordinator.process.signal('SIGTERM');
    t.is((await within('the process ends', coordinator.process.exited)).code, 0);
    t.is((await stopped).code, 1012);
  },
);

onLinux('a stop answers what is under way, and leaves no process behind', async (t) => {
  const coordinator: Running = await startCoordinator(t, { config: { jobs, http } });
  const { port } = coordinator;
  const pids = childrenOf(coordinator.process.pid);
  const seen: number[] = [];
  let isOver = false;
  const broken: string[] = [];
  const clients = Array.from({ length: 8 }, async () => {
    const agent = connections(1);
    while (!isOver) {
      const attempted = await attempt(port, { method: 'POST', path, body: bodyOf(), agent });
      if (attempted.kind === 'answer') seen.push(attempted.answer.status);
      else if (attempted.kind === 'refused') isOver = true;
      else broken.push(attempted.why);
    }
    agent.destroy();
  });
  await until('jobs are made', () => seen.length > 50);
  coordinator.process.signal('SIGTERM');
  t.is((await within('the process ends', coordinator.process.exited)).code, 0);
  isOver = true;
  await Promise.all(clients);
  t.true(seen.every((status) => status === 201 || status === 503));
  for (const pid of pids) t.throws(() => process.kill(pid, 0), { code: 'ESRCH' });
  const again = await coordinator.again();
  const stored = (await answerTo(again.port, { path: `${path}?limit=1` })).json as { total: number };
  t.true(stored.total >= seen.filter((status) => status === 201).length, broken.join());
});
