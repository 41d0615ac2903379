import test from 'ava';
import { loadConfig } from '../../src/config/load.ts';
import { closeCodes } from '../../src/domain/workerProtocol.ts';
import { silent } from '../../src/lib/log.ts';
import { startService } from '../../src/service.ts';
import { environmentKey } from '../support/api.ts';
import { temporaryFolder } from '../support/folder.ts';
import { Dashboard } from './support/dashboard.ts';
import { Stream } from './support/stream.ts';

test('listeners see the drain, are sent away, and do not hold up the stop, whether they read or not', async (t) => {
  const cwd = temporaryFolder(t);
  const { config } = await loadConfig({ env: { SVC_DATA_DIR: cwd }, cwd, overrides: { port: 0 } });
  const service = await startService({ config, apiKey: environmentKey, logger: silent });
  const server = { port: Number(new URL(service.url).port) };
  const reading = new Dashboard(t, server);
  const deaf = new Dashboard(t, server);
  const stream = new Stream(t, server, '/api/events?topics=machines');
  const deafStream = new Stream(t, server, '/api/events?topics=machines');
  for (const view of [reading, deaf]) {
    await view.opened;
    await view.subscribe('machines');
  }
  for (const one of [stream, deafStream]) await one.next('snapshot');
  deaf.socket.pause();
  deafStream.pause();
  const from = performance.now();
  await service.stop(0);
  t.true(performance.now() - from < 10_000);
  t.is(await reading.closed, closeCodes.goingAway);
  t.like(await reading.next('transition'), { data: { machine: 'supervisor', to: 'admission.draining' } });
  await stream.ended;
  await stream.next('transition');
});

test('what the service holds for those who are yet to come is told in its metrics', async (t) => {
  const cwd = temporaryFolder(t);
  const { config } = await loadConfig({ env: { SVC_DATA_DIR: cwd }, cwd, overrides: { port: 0 } });
  const service = await startService({ config, apiKey: environmentKey, logger: silent });
  t.teardown(() => service.stop(0));
  const headers = { authorization: `Bearer ${environmentKey}`, 'content-type': 'application/json' };
  const post = (path: string, body?: object) =>
    fetch(`${service.url}${path}`, { method: 'POST', headers, ...(body && { body: JSON.stringify(body) }) });
  const level = async (name: string) => {
    const text = await (await fetch(`${service.url}/metrics`, { headers })).text();
    return Number(new RegExp(`^${name} (.+)$`, 'm').exec(text)?.[1]);
  };
  t.is(await level('svc_tickets'), 0);
  const before = await level('svc_live_remembered_bytes');
  t.is((await post('/api/tickets')).status, 201);
  t.is((await post('/api/jobs', { prompt: 'Hello', provider: 'nobody' })).status, 201);
  t.is(await level('svc_tickets'), 1);
  t.true((await level('svc_live_remembered_bytes')) > before);
});
