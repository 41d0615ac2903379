import test, { type ExecutionContext } from 'ava';
import type { WorkerSettings } from '../../src/config/config.ts';
import { loadConfig } from '../../src/config/load.ts';
import { closeCodes, type WelcomeFrame } from '../../src/domain/workerProtocol.ts';
import { silent } from '../../src/lib/log.ts';
import { ConfiguredWorker } from '../../src/worker/configured.ts';
import { folderWith } from '../config/folder.ts';
import { FakeClock } from '../support/fakeClock.ts';
import { type ConfigServer, serveConfig } from './support/configServer.ts';
import { ScriptedCoordinator, type Session } from './support/coordinator.ts';
import { earliest, job } from './support/setup.ts';

const oldKey = 'the-old-key-of-the-worker';
const newKey = 'the-new-key-of-the-worker';

interface Options {
  remote?: ConfigServer['answer'];
  yaml?: string;
  env?: NodeJS.ProcessEnv;
  flags?: Partial<WorkerSettings>;
}

/** A worker on a scripted coordinator that follows a remote configuration, with a clock turned by hand. */
async function setup(t: ExecutionContext, { remote = '', yaml = '', env = {}, flags = {} }: Options) {
  const coordinator = await ScriptedCoordinator.listen();
  t.teardown(() => coordinator.close());
  const server = await serveConfig(t, remote);
  const clock = new FakeClock();
  // No other timer than that of the remote configuration: a test waits for it, and then lets it come.
  const cwd = await folderWith(t, { 'svc.config.yaml': `jobs: { reap_stale_after_seconds: 0 }\n${yaml}` });
  const warnings: string[] = [];
  const notices: string[] = [];
  const configured = await ConfiguredWorker.create({
    flags: { providers: ['echo'], coordinator: coordinator.url, ...flags },
    environment: { coordinator: null, configUrl: server.url, localModelHost: null, allowedVariables: [] },
    local: await loadConfig({ env, cwd }),
    env,
    host: 'box',
    clock,
    random: earliest,
    logger: silent,
    warn: (message) => warnings.push(message),
  });
  const { worker } = configured;
  worker.on('notice', ({ message }) => notices.push(message));
  t.teardown(() => worker.stop());
  /** Resolves with the first notice like this one. */
  const notice = (pattern: RegExp): Promise<string> =>
    new Promise((resolve) => {
      const seen = notices.find((text) => pattern.test(text));
      if (seen !== undefined) return resolve(seen);
      worker.on('notice', ({ message }) => {
        if (pattern.test(message)) resolve(message);
      });
    });
  /** The next connection, once the worker has read its welcome. Heartbeats would be answered by nobody. */
  const session = async (welcome: Partial<WelcomeFrame> = {}): Promise<Session> => {
    const next = await coordinator.session({ heartbeat_interval_seconds: 3600, ...welcome });
    await next.settled();
    return next;
  };
  return { coordinator, session, server, clock, configured, worker, warnings, notices, notice };
}

const keyOf = (session: Session) => session.request.headers.authorization;

test('the remote configuration fills in what nothing here sets, the key too', async (t) => {
  const { configured, warnings, session } = await setup(t, {
    remote: `worker: { api_key: ${newKey}, concurrency: 7, tags: [shared] }`,
  });
  await configured.start();
  const socket = await session();
  t.is(keyOf(socket), `Bearer ${newKey}`);
  t.like(socket.of('hello')[0], { name: 'box', concurrency: 7, tags: ['shared'] });
  t.deepEqual(warnings, []);
});

test('without a remote configuration it goes on with what it has, after a warning', async (t) => {
  const { configured, warnings, session } = await setup(t, {
    remote: (_request, response) => response.writeHead(500).end(),
    env: { SVC_API_KEY: oldKey },
  });
  t.regex(warnings.join(), /^the remote configuration at .*svc\.yaml cannot be used: status 500$/);
  await configured.start();
  t.is(keyOf(await session()), `Bearer ${oldKey}`);
});

test('without any key it does not start', async (t) => {
  const remote: ConfigServer['answer'] = (_request, response) => response.writeHead(500).end();
  await t.throwsAsync(setup(t, { remote }), { message: /no API key: set SVC_API_KEY/ });
});

test('a key that is rotated while it runs is read at once after 4401, and used in place of the one in its environment', async (t) => {
  const { coordinator, server, configured, worker, notices, session } = await setup(t, {
    remote: 'worker: { tags: [a] }',
    env: { SVC_API_KEY: oldKey },
  });
  await configured.start();
  const socket = await session();
  await worker.untilConnected();

  server.answer = `worker: { tags: [a], api_key: ${newKey} }`;
  coordinator.admit = ({ headers }) => (headers.authorization === `Bearer ${newKey}` ? null : 401);
  socket.socket.close(closeCodes.keyRefused, 'rotated');
  t.is(keyOf(await session()), `Bearer ${newKey}`);
  await worker.untilConnected();
  t.is(coordinator.attempts, 2, 'the refused key is not tried again');
  t.false(notices.join().includes(newKey));
});

test('a remote key that is known already is tried without asking first', async (t) => {
  const { coordinator, server, configured, worker, session } = await setup(t, {
    remote: `worker: { api_key: ${newKey} }`,
    env: { SVC_API_KEY: oldKey },
  });
  server.answer = (_request, response) => response.writeHead(500).end();
  coordinator.admit = ({ headers }) => (headers.authorization === `Bearer ${newKey}` ? null : 401);
  await configured.start();
  t.is(keyOf(await session()), `Bearer ${newKey}`);
  await worker.untilConnected();
  t.is(coordinator.attempts, 2);
});

test('concurrency and tags that change are told by a new hello; what runs goes on', async (t) => {
  const { server, clock, configured, worker, notice, session } = await setup(t, {
    remote: 'worker: { concurrency: 1, tags: [a] }',
    env: { SVC_API_KEY: oldKey },
  });
  await configured.start();
  const first = await session({ concurrency: 1 });
  first.assign(job('a', { provider: 'echo', params: { echo_delay_ms: 3_600_000 } }));
  await first.settled();
  server.answer = 'worker: { concurrency: 4, tags: [a, b] }';
  clock.advance(60_000);
  await notice(/^changed by the remote configuration: worker\.concurrency, worker\.tags$/);
  t.is((await first.closed).code, 1000);
  await clock.timerWithin(0);
  clock.advance(0);
  const second = await session({ concurrency: 4 });
  t.like(second.of('hello')[0], { concurrency: 4, tags: ['a', 'b'], running: [{ job_id: 'a', lease: 1 }] });
  await worker.untilConnected();
  t.is(worker.running, 1);
});

test('it is asked every minute with the ETag, and nothing happens while nothing changes', async (t) => {
  const { coordinator, server, clock, configured, session } = await setup(t, {
    remote: 'worker: { concurrency: 1 }',
    env: { SVC_API_KEY: oldKey },
  });
  await configured.start();
  const socket = await session();
  for (let count = 2; count <= 4; count++) {
    await clock.timerWithin(60_000);
    clock.advance(60_000);
    await server.asked(count);
  }
  await socket.settled();
  t.is(coordinator.attempts, 1);
  t.truthy(server.seen.at(-1)?.headers['if-none-match']);
});

test('a name and a coordinator that change are said to need a restart, once', async (t) => {
  const { server, clock, configured, notices, notice, session } = await setup(t, {
    remote: 'worker: { name: one }',
    env: { SVC_API_KEY: oldKey },
  });
  await configured.start();
  t.is((await session()).of('hello')[0]?.name, 'one');
  server.answer = 'worker: { name: two }';
  clock.advance(60_000);
  await notice(/changes worker\.name: that needs a restart/);
  server.answer = 'worker: { name: two, tags: [x] }';
  await clock.timerWithin(60_000);
  clock.advance(60_000);
  await notice(/changed by the remote configuration: worker\.tags/);
  t.is(notices.filter((text) => text.includes('needs a restart')).length, 1);
});

test('a remote configuration that goes bad is told once, changes nothing, and its recovery is told', async (t) => {
  const { server, clock, configured, coordinator, notices, notice, session } = await setup(t, {
    remote: 'worker: { concurrency: 1 }',
    env: { SVC_API_KEY: oldKey },
  });
  await configured.start();
  const socket = await session();
  server.answer = 'worker: { concurency: 1 }';
  for (let count = 2; count <= 3; count++) {
    await clock.timerWithin(60_000);
    clock.advance(60_000);
    await server.asked(count);
  }
  await notice(/unknown key, did you mean concurrency\?/);
  server.answer = 'worker: { concurrency: 1 }';
  await clock.timerWithin(60_000);
  clock.advance(60_000);
  await notice(/can be read again/);
  await socket.settled();
  t.is(notices.filter((text) => text.includes('unknown key')).length, 1);
  t.is(coordinator.attempts, 1);
});

test('a remote configuration that asks for a provider that does not exist changes nothing', async (t) => {
  const { server, clock, configured, coordinator, notice, session } = await setup(t, {
    flags: { providers: [] },
    remote: 'worker: { providers: [echo], concurrency: 1 }',
    env: { SVC_API_KEY: oldKey },
  });
  await configured.start();
  const socket = await session();
  server.answer = 'worker: { providers: [echo, wonder], concurrency: 2 }';
  clock.advance(60_000);
  await notice(/unknown provider "wonder"/);
  await socket.settled();
  t.is(configured.concurrency, 1);
  t.is(coordinator.attempts, 1);
});

test('the key is not sent to the place that only the remote configuration calls the coordinator', async (t) => {
  const remote: ConfigServer['answer'] = ({ headers }, response) =>
    response.end(`worker: { coordinator: "http://${headers.host}", providers: [echo] }`);
  const { server, clock, configured } = await setup(t, {
    flags: { coordinator: null },
    remote,
    env: { SVC_API_KEY: oldKey },
  });
  await configured.start();
  await clock.timerWithin(60_000);
  clock.advance(60_000);
  await server.asked(2);
  t.deepEqual(
    server.seen.map(({ headers }) => headers.authorization),
    [undefined, undefined],
  );
});
