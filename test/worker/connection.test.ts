import test from 'ava';
import { nameLengthMax } from '../../src/domain/limits.ts';
import { closeCodes } from '../../src/domain/workerProtocol.ts';
import { parseFrame } from '../../src/gateway/frames.ts';
import { reconnectDelay } from '../../src/worker/backoff.ts';
import { socketUrl } from '../../src/worker/disconnection.ts';
import { FakeClock } from '../support/fakeClock.ts';
import { job, setup } from './support/setup.ts';

test('hello comes first, with the key in the header, and says everything about the worker', async (t) => {
  const { coordinator, worker } = await setup(t, {
    name: 'lab-1',
    tags: ['eu'],
    version: '1.2.3',
    host: 'box',
    instance: '7b0c0f0e-0000-4000-8000-000000000001',
    concurrency: 3,
  });
  await worker.start();
  const session = await coordinator.connection();
  await session.take('hello');
  t.is(session.request.headers.authorization, 'Bearer a-key');
  t.is(session.request.headers['sec-websocket-protocol'], 'svc.worker.v1');
  t.is(session.request.headers.origin, undefined);
  t.is(session.request.url, '/ws/worker');
  t.deepEqual(session.frames, [
    {
      type: 'hello',
      name: 'lab-1',
      kind: 'cloud',
      providers: ['echo', 'held'],
      models: { held: ['m'] },
      tags: ['eu'],
      concurrency: 3,
      version: '1.2.3',
      host: 'box',
      instance: '7b0c0f0e-0000-4000-8000-000000000001',
      running: [],
      features: ['typed_chunks', 'shared_frames', 'holds_ahead'],
    },
  ]);
  t.false(worker.isConnected);
  session.welcome();
  await worker.untilConnected();
  t.true(worker.isConnected);
});

test('a heartbeat goes out every interval of the welcome and lists what is held', async (t) => {
  const clock = new FakeClock();
  const { coordinator, worker, provider } = await setup(t, { clock });
  await worker.start();
  const session = await coordinator.session({ heartbeat_interval_seconds: 2 });
  session.assign(job('a'), job('b', { lease: 7 }));
  const first = await provider.next();
  const ended = session.take('complete');
  first.end({ ok: true, result: { output: 'x', finish_reason: 'stop', model: 'm', usage: {} } });
  await ended;
  clock.advance(2000);
  const held = (await session.take('heartbeat')).running;
  t.deepEqual(held, [
    { job_id: 'b', lease: 7 },
    { job_id: 'a', lease: 1 },
  ]);
  session.ack({ job_id: 'a', lease: 1 });
  await session.settled();
  clock.advance(2000);
  t.deepEqual((await session.take('heartbeat')).running, [{ job_id: 'b', lease: 7 }]);
});

test('models that a local server loads later are told with a heartbeat', async (t) => {
  const clock = new FakeClock();
  let models = ['small'];
  const asked: (() => void)[] = [];
  const { coordinator, worker } = await setup(t, {
    clock,
    providers: [
      {
        name: 'ollama',
        kind: 'local',
        models: async () => {
          for (const tell of asked.splice(0)) tell();
          return models;
        },
        probe: async () => null,
        run: async () => ({ ok: false, error: { class: 'unknown', message: 'unused' } }),
      },
    ],
  });
  await worker.start();
  const session = await coordinator.session();
  t.deepEqual(session.of('hello')[0]?.models, { ollama: ['small'] });
  await worker.untilConnected();
  models = ['small', 'large'];
  const askedAgain = new Promise<void>((resolve) => asked.push(resolve));
  clock.advance(10_000);
  t.is((await session.take('heartbeat')).models, undefined);
  await askedAgain;
  await session.settled();
  clock.advance(10_000);
  t.deepEqual((await session.take('heartbeat')).models, { ollama: ['large', 'small'] });
  clock.advance(9_999);
  await session.settled();
});

test('a model with a longer name than any job can ask for is left out, since a hello with it would be refused', async (t) => {
  const longest = 'x'.repeat(nameLengthMax);
  const { coordinator, worker } = await setup(t, {
    providers: [
      {
        name: 'llamacpp',
        kind: 'local',
        models: async () => ['small', longest, `${longest}x`],
        probe: async () => null,
        run: async () => ({ ok: false, error: { class: 'unknown', message: 'unused' } }),
      },
    ],
  });
  await worker.start();
  const session = await coordinator.session();
  const [hello] = session.of('hello');
  t.deepEqual(hello?.models, { llamacpp: ['small', longest] });
  t.is(typeof parseFrame(JSON.stringify(hello)), 'object');
});

test('a local server that goes away while the worker runs is told once, not with every heartbeat', async (t) => {
  const clock = new FakeClock();
  let isGone = false;
  let asked = Promise.withResolvers<void>();
  const { coordinator, worker, notices } = await setup(t, {
    clock,
    providers: [
      {
        name: 'ollama',
        kind: 'local',
        models: async () => {
          setImmediate(asked.resolve);
          if (isGone) throw new Error('gone');
          return ['small'];
        },
        probe: async () => null,
        run: async () => ({ ok: false, error: { class: 'unknown', message: 'unused' } }),
      },
    ],
  });
  await worker.start();
  const session = await coordinator.session();
  await worker.untilConnected();
  isGone = true;
  for (let beat = 0; beat < 3; beat++) {
    asked = Promise.withResolvers();
    clock.advance(10_000);
    await session.take('heartbeat');
    await asked.promise;
    session.send({ type: 'heartbeat_ack', lost: [] });
    await session.settled();
  }
  t.deepEqual(notices, ['the models cannot be listed: gone']);
});

test('a worker whose local server does not answer does not start', async (t) => {
  const { worker, coordinator } = await setup(t, {
    providers: [
      {
        name: 'ollama',
        kind: 'local',
        models: () => Promise.reject(new Error('could not connect to the ollama server at http://x')),
        probe: async () => null,
        run: async () => ({ ok: false, error: { class: 'unknown', message: 'unused' } }),
      },
    ],
  });
  await t.throwsAsync(worker.start(), { message: /could not connect to the ollama server/ });
  t.is(coordinator.attempts, 0);
});

test('a refused key is said clearly and tried again slowly, with the key of that moment', async (t) => {
  const clock = new FakeClock();
  let key = 'old';
  const { coordinator, worker, notices, event } = await setup(t, { clock, apiKey: () => key });
  coordinator.admit = (request) => (request.headers.authorization === 'Bearer new' ? null : 401);
  const refused = event('unauthorized');
  await worker.start();
  await refused;
  t.regex(notices.at(-1) ?? '', /401 Unauthorized: Authentication failed/);
  t.false(notices.some((text) => text.includes('old')));
  clock.advance(14_999);
  t.is(coordinator.attempts, 1);
  key = 'new';
  clock.advance(1);
  await coordinator.session();
  await worker.untilConnected();
  t.is(coordinator.attempts, 2);
});

test('a new key can be tried at once', async (t) => {
  const clock = new FakeClock();
  const { coordinator, worker, event } = await setup(t, { clock });
  coordinator.admit = () => 401;
  const refused = event('unauthorized');
  await worker.start();
  await refused;
  coordinator.admit = () => null;
  worker.retryNow();
  await coordinator.session();
  await worker.untilConnected();
  t.true(worker.isConnected);
});

test('a key that was revoked while connected (4401) is treated like a refused one', async (t) => {
  const clock = new FakeClock();
  const { coordinator, worker, notices, event } = await setup(t, { clock });
  await worker.start();
  const session = await coordinator.session();
  await worker.untilConnected();
  const refused = event('unauthorized');
  session.socket.close(closeCodes.keyRefused, 'revoked');
  await refused;
  t.regex(notices.at(-1) ?? '', /401 Unauthorized: Authentication failed/);
  t.is(coordinator.attempts, 1);
});

test('a key that cannot be a header does not crash the worker and is not shown', async (t) => {
  const clock = new FakeClock();
  const { worker, notices } = await setup(t, { clock, apiKey: () => 'secret\nkey' });
  await worker.start();
  t.is(notices.length, 1);
  t.notRegex(notices.join(), /secret/);
});

test('a name that a live worker has (4409) says what to do and backs off', async (t) => {
  const clock = new FakeClock();
  const { coordinator, worker, notices, event } = await setup(t, { clock, name: 'twin' });
  await worker.start();
  const session = await coordinator.connection();
  await session.take('hello');
  const noticed = event('notice');
  session.socket.close(closeCodes.nameTaken, 'name taken');
  await noticed;
  t.regex(notices.at(-1) ?? '', /another live worker has the name "twin".*--name/);
  await clock.timerWithin(2000);
  t.is(clock.untilNext, 2000);
  clock.advance(2000);
  await coordinator.session();
  await worker.untilConnected();
});

for (const [code, error] of [
  [
    closeCodes.keyNotAllowed,
    { code: 'key_not_allowed', message: 'tags: the key allows "eu", not "us"; do this' },
  ],
  [
    closeCodes.nameTaken,
    { code: 'name_taken_by_key', message: 'the name "twin" is of another key; do this' },
  ],
] as const) {
  test(`a refusal for the key (${error.code}) says what the coordinator says, and is tried again slowly`, async (t) => {
    const clock = new FakeClock();
    const { coordinator, worker, notices, event } = await setup(t, { clock, name: 'twin' });
    await worker.start();
    const session = await coordinator.connection();
    await session.take('hello');
    const noticed = event('notice');
    session.send({ type: 'error', ...error });
    session.socket.close(code, error.code);
    t.is((await noticed).level, 'error');
    t.is(notices.length, 1);
    t.true(notices[0]?.includes(error.message));
    await clock.timerWithin(15_000);
    t.is(clock.untilNext, 15_000);
    clock.advance(15_000);
    await coordinator.session();
    await worker.untilConnected();
  });
}

test('a restarting coordinator (1012) is found again without alarm', async (t) => {
  const { coordinator, worker, event } = await setup(t);
  await worker.start();
  const session = await coordinator.session();
  await worker.untilConnected();
  const noticed = event('notice');
  session.socket.close(closeCodes.restarting);
  t.is((await noticed).level, 'info');
  await coordinator.session();
  await worker.untilConnected();
});

for (const code of [closeCodes.badFrame, closeCodes.policyViolation]) {
  test(`a protocol error (${code}) is logged as one and not repeated at once`, async (t) => {
    const clock = new FakeClock();
    const { coordinator, worker, event } = await setup(t, { clock });
    await worker.start();
    const session = await coordinator.session();
    await worker.untilConnected();
    const noticed = event('notice');
    session.socket.close(code, 'bad hello');
    const { level, message } = await noticed;
    t.is(level, 'error');
    t.regex(message, /bad hello/);
    t.true((clock.untilNext ?? 0) >= 5000);
  });
}

test('an address that is no coordinator is said to be none', async (t) => {
  const clock = new FakeClock();
  const { coordinator, worker, event } = await setup(t, { clock });
  coordinator.admit = () => 404;
  const noticed = event('notice');
  await worker.start();
  t.regex((await noticed).message, /status 404.*is that the address of a coordinator/);
});

test('a proxy whose coordinator is away is tried again as soon as the coordinator itself would be', async (t) => {
  const { coordinator, worker, event } = await setup(t);
  coordinator.admit = () => (coordinator.attempts === 1 ? 502 : null);
  const noticed = event('notice');
  await worker.start();
  t.like(await noticed, { level: 'warn' });
  t.regex((await noticed).message, /proxy at .* does not reach the coordinator \(status 502\)/);
  await coordinator.session();
  await worker.untilConnected();
});

test('a silent connection is given up and made anew', async (t) => {
  const clock = new FakeClock();
  const { coordinator, worker, event } = await setup(t, { clock, staleSeconds: 0 });
  await worker.start();
  await coordinator.session();
  await worker.untilConnected();
  const gone = event('disconnected');
  clock.advance(30_000);
  await gone;
  await clock.timerWithin(0);
  clock.advance(0);
  await coordinator.session();
  await worker.untilConnected();
  t.is(coordinator.attempts, 2);
});

test('a coordinator that never sends a welcome is given up', async (t) => {
  const clock = new FakeClock();
  const { coordinator, worker, notices } = await setup(t, { clock });
  await worker.start();
  const session = await coordinator.connection();
  await session.take('hello');
  await clock.timerWithin(30_000);
  clock.advance(30_000);
  await session.closed;
  await clock.timerWithin(0);
  t.regex(notices.at(-1) ?? '', /no welcome/);
});

test('pings are answered', async (t) => {
  const { coordinator, worker } = await setup(t);
  await worker.start();
  const session = await coordinator.session();
  await session.settled();
  t.pass();
});

test('garbage from the coordinator is reported without its content, and work goes on', async (t) => {
  const { coordinator, worker, notices, provider } = await setup(t);
  await worker.start();
  const session = await coordinator.session();
  const garbage = [
    'prompt: secret',
    '[]',
    'null',
    '{"type":7}',
    '{"type":"from_the_future","prompt":"secret"}',
    '{"type":"assign"}',
    '{"type":"assign","jobs":[{"job_id":"x","prompt":"secret"},3,null]}',
    '{"type":"assign","jobs":[{"job_id":"x","lease":1,"provider":"held","messages":[{"no":"role"}]}]}',
    '{"type":"ack","job_id":1,"lease":"x"}',
    '{"type":"abort"}',
    '{"type":"settings","concurrency":-1}',
    '{"type":"heartbeat_ack","lost":[5,{"job_id":"unheard of","lease":1}]}',
    '{"type":"ack","job_id":"unheard of","lease":3,"accepted":false}',
    '{"type":"error","code":"x","message":"a complaint"}',
    '{"type":"welcome","worker_id":"w","concurrency":1,"heartbeat_interval_seconds":0}',
  ];
  for (const text of garbage) session.raw(text);
  session.raw(Buffer.from([1, 2, 3]));
  await session.settled();
  t.true(notices.length >= 12);
  t.notRegex(notices.join('\n'), /secret/);
  t.regex(notices.join('\n'), /a complaint/);
  t.is(provider.runs.length, 0);
  session.assign(job('a', { provider: 'echo' }));
  t.is((await session.take('complete')).job_id, 'a');
});

test('a flood of garbage does not flood the log', async (t) => {
  const { coordinator, worker, notices } = await setup(t);
  await worker.start();
  const session = await coordinator.session();
  for (let i = 0; i < 100; i++) session.raw('{}');
  await session.settled();
  t.is(notices.length, 20);
});

test('frames before the welcome are not acted on', async (t) => {
  const { coordinator, worker, provider } = await setup(t);
  await worker.start();
  const session = await coordinator.connection();
  await session.take('hello');
  session.assign(job('early'));
  session.welcome();
  session.assign(job('later'));
  t.is((await provider.next()).assignment.job_id, 'later');
});

test('settings from an operator are told', async (t) => {
  const { coordinator, worker, event } = await setup(t);
  await worker.start();
  const session = await coordinator.session();
  const told = event('settings');
  session.send({ type: 'settings', paused: true });
  t.deepEqual(await told, { paused: true, concurrency: 2 });
});

test('a listener that throws does not stop the worker', async (t) => {
  const { coordinator, worker } = await setup(t);
  worker.on('assigned', () => {
    throw new Error('a bug in the program around');
  });
  await worker.start();
  const session = await coordinator.session();
  session.assign(job('a', { provider: 'echo' }));
  t.is((await session.take('complete')).job_id, 'a');
});

test('the back-off doubles from 0.5 s to 30 s with full jitter', (t) => {
  const at = (next: number) => ({ next: () => next, bytes: () => new Uint8Array() });
  const ceilings = [0, 1, 2, 3, 4, 5, 6, 7, 50].map((attempt) => reconnectDelay('lost', attempt, at(1)));
  t.deepEqual(ceilings, [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
  t.is(reconnectDelay('lost', 9, at(0)), 0);
  t.is(reconnectDelay('lost', 9, at(0.5)), 15_000);
  t.is(reconnectDelay('refused', 0, at(0)), 15_000);
  t.is(reconnectDelay('refused', 0, at(1)), 30_000);
});

test('the socket is found under the address of the coordinator', (t) => {
  t.is(socketUrl('http://127.0.0.1:7420').href, 'ws://127.0.0.1:7420/ws/worker');
  t.is(socketUrl('https://svc.example/jobs/').href, 'wss://svc.example/jobs/ws/worker');
  t.is(socketUrl('ws://box:1/ws/worker').href, 'ws://box:1/ws/worker');
  t.throws(() => socketUrl('127.0.0.1:7420'), { instanceOf: TypeError });
  t.throws(() => socketUrl('ftp://x'), { message: /must be like http/ });
});
