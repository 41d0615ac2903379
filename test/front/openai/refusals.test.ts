import { connect } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { openAiDoor } from '../../../src/front/openai/index.ts';
import { environmentKey, setupApi } from '../../support/api.ts';
import { testConfig } from '../../support/config.ts';

/* What is refused before a handler of /v1 sees it, on every route: always in OpenAI's form. */

const { routes } = openAiDoor();
/** Every route, with a path that leads to nothing. */
const calls = routes.map(({ method, path, role, document }) => ({
  name: `${method} ${path}`,
  method,
  path: path.replaceAll(/[:*]\w+/g, 'none'),
  role,
  hasJson: document?.body !== undefined && document.body.type === undefined,
}));
const withJson = calls.filter(({ hasJson }) => hasJson);

const { http, front } = testConfig();

type Call = Pick<(typeof calls)[number], 'method' | 'path'>;

interface Service {
  url: string;
}

const json = { 'content-type': 'application/json' };

/** @param key null for none. */
function ask(
  { url }: Service,
  { method, path }: Call,
  key: string | null,
  init: { headers?: Record<string, string>; body?: string } = {},
): Promise<Response> {
  const authorization: Record<string, string> = key === null ? {} : { authorization: `Bearer ${key}` };
  return fetch(url + path, { ...init, method, headers: { ...authorization, ...init.headers } });
}

interface Refusal {
  status: number;
  code: string;
  type?: string;
  /** Seconds; null for no header. */
  retryAfter?: string | null;
  param?: string | null;
}

/** An error in OpenAI's form. What may be sent again says so, and when. */
async function isRefused(
  t: ExecutionContext,
  response: Response,
  { status, code, type = 'invalid_request_error', retryAfter = null, param = null }: Refusal,
  name?: string,
): Promise<void> {
  t.is(response.headers.get('content-type')?.split(';')[0], 'application/json', name);
  const { error, ...rest } = (await response.json()) as { error: { message: string } };
  const { message, ...facts } = error;
  t.deepEqual([response.status, facts, rest], [status, { type, param, code }, {}], `${name}: ${message}`);
  t.true(message.length > 10, name);
  t.is(response.headers.get('retry-after'), retryAfter, name);
  t.is(response.headers.get('x-should-retry'), String(retryAfter !== null), name);
  t.truthy(response.headers.get('x-request-id'), name);
}

test('without a key, with a wrong one, with one of another role, or by another method: every route says so', async (t) => {
  const service = await setupApi(t);
  const { keys } = service;
  for (const call of calls) {
    const { name, role } = call;
    for (const key of [null, 'wrong']) {
      const response = await ask(service, call, key);
      t.is(response.headers.get('www-authenticate'), 'Bearer', name);
      await isRefused(t, response, { status: 401, code: 'invalid_api_key' }, name);
    }
    const others = [keys.worker, keys.metrics, ...(role === 'client' ? [keys.viewer] : [])];
    for (const key of others) {
      const response = await ask(service, call, key);
      await isRefused(t, response, { status: 403, code: 'insufficient_permissions' }, name);
    }
    const put = await ask(service, { ...call, method: 'PATCH' }, environmentKey);
    t.true(put.headers.get('allow')?.includes(call.method), name);
    await isRefused(t, put, { status: 405, code: 'method_not_allowed' }, name);
  }
  const nothing = await ask(service, { method: 'GET', path: '/v1/nothing' }, keys.viewer);
  await isRefused(t, nothing, { status: 404, code: 'unknown_url' });
});

test('a door that is closed is a 404 on every route', async (t) => {
  const service = await setupApi(t, { front: { ...front, openai: false } });
  for (const call of calls) {
    const response = await ask(service, call, environmentKey);
    await isRefused(t, response, { status: 404, code: 'unknown_url' }, call.name);
  }
});

test('a key that asks too often is told so on every route', async (t) => {
  const service = await setupApi(t, { http: { ...http, rateLimitPerKey: 0.5 } });
  const { keys } = service;
  t.is((await ask(service, { method: 'GET', path: '/v1/models' }, keys.operator)).status, 200);
  const expected = { status: 429, code: 'rate_limit_exceeded', type: 'requests', retryAfter: '2' };
  for (const call of calls) await isRefused(t, await ask(service, call, keys.operator), expected, call.name);
});

test('a body that is too large, of another type, no JSON, too deep or none at all is refused by every route that reads one', async (t) => {
  const service = await setupApi(t, { http: { ...http, maxBodyBytes: 64 * 1024 } });
  const invalid = { status: 400, code: 'invalid_value' };
  for (const call of withJson) {
    const send = (body: string, headers: Record<string, string> = json) =>
      ask(service, call, environmentKey, { body, headers });
    const large = `{"model":"${'x'.repeat(64 * 1024)}"}`;
    await isRefused(t, await send(large), { status: 413, code: 'payload_too_large' }, call.name);
    const typed = await send('{}', { 'content-type': 'text/plain' });
    await isRefused(t, typed, { status: 415, code: 'unsupported_media_type' }, call.name);
    for (const body of ['', '{', '[]', 'null', '"x"', `{"a":${'['.repeat(300)}${']'.repeat(300)}}`]) {
      await isRefused(t, await send(body), invalid, `${call.name} ${body.slice(0, 9)}`);
    }
    await isRefused(t, await send('{"__proto__":{}}'), invalid, call.name);
  }
});

test('a key whose unread answers fill its share is told so on every route', async (t) => {
  const service = await setupApi(t, {
    jobs: { defaultProvider: 'echo' },
    http: { ...http, answerMemoryBytes: 1024 ** 2 },
  });
  const { keys, parts } = service;
  const principal = parts.keys.authenticate(`Bearer ${keys.client}`);
  if (typeof principal === 'string') return t.fail(principal);
  const held = 600_000;
  let taken = 0;
  // It reads on, so that it is not cut off.
  const hold = parts.answers.hold(principal, {
    held: () => held,
    taken: () => (taken += held),
    cut: () => {},
  });
  hold.update();
  t.teardown(() => hold.release());
  const expected = { status: 429, code: 'share_exceeded', type: 'requests', retryAfter: '5' };
  for (const call of calls.filter(({ method }) => method === 'GET'))
    await isRefused(t, await ask(service, call, keys.client), expected, call.name);
  const body = JSON.stringify({ model: 'auto', messages: [{ role: 'user', content: 'Hi' }] });
  const create = { method: 'POST' as const, path: '/v1/chat/completions' };
  await isRefused(t, await ask(service, create, keys.client, { headers: json, body }), expected);
});

test('a body that does not fit the memory for bodies is a 413 or a 429, by whether it ever may', async (t) => {
  const service = await setupApi(t, { http: { ...http, bodyMemoryBytes: 1024 ** 2 } });
  const { keys, port } = service;
  const create = { method: 'POST' as const, path: '/v1/chat/completions' };
  const body = JSON.stringify({ model: 'x'.repeat(300_000) });
  const whole = () => ask(service, create, keys.client, { headers: json, body });
  const never = JSON.stringify({ model: 'x'.repeat(900_000) });
  const tooLarge = await ask(service, create, keys.client, { headers: json, body: never });
  await isRefused(t, tooLarge, { status: 413, code: 'payload_too_large' });
  // One that has begun and goes on slowly holds the share of its key.
  const slow = connect(port, '127.0.0.1');
  t.teardown(() => slow.destroy());
  slow.on('error', () => {});
  slow.write(
    `POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${keys.client}\r\nContent-Type: application/json\r\nContent-Length: 400000\r\n\r\n{"model":"${'x'.repeat(390_000)}`,
  );
  const { uploads } = service.parts;
  while (uploads.held < 300_000) await new Promise((resolve) => setTimeout(resolve, 5));
  const refused = await whole();
  await isRefused(t, refused, {
    status: 429,
    code: 'share_exceeded',
    type: 'requests',
    retryAfter: refused.headers.get('retry-after'),
  });
  t.truthy(refused.headers.get('retry-after'));
});
