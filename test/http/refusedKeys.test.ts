import test from 'ava';
import { type ApiBundle, setupApi } from '../support/api.ts';
import { testConfig } from '../support/config.ts';
import { exchange } from '../support/e2eHttp.ts';

const limited = (more: object = {}) => ({
  http: { ...testConfig().http, failedLoginsPerMinute: 3, ...more },
});

const guess = ({ api }: ApiBundle, headers: Record<string, string> = {}) =>
  api('GET', '/api/jobs', undefined, { authorization: 'Bearer a-guess-of-a-key', ...headers });

const upgradeStatus = async ({ port }: ApiBundle, path: string, ...fields: string[]) => {
  const head = [
    `GET ${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    ...fields,
  ];
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
