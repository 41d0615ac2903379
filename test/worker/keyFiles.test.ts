import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { loadConfig, parseConfig } from '../../src/config/load.ts';
import { silent } from '../../src/lib/log.ts';
import { ConfiguredWorker } from '../../src/worker/configured.ts';
import { UnusableKeyFile } from '../../src/worker/keyFile.ts';
import { folderWith } from '../config/folder.ts';
import { serve } from '../conformance/providerWire.ts';
import { whole } from '../fixtures/providers/answers.ts';
import { vllm } from '../fixtures/providers/openaiCompatible.ts';
import { FakeClock } from '../support/fakeClock.ts';
import { serveConfig } from './support/configServer.ts';
import { ScriptedCoordinator } from './support/coordinator.ts';
import { earliest, job } from './support/setup.ts';

test('a key that is changed in its file is used without a restart, and a bad file leaves the last one in use', async (t) => {
  const server = await serve(t, whole(vllm, { model: 'm', text: ['Yes.'] }));
  server.gets.set('/v1/models', ({ response }) => void response.end('{"data":[{"id":"m"}]}'));
  const coordinator = await ScriptedCoordinator.listen();
  t.teardown(() => coordinator.close());
  const yaml = `jobs: { reap_stale_after_seconds: 0 }\nproviders: { house: { base_url: "${server.url}/v1", api_key_file: house.key } }\n`;
  const cwd = await folderWith(t, { 'svc.config.yaml': yaml, 'house.key': 'the-first-key\n' });
  const env = { SVC_API_KEY: 'a-key-of-enough-characters' };
  const clock = new FakeClock();
  const notices: string[] = [];
  const configured = await ConfiguredWorker.create({
    flags: { providers: ['house'], coordinator: coordinator.url },
    environment: {
      coordinator: null,
      configUrl: null,
      localModelHost: null,
      allowedVariables: [] as string[],
    },
    local: await loadConfig({ env, cwd }),
    env,
    host: 'box',
    clock,
    random: earliest,
    logger: silent,
    warn: (message) => notices.push(message),
  });
  const { worker } = configured;
  t.teardown(() => worker.stop());
  worker.on('notice', ({ message }) => notices.push(message));
  const noticed = async (pattern: RegExp): Promise<void> => {
    while (!notices.some((notice) => pattern.test(notice))) await new Promise((done) => setImmediate(done));
  };
  await configured.start();
  const session = await coordinator.session({ heartbeat_interval_seconds: 3600 });
  const keyOf = async (id: string): Promise<string | undefined> => {
    session.assign(job(id, { provider: 'house', model: 'm' }));
    session.ack(await session.take('complete'));
    return server.asked.findLast(({ method }) => method === 'POST')?.headers.authorization;
  };
  t.is(await keyOf('a'), 'Bearer the-first-key');

  writeFileSync(join(cwd, 'house.key'), 'the-second-key\n');
  clock.advance(5_000);
  await noticed(/reloaded with the new key in its file: providers\.house/);
  t.is(await keyOf('b'), 'Bearer the-second-key');

  rmSync(join(cwd, 'house.key'));
  await clock.timerWithin(5_000);
  clock.advance(5_000);
  await noticed(/house\.key, cannot be read.*the last key remains in use/);
  t.is(await keyOf('c'), 'Bearer the-second-key');
  t.false(notices.join().includes('the-second-key'));
});

test('a file without a key keeps the worker from starting, and is named', async (t) => {
  for (const [text, message] of [
    ['', /house\.key, is empty/],
    ['two words\n', /house\.key, holds no key/],
  ] as const) {
    const yaml = 'providers: { house: { base_url: "http://127.0.0.1:9", api_key_file: house.key } }\n';
    const cwd = await folderWith(t, { 'svc.config.yaml': yaml, 'house.key': text });
    const env = { SVC_API_KEY: 'a-key-of-enough-characters' };
    const made = ConfiguredWorker.create({
      flags: { providers: ['house'] },
      environment: {
        coordinator: null,
        configUrl: null,
        localModelHost: null,
        allowedVariables: [] as string[],
      },
      local: await loadConfig({ env, cwd }),
      env,
      host: 'box',
      clock: new FakeClock(),
      random: earliest,
      logger: silent,
      warn: () => {},
    });
    await t.throwsAsync(made, { instanceOf: UnusableKeyFile, message });
  }
});

test('a remote configuration cannot name a file of this machine', async (t) => {
  const server = await serve(t, whole(vllm, { model: 'm', text: ['Yes.'] }));
  server.gets.set('/v1/models', ({ response }) => void response.end('{"data":[{"id":"m"}]}'));
  const cwd = await folderWith(t, { 'private.txt': 'not-for-others' });
  const file = join(cwd, 'private.txt');
  const remote = `providers: { house: { base_url: "${server.url}/v1", api_key_file: "${file}" } }\n`;
  t.deepEqual(parseConfig(remote, 'x').problems, []);
  const config = await serveConfig(t, remote);
  const env = { SVC_API_KEY: 'a-key-of-enough-characters' };
  const warnings: string[] = [];
  const configured = await ConfiguredWorker.create({
    flags: { providers: ['house'], coordinator: 'http://127.0.0.1:9' },
    environment: {
      coordinator: null,
      configUrl: config.url,
      localModelHost: null,
      allowedVariables: [] as string[],
    },
    local: await loadConfig({ env, cwd }),
    env,
    host: 'box',
    clock: new FakeClock(),
    random: earliest,
    logger: silent,
    warn: (message) => warnings.push(message),
  });
  t.teardown(() => configured.worker.stop());
  await configured.start();
  t.regex(warnings.join(), /providers\.house\.api_key_file of the remote configuration is not used/);
  t.is(server.asked[0]?.headers.authorization, undefined);
});
