import test from 'ava';
import { RemoteConfig } from '../../src/worker/remoteConfig.ts';
import { type ConfigServer, serveConfig } from './support/configServer.ts';

const key = 'the-key-of-this-worker';
const reader = (server: ConfigServer, keyOrigin = 'http://127.0.0.1:1') =>
  new RemoteConfig({ url: server.url, apiKey: () => key, keyOrigin });

test('JSON and YAML are read with the keys of the file; warnings come along', async (t) => {
  const server = await serveConfig(
    t,
    'worker: { concurrency: 3, tags: [gpu] }\nollama: { model: llama3.2 }\n',
  );
  const read = await reader(server).read();
  t.like(read?.file, { worker: { concurrency: 3, tags: ['gpu'] }, ollama: { model: 'llama3.2' } });
  server.answer = '{"routing": {"strategy": "fallback"}}';
  const json = await reader(server).read();
  t.deepEqual(json?.file, { routing: { strategy: 'fallback' } });
  t.regex(json?.warnings.join() ?? '', /names no provider to try/);
});

test('the ETag is sent back, and 304 means that nothing has changed', async (t) => {
  const server = await serveConfig(t, 'worker: { concurrency: 3 }');
  const config = reader(server);
  t.not(await config.read(), null);
  t.is(await config.read(), null);
  server.answer = 'worker: { concurrency: 4 }';
  t.deepEqual((await config.read())?.file, { worker: { concurrency: 4 } });
  t.deepEqual(
    server.seen.map(({ headers }) => headers['if-none-match'] !== undefined),
    [false, true, true],
  );
});

test('the key goes to the origin of the coordinator and nowhere else', async (t) => {
  const server = await serveConfig(t, 'worker: { concurrency: 3 }');
  await reader(server, server.url.origin).read();
  await reader(server).read();
  await reader(server, server.url.origin.replace('127.0.0.1', 'localhost')).read();
  t.deepEqual(
    server.seen.map(({ headers }) => headers.authorization),
    [`Bearer ${key}`, undefined, undefined],
  );
});

test('a redirect is not followed, also not to the coordinator itself', async (t) => {
  const target = await serveConfig(t, 'worker: { concurrency: 3 }');
  const server = await serveConfig(t, (_request, response) => {
    response.writeHead(307, { location: target.url.href }).end();
  });
  await t.throwsAsync(reader(server, server.url.origin).read(), {
    message: /status 307; redirects are not followed$/,
  });
  t.is(target.seen.length, 0);
});

test('what cannot be used is said with the place, and never with a secret', async (t) => {
  const cases: [answer: ConfigServer['answer'], message: RegExp][] = [
    [(_request, response) => response.writeHead(404).end('no'), /: status 404$/],
    [
      (_request, response) => response.writeHead(401).end(),
      /the key of this worker is sent only to its coordinator, http:\/\/127\.0\.0\.1:1$/,
    ],
    [(_request, response) => response.destroy(), /other side closed|ECONNRESET|socket hang up/],
    ['', /the answer is empty$/],
    ['<html><body>Sign in</body></html>', /has 1 faults: .*must be a map of keys/],
    [
      'worker:\n  concurency: 3\n',
      /svc\.yaml:2: worker\.concurency: unknown key, did you mean concurrency\?/,
    ],
    [`#${'x'.repeat(1024 * 1024)}`, /larger than 1048576 bytes$/],
  ];
  for (const [answer, message] of cases) {
    const server = await serveConfig(t, answer);
    const error = await t.throwsAsync(reader(server).read(), { message });
    t.true(error?.message.includes(`${server.url.origin}/shared/svc.yaml`), error?.message);
    t.false(error?.message.includes('a-secret'));
    t.false(error?.message.includes(key));
  }
});

test('a coordinator that refuses the key says so', async (t) => {
  const server = await serveConfig(t, (_request, response) => response.writeHead(401).end());
  const error = await t.throwsAsync(reader(server, server.url.origin).read());
  t.regex(error?.message ?? '', /status 401: the coordinator refuses the key of this worker$/);
});

test('a 304 that nobody asked for is no configuration', async (t) => {
  const server = await serveConfig(t, (_request, response) => response.writeHead(304).end());
  await t.throwsAsync(reader(server).read(), { message: /status 304/ });
});
