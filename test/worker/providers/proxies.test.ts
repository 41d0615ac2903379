import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import test, { type ExecutionContext } from 'ava';
import { begin, failureOf, resultOf } from '../../conformance/providerRun.ts';
import { whole } from '../../fixtures/providers/answers.ts';
import { vllm } from '../../fixtures/providers/openaiCompatible.ts';
import { FakeServer } from '../../fixtures/providers/server.ts';

/** A real proxy, and the variables that name it: they are read when the modules are loaded, as at the start of a worker. */

const tls = (name: string): string =>
  readFileSync(new URL(`../../fixtures/tls/${name}.pem`, import.meta.url), 'utf8');
/** Names that no DNS has: only a proxy can reach them. */
const provider = 'provider.example';

const turn = { model: 'm', text: ['Yes.'] };
const upstream = await FakeServer.listen(whole(vllm, turn));
/** How long the server behind the tunnel thinks. */
const thinksMs = 400;
const secure = createSecureServer(
  { key: tls('key'), cert: tls('certificate') },
  async (request, response) => {
    await once(request.resume(), 'end');
    await delay(thinksMs);
    const script = vllm.script(turn, {});
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(
      [...script.begin(), ...turn.text.map((piece) => script.text(piece)), ...script.end()].join(''),
    );
  },
).listen(0, '127.0.0.1');
await once(secure, 'listening');

const seen: string[] = [];
const proxy = createServer((request, response) => {
  seen.push(`${request.method} ${request.url}`);
  forward(request).pipe(response.writeHead(200, { 'content-type': 'text/event-stream' }));
});
function forward(request: IncomingMessage) {
  const socket = connect(upstream.port, '127.0.0.1');
  socket.write(`POST ${new URL(request.url ?? '').pathname} HTTP/1.0\r\ncontent-length: 2\r\n\r\n{}`);
  return socket;
}
proxy.on('connect', ({ url = '' }, socket) => {
  seen.push(`CONNECT ${url}`);
  if (url.startsWith('refused')) return socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
  const inner = connect((secure.address() as AddressInfo).port, '127.0.0.1', () => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n');
    inner.pipe(socket).pipe(inner);
  });
  for (const end of [inner, socket]) end.on('error', () => end.destroy());
  return socket;
});
proxy.listen(0, '127.0.0.1');
await once(proxy, 'listening');

const address = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
Object.assign(process.env, { HTTP_PROXY: address, HTTPS_PROXY: address, NO_PROXY: 'direct.example' });
setDefaultCACertificates([...getCACertificates(), tls('certificate')]);
const { adapter } = await import('../support/wireProvider.ts');

test.after.always(async () => {
  proxy.closeAllConnections();
  proxy.close();
  secure.closeAllConnections();
  secure.close();
  await upstream.close();
});

const ask = (t: ExecutionContext, baseUrl: string, timeouts = {}) => {
  t.timeout(60_000);
  return begin(adapter({ name: 'gateway', baseUrl, timeouts }), { model: 'm' }).outcome;
};

test.serial(
  'HTTPS_PROXY: a provider is asked through a tunnel, and may take its time to answer',
  async (t) => {
    const outcome = await ask(t, `https://${provider}/v1`, { connectMs: thinksMs / 2 });
    // A machine that does much else may need longer to connect; then nothing is shown.
    if (outcome.ok || !/no connection within/.test(outcome.error.message)) {
      t.is(resultOf(outcome).output, 'Yes.');
    } else {
      t.is(resultOf(await ask(t, `https://${provider}/v1`)).output, 'Yes.');
    }
    t.true(seen.includes(`CONNECT ${provider}:443`));
  },
);

test.serial('HTTP_PROXY: a provider without TLS is asked through the proxy', async (t) => {
  await ask(t, `http://${provider}/v1`);
  t.true(seen.includes(`POST http://${provider}/v1/chat/completions`));
});

test.serial('NO_PROXY, and this machine itself, are asked directly', async (t) => {
  const before = seen.length;
  const direct = failureOf(await ask(t, 'http://direct.example/v1')).error;
  t.is(direct.class, 'network');
  t.is(resultOf(await ask(t, `${upstream.url}/v1`)).output, 'Yes.');
  t.is(seen.length, before);
});

test.serial('a proxy that refuses is told as that', async (t) => {
  const { error } = failureOf(await ask(t, 'https://refused.example/v1'));
  t.is(error.class, 'network');
  t.regex(error.message, /refused\.example:443 via http:\/\/127\.0\.0\.1:\d+: HTTP\/1\.1 403/);
});
