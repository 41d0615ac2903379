import type { ExecutionContext } from 'ava';
import test from 'ava';
import { WebSocket } from 'ws';
import { closeCodes, workerSubprotocol } from '../../src/domain/workerProtocol.ts';
import { FailingFiles } from '../store/failingFiles.ts';
import { type ApiBundle, setupApi } from '../support/api.ts';
import { request } from '../support/coordinator.ts';
import { until } from '../support/process.ts';

type Frame = Record<string, unknown> & { type: string };

/** A socket of a worker; what comes in is kept, and can be waited for. */
class Socket {
  readonly socket: WebSocket;
  readonly frames: Frame[] = [];
  readonly opened: Promise<number>;
  readonly closed: Promise<number>;
  #watchers: (() => void)[] = [];

  constructor(
    t: ExecutionContext,
    { port, keys }: ApiBundle,
    headers: Record<string, string> = {},
    path = '/ws/worker',
  ) {
    this.socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, workerSubprotocol, {
      headers: { authorization: `Bearer ${keys.worker}`, ...headers },
    });
    t.teardown(() => this.socket.terminate());
    this.socket.on('error', () => {});
    this.socket.on('message', (data) => {
      this.frames.push(JSON.parse(String(data)) as Frame);
      for (const wake of this.#watchers.splice(0)) wake();
    });
    this.closed = new Promise((resolve) => this.socket.on('close', resolve));
    this.opened = new Promise((resolve) => {
      this.socket.on('open', () => resolve(101));
      this.socket.on('unexpected-response', (_, response) => resolve(response.statusCode ?? 0));
    });
  }

  send(frame: unknown): void {
    this.socket.send(typeof frame === 'string' || Buffer.isBuffer(frame) ? frame : JSON.stringify(frame));
  }

  async next(type: string): Promise<Frame> {
    for (;;) {
      const frame = this.frames.find((one) => one.type === type);
      if (frame !== undefined) return frame;
      await new Promise<void>((resolve) => this.#watchers.push(resolve));
    }
  }
}

/** What it has been told of outcomes, however many shared a frame. */
function acksOf({ frames }: Socket): Record<string, unknown>[] {
  return frames.flatMap((frame) =>
    frame.type === 'ack' ? [frame] : frame.type === 'acks' ? (frame.acks as Record<string, unknown>[]) : [],
  );
}

const hello = { type: 'hello', name: 'w', kind: 'cloud', providers: ['echo'], concurrency: 1 };

test('an upgrade needs the path, a known host, no Origin and a key that may', async (t) => {
  const bundle = await setupApi(t);
  const { keys } = bundle;
  const status = (headers: Record<string, string>, path?: string) =>
    new Socket(t, bundle, headers, path).opened;
  t.is(await status({}), 101);
  t.is(await status({ authorization: `Bearer ${keys.admin}` }), 101);
  t.is(await status({}, '/ws/other'), 404);
  t.is(await status({ origin: 'http://evil.example' }), 403);
  t.is(await status({ host: 'evil.example' }), 403);
  t.is(await status({ authorization: 'Bearer wrong' }), 401);
  t.is(await status({ authorization: `Bearer ${keys.client}` }), 403);
});

test('the end of a key ends the sockets of workers that came with it, and no others', async (t) => {
  const bundle = await setupApi(t);
  const { api, clock } = bundle;
  const expires = new Date(clock.now() + 5_000).toISOString();
  const connect = async (name: string, body: object = {}) => {
    const { id, key } = (await api('POST', '/api/keys', { role: 'worker', ...body })).json;
    const socket = new Socket(t, bundle, { authorization: `Bearer ${key}` });
    await socket.opened;
    socket.send({ ...hello, name });
    await socket.next('welcome');
    return { id, socket };
  };
  const revoked = await connect('revoked');
  const rotated = await connect('rotated');
  const expired = await connect('expired', { expires_at: expires });
  const kept = await connect('kept');
  await api('DELETE', `/api/keys/${revoked.id}`);
  t.is(await revoked.socket.closed, closeCodes.keyRefused);
  await api('POST', `/api/keys/${rotated.id}/rotate`, { grace_seconds: 0 });
  t.is(await rotated.socket.closed, closeCodes.keyRefused);
  clock.advance(5_000);
  t.is(await expired.socket.closed, closeCodes.keyRefused);
  kept.socket.send({ type: 'heartbeat', running: [] });
  await kept.socket.next('heartbeat_ack');
  t.is(kept.socket.socket.readyState, WebSocket.OPEN);
});

test('a name of many bytes that is taken is refused with 4409, and the reason is cut', async (t) => {
  const bundle = await setupApi(t);
  const name = '\u{1f600}'.repeat(50);
  const [first, second] = [new Socket(t, bundle), new Socket(t, bundle)];
  await Promise.all([first.opened, second.opened]);
  first.send({ ...hello, name });
  await first.next('welcome');
  second.send({ ...hello, name });
  t.is(await second.closed, closeCodes.nameTaken);
  first.send({ type: 'heartbeat', running: [] });
  await first.next('heartbeat_ack');
});

test('a first frame that is no good hello ends the connection with 4400 and says why', async (t) => {
  const bundle = await setupApi(t);
  const bad = [
    'garbage',
    '[]',
    Buffer.from([1, 2, 3]),
    { type: 'nonsense' },
    { type: 'heartbeat', running: [] },
    { ...hello, name: '' },
    { ...hello, name: ' \u00a0' },
    { ...hello, name: 'a\u0000b' },
    { ...hello, providers: [] },
    { ...hello, concurrency: -1 },
    { ...hello, concurrency: 1.5 },
    { ...hello, kind: 'other' },
    { ...hello, running: [{ job_id: 5, lease: 'x' }] },
    { ...hello, models: { echo: 'm' } },
  ];
  for (const frame of bad) {
    const socket = new Socket(t, bundle);
    await socket.opened;
    socket.send(frame);
    t.is(await socket.closed, closeCodes.badFrame, JSON.stringify(frame));
    t.like(socket.frames[0], { type: 'error', code: 'bad_frame' });
    t.is(typeof socket.frames[0]?.message, 'string');
  }
  t.is((await bundle.api('GET', '/api/workers')).json.total, 0);
});

test('what a hello says twice is said once, and any visible name will do', async (t) => {
  const bundle = await setupApi(t);
  const socket = new Socket(t, bundle);
  await socket.opened;
  socket.send({ ...hello, name: 'Büro 2 🦊', providers: ['echo', 'echo'], tags: ['a', 'b', 'a'] });
  await socket.next('welcome');
  const [worker] = (await bundle.api('GET', '/api/workers')).json.workers as object[];
  t.like(worker, { name: 'Büro 2 🦊', providers: ['echo'], tags: ['a', 'b'] });
});

test('a bad frame after the hello is answered and survived; a stream of them ends with 1008', async (t) => {
  const bundle = await setupApi(t);
  const { job } = await bundle.coordinator.dispatch(request());
  const socket = new Socket(t, bundle);
  await socket.opened;
  socket.send(hello);
  await socket.next('assign');
  for (const frame of ['{', { type: 'complete', job_id: job.id, lease: 1 }, { ...hello }]) socket.send(frame);
  socket.send({ type: 'complete', job_id: 'unknown', lease: 1, result: { output: 'x' } });
  t.like(await socket.next('ack'), { accepted: false, reason: 'unknown_job' });
  t.is(socket.frames.filter(({ type }) => type === 'error').length, 3);
  t.is((await bundle.coordinator.job(job.id)).job.state, 'running.active');
  for (let count = 0; count < 5; count += 1) socket.send('{');
  t.is(await socket.closed, closeCodes.policyViolation);
});

test('outcomes that share a frame are settled together, and their acks share one; a bad one spoils no other', async (t) => {
  const bundle = await setupApi(t);
  const ids: string[] = [];
  for (let count = 0; count < 3; count += 1) ids.push((await bundle.coordinator.dispatch(request())).job.id);
  const socket = new Socket(t, bundle);
  await socket.opened;
  socket.send({ ...hello, concurrency: 3, features: ['shared_frames', 'time_travel'] });
  t.deepEqual((await socket.next('welcome')).features, ['shared_frames']);
  await until('all are assigned', () => bundle.coordinator.heldByConnected() === 3);
  const complete = (id: string | undefined) => ({
    type: 'complete',
    job_id: id,
    lease: 1,
    result: { output: 'x' },
  });
  const bad = [{ type: 'complete', job_id: ids[0], lease: 1 }, { type: 'heartbeat', running: [] }, {}];
  const good = [complete(ids[0]), complete(ids[1]), complete('unknown')];
  socket.send({ type: 'outcomes', outcomes: [...bad, ...good] });
  const acks = [
    { job_id: ids[0], lease: 1, accepted: true },
    { job_id: ids[1], lease: 1, accepted: true },
    { job_id: 'unknown', lease: 1, accepted: false, reason: 'unknown_job' },
  ];
  await until('all are acknowledged', () => acksOf(socket).length === 3);
  for (const ack of acks)
    t.like(
      acksOf(socket).find((one) => one.job_id === ack.job_id),
      ack,
    );
  t.true(socket.frames.some(({ type }) => type === 'acks'));
  t.is(socket.frames.filter(({ type }) => type === 'error').length, 3);
  t.is((await bundle.coordinator.job(ids[2] ?? '')).job.state, 'running.active');
  // One alone has a frame of its own.
  socket.send({ type: 'outcomes', outcomes: [complete(ids[2])] });
  await until('it is acknowledged', () => acksOf(socket).some((one) => one.job_id === ids[2]));
  const many = Array.from({ length: 1_001 }, () => complete('unknown'));
  socket.send({ type: 'outcomes', outcomes: many });
  await until('that is refused', () => socket.frames.filter(({ type }) => type === 'error').length === 4);
});

test('a frame over the limit ends the connection and nothing else', async (t) => {
  const bundle = await setupApi(t);
  const socket = new Socket(t, bundle);
  await socket.opened;
  socket.send(hello);
  await socket.next('welcome');
  socket.send(`"${'x'.repeat(17 * 1024 * 1024)}"`);
  t.is(await socket.closed, 1009);
  t.is((await bundle.api('GET', '/health')).status, 200);
});

test('frames that come while the hello is made durable are handled after it', async (t) => {
  const bundle = await setupApi(t);
  const socket = new Socket(t, bundle);
  await socket.opened;
  socket.send(hello);
  socket.send({ type: 'heartbeat', running: [{ job_id: 'gone', lease: 3 }] });
  t.deepEqual(await socket.next('heartbeat_ack'), {
    type: 'heartbeat_ack',
    lost: [{ job_id: 'gone', lease: 3 }],
  });
  t.is(socket.frames[0]?.type, 'welcome');
});

test('a thousand frames may come while the hello is made durable; more are bad ones, and end with 1008', async (t) => {
  const files = new FailingFiles();
  const bundle = await setupApi(t, {}, { files });
  const socket = new Socket(t, bundle);
  await socket.opened;
  const gate = Promise.withResolvers<void>();
  files.gate = gate.promise;
  socket.send(hello);
  for (let frame = 0; frame < 1_005; frame += 1) socket.send({ type: 'heartbeat', running: [] });
  t.is(await socket.closed, closeCodes.policyViolation);
  const said = socket.frames.filter(({ type }) => type === 'error').map(({ message }) => message);
  t.deepEqual(
    said,
    Array.from({ length: 5 }, () => 'too many frames before the welcome'),
  );
  gate.resolve();
  t.is((await bundle.api('GET', '/health')).status, 200);
});

test('jobs too large for one frame together are handed over in several', async (t) => {
  const bundle = await setupApi(t);
  const prompt = 'x'.repeat(6 * 1024 * 1024);
  for (let count = 0; count < 3; count += 1) await bundle.coordinator.dispatch(request({ prompt }));
  const socket = new Socket(t, bundle);
  await socket.opened;
  socket.send({ ...hello, concurrency: 3 });
  const jobs = () =>
    socket.frames.filter(({ type }) => type === 'assign').flatMap((frame) => frame.jobs as unknown[]);
  while (jobs().length < 3)
    await new Promise<void>((resolve) => socket.socket.once('message', () => resolve()));
  t.true(socket.frames.filter(({ type }) => type === 'assign').length >= 2);
});

test('a key that is bound otherwise closes a worker that goes beyond it, and resizes one that has too many slots', async (t) => {
  const bundle = await setupApi(t);
  const { json } = await bundle.api('POST', '/api/keys', { role: 'worker', max_concurrency: 4 });
  const worker = new Socket(t, bundle, { authorization: `Bearer ${json.key}` });
  await worker.opened;
  worker.send({ ...hello, concurrency: 100_000, tags: ['us'] });
  t.like(await worker.next('welcome'), { concurrency: 4 });
  await bundle.api('PATCH', `/api/keys/${json.id}`, { max_concurrency: 2 });
  t.like(await worker.next('settings'), { concurrency: 2 });
  await bundle.api('PATCH', `/api/keys/${json.id}`, { tags: ['eu'] });
  t.like(await worker.next('error'), { code: 'key_not_allowed' });
  t.is(await worker.closed, closeCodes.keyNotAllowed);
  const again = new Socket(t, bundle, { authorization: `Bearer ${json.key}` });
  await again.opened;
  again.send({ ...hello, tags: ['us'] });
  t.is(await again.closed, closeCodes.keyNotAllowed);
});

test('a name of many bytes that is taken closes with 4409 all the same', async (t) => {
  const bundle = await setupApi(t);
  const name = '\u8a9e'.repeat(200);
  const first = new Socket(t, bundle);
  await first.opened;
  first.send({ ...hello, name });
  await first.next('welcome');
  const second = new Socket(t, bundle);
  await second.opened;
  second.send({ ...hello, name });
  t.is(await second.closed, closeCodes.nameTaken);
  const thief = new Socket(t, bundle, { authorization: `Bearer ${bundle.keys.admin}` });
  await thief.opened;
  thief.send({ ...hello, name });
  t.like(await thief.next('error'), { code: 'name_taken_by_key' });
  t.is(await thief.closed, closeCodes.nameTaken);
});

test('a large frame that stops half way is cut off after 30 s', async (t) => {
  // Else its heartbeats are missed first.
  const bundle = await setupApi(t, { jobs: { heartbeatIntervalSeconds: 3_600 } });
  const worker = new Socket(t, bundle);
  await worker.opened;
  worker.send(hello);
  await worker.next('welcome');
  // A frame of 1 MiB of which half is sent, by hand: the library sends frames whole.
  const { _socket: raw } = worker.socket as unknown as { _socket: import('node:net').Socket };
  const head = Buffer.alloc(14);
  head[0] = 0x81;
  head[1] = 0xff;
  head.writeBigUInt64BE(1_048_576n, 2);
  raw.write(Buffer.concat([head, Buffer.alloc(512 * 1024)]));
  const isCut = worker.closed.then(() => true);
  for (let turn = 0; turn < 10_000 && bundle.clock.untilNext === null; turn += 1)
    await new Promise((resolve) => setImmediate(resolve));
  const wait = async (): Promise<boolean> => {
    bundle.clock.advance(30_000);
    return Promise.race([isCut, new Promise<false>((resolve) => setTimeout(() => resolve(false), 200))]);
  };
  let cut = false;
  for (let tries = 0; tries < 20 && !cut; tries += 1) cut = await wait();
  t.true(cut);
  t.regex(
    (await bundle.api('GET', '/metrics')).text,
    /svc_sockets_ended_total\{kind="worker",reason="1008"\} 1/,
  );
});
