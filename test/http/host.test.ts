import test from 'ava';
import { isKnownHost } from '../../src/lib/hosts.ts';
import { setupApi } from '../support/api.ts';
import { testConfig } from '../support/config.ts';
import { exchange } from '../support/e2eHttp.ts';

const names = (host: string, publicUrl: string | null = null, ...allowedHosts: string[]) => ({
  host,
  publicUrl,
  http: { allowedHosts },
});

test('by default the service is known by addresses and localhost, and by no name', (t) => {
  const own = names('127.0.0.1');
  for (const host of [
    '127.0.0.1',
    '127.0.0.1:7420',
    'localhost:7420',
    'LOCALHOST',
    '[::1]:7420',
    '192.0.2.7:7420',
  ]) {
    t.true(isKnownHost(host, own), host);
  }
  for (const host of [
    undefined,
    '',
    'evil.example',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    'evil.example:7420',
    'localhost@evil.example',
    'evil.example@localhost',
    'localhost/evil',
    'localhost?',
    'localhost, evil.example',
    '[',
    '[::1',
    'localhost:99999',
  ]) {
    t.false(isKnownHost(host, own), String(host));
  }
});

test('beyond loopback any name may be ours, until it is said by which it is known', (t) => {
  t.true(isKnownHost('svc.example.org', names('0.0.0.0')));
  const said = names('0.0.0.0', 'https://svc.example.org');
  t.true(isKnownHost('svc.example.org', said));
  t.false(isKnownHost('evil.example', said));
  const allowed = names('0.0.0.0', null, 'Coordinator');
  t.true(isKnownHost('coordinator:7420', allowed));
  t.false(isKnownHost('evil.example', allowed));
});

test('a request to another name is 403 on every route and page, whatever key it has, and health alone is not', async (t) => {
  const bundle = await setupApi(t, { http: { ...testConfig().http, allowedHosts: ['svc.internal'] } });
  const status = async (path: string, host: string) => {
    const head = [`GET ${path} HTTP/1.1`, `Host: ${host}`, `Authorization: Bearer ${bundle.keys.admin}`];
    return (await exchange(bundle.port, `${head.join('\r\n')}\r\nConnection: close\r\n\r\n`)).status;
  };
  for (const path of ['/', '/api/jobs', '/api/keys', '/metrics', '/api/openapi.json', '/nothing']) {
    t.is(await status(path, 'evil.example'), 403, path);
    t.not(await status(path, 'svc.internal'), 403, path);
    t.is(await status(path, 'evil.example'), 403, `${path} after a good one`);
  }
  t.is(await status('/health', 'evil.example'), 200);
});

test('a page of another origin learns nothing: no CORS, and no event stream for its ticket', async (t) => {
  const { api } = await setupApi(t);
  const origin = 'http://evil.example';
  const asked = await api('OPTIONS', '/api/jobs', undefined, {
    origin,
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'authorization',
  });
  t.is(asked.status, 405);
  for (const reply of [asked, await api('GET', '/api/jobs', undefined, { origin })]) {
    t.deepEqual(
      [...reply.headers.keys()].filter((name) => name.startsWith('access-control')),
      [],
    );
  }
  const { ticket } = (await api('POST', '/api/tickets')).json;
  const stream = (from: Record<string, string>) =>
    api('GET', `/api/events?ticket=${ticket}`, undefined, { authorization: '', ...from });
  t.is((await stream({ origin })).status, 403);
  t.is((await stream({})).status, 200, 'the refusal did not use it up');
});
