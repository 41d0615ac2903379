import { once } from 'node:events';
import test from 'ava';
import { loadConfig } from '../../src/config/load.ts';
import type { Clock } from '../../src/domain/clock.ts';
import { silent } from '../../src/lib/log.ts';
import { systemClock, systemRandom } from '../../src/lib/systemClock.ts';
import { startService } from '../../src/service.ts';
import { ConfiguredWorker } from '../../src/worker/configured.ts';
import { folderWith } from '../config/folder.ts';
import { serveConfig } from './support/configServer.ts';

/** Long enough for a busy machine to hand out the new key with the old one. */
const graceSeconds = 4;
const waitMs = 60_000;
const adminKey = 'an-admin-key-for-the-tests';

test('a key that is rotated with a grace reaches a running worker through its remote configuration, without a restart', async (t) => {
  const cwd = await folderWith(t, { 'svc.config.yaml': 'port: 0\n' });
  const { config } = await loadConfig({ env: {}, cwd });
  const remote = await serveConfig(t, '{}');
  const service = await startService({ config, apiKey: adminKey, logger: silent });
  t.teardown(() => service.stop(0));
  const post = async (path: string, body: object) => {
    const headers = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' };
    const reply = await fetch(service.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
    return (await reply.json()) as { id: string; key: string };
  };
  const { id, key: oldKey } = await post('/api/keys', { role: 'worker' });

  // The minute of the remote configuration is over when the test says so.
  let minuteIsOver = () => {};
  const clock: Clock = {
    ...systemClock,
    after: (ms, task) => {
      if (ms !== 60_000) return systemClock.after(ms, task);
      minuteIsOver = task;
      return () => {};
    },
  };
  const env = { SVC_API_KEY: oldKey };
  const configured = await ConfiguredWorker.create({
    flags: { providers: ['echo'], coordinator: service.url },
    environment: {
      coordinator: null,
      configUrl: remote.url,
      localModelHost: null,
      allowedVariables: [],
    },
    local: await loadConfig({ env, cwd: await folderWith(t) }),
    env,
    host: 'box',
    clock,
    random: systemRandom(),
    logger: silent,
    warn: (message) => t.fail(message),
  });
  const { worker } = configured;
  t.teardown(() => worker.stop());
  await configured.start();
  await worker.untilConnected();

  const refused = once(worker, 'unauthorized', { signal: AbortSignal.timeout(waitMs) });
  const { key: newKey } = await post(`/api/keys/${id}/rotate`, { grace_seconds: graceSeconds });
  remote.answer = JSON.stringify({ worker: { api_key: newKey } });
  minuteIsOver();
  await refused;
  await worker.untilConnected();
  t.true(worker.isConnected);

  const job = await post('/api/jobs?wait=30', { provider: 'echo', prompt: 'Say hello' });
  t.like(job, { status: 'completed' });
});
