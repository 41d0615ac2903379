import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { WebSocket } from 'ws';
import { liveSubprotocol } from '../../src/domain/liveProtocol.ts';
import { depth } from '../support/depth.ts';
import { answerTo } from '../support/e2eHttp.ts';
import { type Running, startCoordinator, until } from '../support/process.ts';

/** Nobody beats here, and nobody is missed. */
const jobs = { heartbeat_interval_seconds: 60, reap_stale_after_seconds: 0 };
const mebibyte = 1024 * 1024;
/** Of what is asked for and not read. */
const large = depth(4, 9) * mebibyte;
/** What nobody reads may take at most; without a bound it is twice that and more in each of these tests. */
const growthMax = depth(150, 400) * mebibyte;
/** So much of its processor time others may wait for at most, ms; making one large answer takes some 50. */
const othersMs = 1_500;

/** A coordinator with 512 MiB of heap. */
const start = (t: ExecutionContext, config: Record<string, unknown> = {}) =>
  startCoordinator(t, {
    config: { jobs, ...config },
    env: { NODE_OPTIONS: '--max-old-space-size=512' },
  });

async function keyOf({ port }: Running, role: string): Promise<string> {
  const body = JSON.stringify({ role });
  const { json } = await answerTo(port, { method: 'POST', path: '/api/keys', body });
  return (json as { key: string }).key;
}

async function dispatch({ port }: Running, prompt: string): Promise<string> {
  const body = JSON.stringify({ prompt, provider: 'nobody' });
  const { json } = await answerTo(port, { method: 'POST', path: '/api/jobs', body });
  return (json as { id: string }).id;
}

/** Memory of the process, bytes. */
function residentBytes({ process: { pid } }: Running): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
}

/** Processor time that the process has taken, ms; the kernel counts it in hundredths of a second. */
function spentMs({ process: { pid } }: Running): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

async function metric({ port }: Running, name: string): Promise<number> {
  const { text } = await answerTo(port, { path: '/metrics' });
  const line = text.split('\n').find((each) => each.startsWith(`${name} `));
  return line === undefined ? 0 : Number(line.slice(name.length + 1));
}

/** Asks for something and reads nothing of the answer but its first line. @returns the status. */
async function unread(
  t: ExecutionContext,
  { port }: Running,
  path: string,
  key: string,
): Promise<{ socket: Socket; status: number }> {
  const socket = connect(port, '127.0.0.1');
  t.teardown(() => socket.destroy());
  socket.on('error', () => {});
  socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${key}\r\n\r\n`);
  const [head] = await once(socket, 'data');
  socket.pause();
  return { socket, status: Number(String(head).slice(9, 12)) };
}

/** What others see while `act` runs: the slowest of their requests, and how much memory the process has got. */
async function watch<T>(coordinator: Running, act: () => Promise<T>) {
  const before = residentBytes(coordinator);
  let most = before;
  let slowestMs = 0;
  let isOver = false;
  const others = (async () => {
    while (!isOver) {
      // Not the time of the clock: what else runs on the machine must not count.
      const asked = spentMs(coordinator);
      const { status } = await answerTo(coordinator.port, { path: '/api/stats' });
      if (status !== 200) throw new Error(`others get ${status}`);
      slowestMs = Math.max(slowestMs, spentMs(coordinator) - asked);
      most = Math.max(most, residentBytes(coordinator));
      await delay(20);
    }
  })();
  const result = await act();
  isOver = true;
  await others;
  return { result, growth: most - before, slowestMs };
}

test.serial(
  'answers that nobody reads take their share and no more, and go when others need it',
  async (t) => {
    // The share of a key is half of this, and each answer holds 128 KiB.
    const coordinator = await start(t, { http: { answer_memory_bytes: depth(16, 64) * mebibyte } });
    const [hostile, honest] = [await keyOf(coordinator, 'viewer'), await keyOf(coordinator, 'viewer')];
    const id = await dispatch(coordinator, 'x'.repeat(large));
    const { result, growth, slowestMs } = await watch(coordinator, async () => {
      const all: { status: number }[] = [];
      // A few at a time, so that they are all there before the first has been unread for long.
      for (let i = 0; i < depth(80, 300); i += 10) {
        const some = Array.from({ length: 10 }, () => unread(t, coordinator, `/api/jobs/${id}`, hostile));
        all.push(...(await Promise.all(some)));
      }
      return all.map(({ status }) => status);
    });
    t.log(`${Math.round(growth / mebibyte)} MiB, ${slowestMs} ms`);
    t.true(growth < growthMax, `${Math.round(growth / mebibyte)} MiB`);
    t.true(slowestMs < othersMs, `${Math.round(slowestMs)} ms`);
    t.true(result.includes(200));
    t.deepEqual([...new Set(result)].sort(), [200, 429]);
    const refused = await answerTo(coordinator.port, {
      path: `/api/jobs/${id}`,
      headers: { authorization: `Bearer ${hostile}` },
    });
    t.like(refused.json, { status: 429, code: 'share_exceeded' });
    t.regex(String((refused.json as { detail: string }).detail), /bytes_out/);
    t.true(Number(refused.headers['retry-after']) > 0);
    const whole = await answerTo(coordinator.port, {
      path: `/api/jobs/${id}`,
      headers: { authorization: `Bearer ${honest}` },
    });
    t.is((whole.json as { prompt: string }).prompt.length, large);
    // Those that do not read lose their places to those that ask again.
    await until('the key gets an answer again', async () => {
      const { status } = await unread(t, coordinator, `/api/jobs/${id}`, hostile);
      const cut = await metric(coordinator, 'svc_connections_ended_total{reason="slow"}');
      return status === 200 && cut > 0;
    });
  },
);

test.serial('event streams that nobody reads are bounded', async (t) => {
  const coordinator = await start(t);
  const hostile = await keyOf(coordinator, 'viewer');
  const id = await dispatch(coordinator, 'x'.repeat(large));
  const { result, growth, slowestMs } = await watch(coordinator, async () => {
    const all: { status: number }[] = [];
    for (let i = 0; i < depth(80, 100); i += 1) {
      all.push(await unread(t, coordinator, `/api/jobs/${id}/events`, hostile));
    }
    return all.map(({ status }) => status);
  });
  t.log(`${Math.round(growth / mebibyte)} MiB, ${slowestMs} ms`);
  t.true(growth < growthMax, `${Math.round(growth / mebibyte)} MiB`);
  t.true(slowestMs < othersMs, `${Math.round(slowestMs)} ms`);
  t.true(result[0] === 200);
});

test.serial('a frame that names forty large jobs costs one of them until that is read', async (t) => {
  const coordinator = await start(t);
  const hostile = await keyOf(coordinator, 'viewer');
  const prompt = 'x'.repeat(depth(2, 4) * mebibyte);
  const ids: string[] = [];
  for (let i = 0; i < 40; i += 1) ids.push(await dispatch(coordinator, prompt));
  const open = async (): Promise<WebSocket> => {
    const headers = { authorization: `Bearer ${hostile}` };
    const socket = new WebSocket(`ws://127.0.0.1:${coordinator.port}/ws`, liveSubprotocol, { headers });
    t.teardown(() => socket.terminate());
    await once(socket, 'open');
    return socket;
  };
  const topics = ids.map((id) => `job:${id}`);
  const deaf = await Promise.all([1, 2, 3].map(open));
  const { growth, slowestMs } = await watch(coordinator, async () => {
    for (const socket of deaf) {
      socket.pause();
      socket.send(JSON.stringify({ type: 'subscribe', topics }));
    }
    await delay(3_000);
  });
  t.log(`${Math.round(growth / mebibyte)} MiB, ${slowestMs} ms`);
  t.true(growth < 150 * mebibyte, `${Math.round(growth / mebibyte)} MiB`);
  t.true(slowestMs < othersMs, `${Math.round(slowestMs)} ms`);
  for (const socket of deaf) socket.terminate();
  // Whoever reads gets all of them.
  const reader = await open();
  const seen = new Set<string>();
  reader.on('message', (data) => {
    const { type, topic } = JSON.parse(String(data)) as { type: string; topic: string };
    if (type === 'snapshot') seen.add(topic);
  });
  reader.send(JSON.stringify({ type: 'subscribe', topics }));
  await until(
    () => `all forty come, not ${seen.size}`,
    () => seen.size === 40,
  );
});

test.serial(
  'requests ahead of their answers are answered in turn, and too many end the connection',
  async (t) => {
    const coordinator = await start(t);
    const { port } = coordinator;
    const hostile = await keyOf(coordinator, 'viewer');
    const id = await dispatch(coordinator, 'x'.repeat(mebibyte));
    const ask = (path: string) =>
      `GET ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${hostile}\r\n\r\n`;
    const polite = connect(port, '127.0.0.1');
    t.teardown(() => polite.destroy());
    let text = '';
    polite.setEncoding('latin1').on('data', (part: string) => {
      text += part;
    });
    polite.write(ask('/api/stats').replace('Host: a', 'Host: 127.0.0.1').repeat(50));
    await until('fifty answers', () => text.split('HTTP/1.1 200 OK').length === 51);
    const { growth } = await watch(coordinator, async () => {
      const socket = connect(port, '127.0.0.1');
      t.teardown(() => socket.destroy());
      socket.on('error', () => {});
      socket.pause();
      socket.write(ask(`/api/jobs/${id}`).replace('Host: a', 'Host: 127.0.0.1').repeat(300));
      await until(
        'it is cut',
        async () => (await metric(coordinator, 'svc_connections_ended_total{reason="pipelined"}')) === 1,
      );
    });
    t.true(growth < 100 * mebibyte, `${Math.round(growth / mebibyte)} MiB`);
  },
);
