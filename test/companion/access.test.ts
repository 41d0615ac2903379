import { spawnSync } from 'node:child_process';
import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import test from 'ava';
import { version } from '../../src/lib/version.ts';
import { emptyHome, type Home, type RunningCompanion, startCompanion } from './companion.ts';

const ends: (() => unknown)[] = [];
const owner = { teardown: (end: () => unknown) => void ends.unshift(end) };
let companion: RunningCompanion;
let home: Home;

test.before(async () => {
  home = emptyHome(owner);
  companion = await startCompanion(owner, home);
});
test.after.always(async () => {
  for (const end of ends) await end();
});

interface Answer {
  status: number;
  text: string;
  headers: Record<string, string | string[] | undefined>;
}

/** A request with any headers: `fetch` sets some itself. */
function ask(
  path: string,
  { method = 'GET', headers = {}, body = '' }: { method?: string; headers?: object; body?: string } = {},
): Promise<Answer> {
  const { hostname, port } = new URL(companion.contact.url);
  return new Promise((resolve, reject) => {
    const asked = httpRequest({ hostname, port, path, method, headers: { ...headers } }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part;
        // An event stream does not end.
        if (response.headers['content-type'] === 'text/event-stream') finish();
      });
      response.on('end', finish);
      function finish(): void {
        resolve({ status: response.statusCode ?? 0, text, headers: response.headers });
        asked.destroy();
      }
    });
    asked.on('error', reject);
    asked.end(body);
  });
}

const base = () => new URL(companion.contact.url).pathname;
const origin = () => new URL(companion.contact.url).origin;
const token = () => companion.contact.token;
const bearer = () => ({ authorization: `Bearer ${token()}` });
const cookie = () => ({ cookie: `svc_companion=${token()}` });
const json = { 'content-type': 'application/json' };

test('without the token, with a wrong one, and beside its secret folder there is nothing', async (t) => {
  t.is((await ask(`${base()}api/state`)).status, 401);
  for (const wrong of ['', 'x', `${token()}x`, token().slice(1), 'x'.repeat(43)]) {
    t.is((await ask(`${base()}api/state`, { headers: { authorization: `Bearer ${wrong}` } })).status, 401);
    t.is((await ask(`${base()}`, { headers: { cookie: `svc_companion=${wrong}` } })).status, 401);
  }
  for (const path of ['/', '/api/state', '/events', '/x/api/state', '//', `${base()}nothing`]) {
    t.is((await ask(path, { headers: bearer() })).status, 404, path);
  }
  t.is((await ask(`${base()}api/state`, { headers: bearer() })).status, 200);
});

test('a request for another host is refused: a page may have rebound its name', async (t) => {
  const port = new URL(companion.contact.url).port;
  for (const host of [
    'evil.example',
    `evil.example:${port}`,
    `localhost:${port}`,
    '127.0.0.1',
    `127.0.0.1:1`,
  ]) {
    t.is((await ask(`${base()}api/state`, { headers: { ...bearer(), host } })).status, 421, host);
  }
});

test('a change from another page is refused, also from one on another port of this machine', async (t) => {
  const change = (headers: object) =>
    ask(`${base()}api/worker`, { method: 'POST', headers: { ...json, ...headers }, body: '{"mode":"on"}' });
  for (const foreign of ['http://127.0.0.1:1', 'http://localhost:8080', 'https://evil.example', 'null']) {
    t.is((await change({ ...cookie(), origin: foreign })).status, 403, foreign);
    t.is((await change({ ...bearer(), origin: foreign })).status, 403, foreign);
  }
  t.is((await change(cookie())).status, 403, 'a browser sends an Origin');
  for (const site of ['cross-site', 'same-site']) {
    const headers = { ...cookie(), 'sec-fetch-site': site };
    t.is((await change({ ...headers, origin: origin() })).status, 403);
    t.is((await ask(`${base()}dashboard`, { headers })).status, 403);
  }
  t.is((await change({ ...cookie(), origin: origin() })).status, 200);
  const simple = { ...cookie(), origin: origin(), 'content-type': 'text/plain' };
  t.is((await change(simple)).status, 415, 'a form can send it');
  const preflight = await ask(`${base()}api/worker`, {
    method: 'OPTIONS',
    headers: { origin: 'http://127.0.0.1:1', 'access-control-request-method': 'POST' },
  });
  t.is(preflight.status, 403);
  t.is(preflight.headers['access-control-allow-origin'], undefined);
});

test('a link works once, and its cookie is for this page alone', async (t) => {
  const { link } = (await (await companion.act('link')).json()) as { link: string };
  const { pathname, search } = new URL(link);
  const first = await ask(pathname + search);
  t.is(first.status, 303);
  t.is(first.headers.location, base());
  const [set = ''] = [first.headers['set-cookie']].flat();
  t.regex(set, new RegExp(`^svc_companion=\\S+; Path=${base()}; HttpOnly; SameSite=Strict$`));
  t.is((await ask(base(), { headers: { cookie: set.split(';')[0] } })).status, 200);
  const second = await ask(pathname + search);
  t.is(second.status, 403);
  t.regex(second.text, /svc companion open/);
});

test('it listens on the loopback interface alone', async (t) => {
  const others = Object.values(networkInterfaces())
    .flat()
    .flatMap((one) => (one === undefined || one.internal || one.family !== 'IPv4' ? [] : [one.address]));
  const { port } = new URL(companion.contact.url);
  for (const address of others) await t.throwsAsync(fetch(`http://${address}:${port}/`));
  t.pass();
});

test('large, malformed and endless requests are refused with what to do', async (t) => {
  const post = (action: string, body: string) =>
    ask(`${base()}api/${action}`, { method: 'POST', headers: { ...json, ...bearer() }, body });
  t.is((await post('settings', `{"name":"${'x'.repeat(70_000)}"}`)).status, 413);
  const wrong: [string, string, RegExp][] = [
    ['settings', '[]', /JSON object/],
    ['settings', '{', /JSON object/],
    ['settings', '{}', /at least one setting/],
    ['settings', '{"concurrency":1.5}', /whole number/],
    ['settings', '{"concurrency":"1"}', /whole number/],
    ['settings', '{"coordinator":"ftp://x"}', /like http/],
    ['settings', '{"coordinator":"http://user:password@x"}', /password/],
    ['settings', '{"key":"short"}', /at least 16 characters/],
    ['settings', '{"key":"a key with spaces in it"}', /without spaces/],
    ['settings', '{"providers":"echo"}', /list/],
    ['settings', `{"name":"${'x'.repeat(500)}"}`, /name/],
    ['worker', '{"mode":"fast"}', /on, paused, off/],
    ['login', '{}', /isInstalled/],
  ];
  for (const [action, body, text] of wrong) {
    const answer = await post(action, body);
    t.is(answer.status, 400, body);
    t.regex(answer.text, text);
  }
  t.is((await post('__proto__', '{}')).status, 404);
  t.is((await ask(`${base()}api/worker`, { headers: bearer() })).status, 405);
});

test('the key is sent to no other coordinator', async (t) => {
  const own = { coordinator: 'http://127.0.0.1:9', key: 'svc_worker_aaaaaaaaaaaa_bbbbbbbbbbbb' };
  t.is((await companion.act('settings', own)).status, 200);
  const moved = await companion.act('settings', { coordinator: 'http://127.0.0.1:10' });
  t.is(moved.status, 400);
  t.regex(await moved.text(), /key of the new coordinator/);
  t.is((await companion.until('it is unchanged', () => true)).settings.coordinator, own.coordinator);
});

test('its answers are kept by no cache, framed by no page, and say nothing of the key', async (t) => {
  const { headers, status } = await ask(base(), { headers: cookie() });
  t.is(status, 200);
  t.is(headers['cache-control'], 'no-store');
  t.regex(String(headers['content-security-policy']), /script-src 'self';.*frame-ancestors 'none'/);
  t.is(headers['referrer-policy'], 'no-referrer');
  const events = await ask(`${base()}events`, { headers: cookie() });
  t.regex(events.text, /^retry: 1000\ndata: \{"version"/);
  t.false(events.text.includes('bbbbbbbbbbbb'));
});

test('requests to the coordinator name the companion', async (t) => {
  const agents = new Set<string | undefined>();
  const server = createServer((request, response) => {
    agents.add(request.headers['user-agent']);
    response
      .setHeader('content-type', 'application/json')
      .end('{"status":"ok","version":"0.0.0","store":"ok"}');
  }).listen(0, '127.0.0.1');
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  await new Promise((resolve) => server.once('listening', resolve));
  const coordinator = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const answer = await companion.act('test', { coordinator, key: 'svc_worker_aaaaaaaaaaaa_bbbbbbbbbbbb' });
  t.like(await answer.json(), { isUsable: true });
  t.deepEqual([...agents], [`svc-companion/${version}`]);
});

const isRoot = process.getuid?.() === 0;
(isRoot && process.platform === 'linux' ? test : test.skip)(
  'a link does not work for another user, who saw it in the list of processes',
  async (t) => {
    const { link } = (await (await companion.act('link')).json()) as { link: string };
    const script = `fetch(${JSON.stringify(link)}, { redirect: 'manual' }).then(({ status }) => console.log(status))`;
    const other = spawnSync(process.execPath, ['-e', script], { uid: 65_534, encoding: 'utf8', env: {} });
    t.is(other.stdout.trim(), '403', other.stderr);
    t.is((await fetch(link, { redirect: 'manual' })).status, 303, 'it was not used up');
  },
);
