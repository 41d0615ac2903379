import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { type ApiBundle, setupApi } from '../support/api.ts';
import { testConfig } from '../support/config.ts';
import { exchange } from '../support/e2eHttp.ts';

const limited = (more: object = {}) => ({
  http: { ...testConfig().http, failedLoginsPerMinute: 3, ...more },
});

const guess = ({ api }: ApiBundle, headers: Record<string, string> = {}) =>
  api('GET', '/api/jobs', undefined, { authorization: 'Bearer a-guess-of-a-key', ...headers });

/** Asks for an upgrade on a connection that stays open. */
function connected(t: ExecutionContext, { port }: ApiBundle, path: string, fields: string[]): Socket {
  const socket = connect(port, '127.0.0.1');
  t.teardown(() => socket.destroy());
  const head = [`GET ${path} HTTP/1.1`, 'Host: 127.0.0.1', ...upgradeFields, ...fields];
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  return socket;
}

const upgradeFields = [
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
];

const upgradeStatus = async ({ port }: ApiBundle, path: string, ...fields: string[]) => {
  const head = [`GET ${path} HTTP/1.1`, 'Host: 127.0.0.1', ...upgradeFields, ...fields];
  return exchange(port, `${head.join('\r\n')}\r\n\r\n`);
};

test('an address that guesses is told 429 and to wait, and a valid key from there is taken all the same', async (t) => {
  const bundle = await setupApi(t, limited());
  for (const _ of [1, 2, 3]) t.is((await guess(bundle)).status, 401);
  const refused = await guess(bundle);
  t.like(refused, { status: 429, json: { code: 'rate_limited' } });
  t.regex(String(refused.json.detail), /http\.failed_logins_per_minute/);
  const waitSeconds = Number(refused.headers.get('retry-after'));
  t.true(waitSeconds > 50 && waitSeconds <= 60);
  t.is(refused.headers.get('connection'), 'close');
  t.is((await bundle.api('GET', '/api/jobs')).status, 200);
  const { text } = await bundle.api('GET', '/metrics');
  t.regex(text, /^svc_keys_refused_total\{status="401"\} 3$/m);
  t.regex(text, /^svc_keys_refused_total\{status="429"\} 1$/m);
  t.regex(text, /^svc_requests_refused_total\{code="rate_limited"\} 1$/m);
});

test('routes, tickets of event streams and the upgrades of both sockets are counted together', async (t) => {
  const bundle = await setupApi(t, limited());
  t.is((await guess(bundle)).status, 401);
  t.is((await upgradeStatus(bundle, '/ws/worker', 'Authorization: Bearer a-guess-of-a-key')).status, 401);
  t.is((await bundle.api('GET', '/api/events?ticket=a-guess', undefined, { authorization: '' })).status, 401);
  const own = `Origin: http://127.0.0.1`;
  const late = await upgradeStatus(bundle, '/ws', own, 'Sec-WebSocket-Protocol: svc.v1, ticket.guess');
  t.is(late.status, 429);
  t.regex(late.text, /^Retry-After: [56]\d\r$/m);
  t.is((await guess(bundle)).status, 429);
});

test('X-Forwarded-For is what anybody may write, unless proxies are said to stand before the service', async (t) => {
  const bundle = await setupApi(t, limited());
  for (let i = 0; i < 3; i += 1) {
    t.is((await guess(bundle, { 'x-forwarded-for': `192.0.2.${i}` })).status, 401);
  }
  t.is((await guess(bundle, { 'x-forwarded-for': '192.0.2.99' })).status, 429);
});

test('behind a proxy the address is the one that the proxy has added, not what its client claims', async (t) => {
  const bundle = await setupApi(t, limited({ trustedProxies: 1 }));
  const from = (forwarded: string) => guess(bundle, { 'x-forwarded-for': forwarded });
  for (let i = 0; i < 3; i += 1) t.is((await from(`198.51.100.${i}, 192.0.2.1`)).status, 401);
  t.is((await from('198.51.100.77, 192.0.2.1')).status, 429);
  t.is((await from('192.0.2.2')).status, 401, 'another client of the same proxy');
  for (let i = 0; i < 3; i += 1) t.is((await from('no address')).status, 401);
  t.is((await guess(bundle)).status, 429, 'what is no address counts for the connection');
});

test('a valid key is taken everywhere from an address that has had too many refused', async (t) => {
  const bundle = await setupApi(t, limited());
  const { api, keys } = bundle;
  const tickets = await Promise.all(
    [1, 2].map(async () => String((await api('POST', '/api/tickets')).json.ticket)),
  );
  while ((await guess(bundle)).status !== 429);
  const authorization = (key: string) => `Authorization: Bearer ${key}`;
  const own = 'Origin: http://127.0.0.1';
  const opened = async (path: string, ...fields: string[]): Promise<number> => {
    const answer = once(connected(t, bundle, path, fields), 'data');
    return Number(String((await answer)[0]).slice(9, 12));
  };
  t.is((await api('GET', '/api/jobs', undefined, { authorization: `Bearer ${keys.viewer}` })).status, 200);
  t.is((await api('GET', '/api/jobs?limit=1')).status, 200);
  t.is(await opened('/ws', authorization(keys.viewer)), 101);
  t.is(await opened('/ws', own, `Sec-WebSocket-Protocol: svc.v1, ticket.${tickets[0]}`), 101);
  t.is(await opened('/ws/worker', authorization(keys.worker)), 101);
  const stream = `/api/events?ticket=${tickets[1]}`;
  t.is((await api('GET', stream, undefined, { authorization: '' })).status, 200);
  t.is((await guess(bundle)).status, 429);
});

test('who is slowed down is told that it is the key, on routes and on both sockets', async (t) => {
  const bundle = await setupApi(t, limited());
  while ((await guess(bundle)).status !== 429);
  const challenge = 'Bearer error="invalid_token"';
  const refused = await guess(bundle);
  t.is(refused.headers.get('www-authenticate'), challenge);
  t.regex(String(refused.json.detail), /the key is unknown, outdated, expired or revoked/);
  for (const path of ['/ws', '/ws/worker']) {
    const { status, text } = await upgradeStatus(bundle, path, 'Authorization: Bearer a-guess-of-a-key');
    t.is(status, 429);
    t.true(text.includes(`WWW-Authenticate: ${challenge}\r\n`), text);
    t.regex(text, /"code":"rate_limited"/);
    t.regex(text, /the key is unknown, outdated, expired or revoked/);
  }
});

test('the sockets ask for a key first, and then for the upgrade', async (t) => {
  const { api, ...bundle } = await setupApi(t);
  for (const path of ['/ws', '/ws/worker']) {
    const none = await upgradeStatus({ api, ...bundle }, path);
    t.is(none.status, 401);
    t.regex(none.text, /^WWW-Authenticate: Bearer\r$/m);
    t.regex(none.text, /"code":"authentication_failed"/);
    t.is((await api('GET', path, undefined, { authorization: '' })).status, 401);
    const plain = await api('GET', path);
    t.like(plain, { status: 426, json: { code: 'upgrade_required' } });
    t.is(plain.headers.get('upgrade'), 'websocket');
    t.regex(String(plain.json.detail), /proxy/);
    t.is((await api('POST', path)).headers.get('allow'), 'HEAD, GET');
  }
});

test('a method that a path does not have is 405 with those that it has, for the health check too', async (t) => {
  const { url } = await setupApi(t);
  for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
    for (const path of ['/health', '/health/']) {
      const answer = await fetch(url + path, { method });
      t.is(answer.status, 405, method);
      t.is(answer.headers.get('allow'), 'GET, HEAD');
      t.is(((await answer.json()) as { code: string }).code, 'method_not_allowed');
    }
  }
});
