import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { loadConfig } from '../../src/config/load.ts';
import { silent } from '../../src/lib/log.ts';
import { startService } from '../../src/service.ts';
import { environmentKey } from '../support/api.ts';
import { temporaryFolder } from '../support/folder.ts';

/** A service that bears quiet connections for so long, ms. @returns its port. */
async function start(t: ExecutionContext, keepAliveMs?: number): Promise<number> {
  const cwd = temporaryFolder(t);
  const { config } = await loadConfig({ env: { SVC_DATA_DIR: cwd }, cwd, overrides: { port: 0 } });
  const service = await startService({ config, apiKey: environmentKey, logger: silent, keepAliveMs });
  t.teardown(() => service.stop(0));
  return Number(new URL(service.url).port);
}

/** Ask for something on a connection that stays open. @returns all of the answer. */
async function ask(socket: Socket, path: string): Promise<string> {
  socket.write(
    `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${environmentKey}\r\nAccept-Encoding: identity\r\n\r\n`,
  );
  let text = '';
  for (;;) {
    const [part] = await once(socket, 'data');
    text += part;
    const [, length, body] = /content-length: (\d+)\r\n(?:[^\r]+\r\n)*\r\n(.*)$/is.exec(text) ?? [];
    if (body !== undefined && Buffer.byteLength(body) === Number(length)) return text;
  }
}

async function open(t: ExecutionContext, port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  t.teardown(() => socket.destroy());
  await once(socket, 'connect');
  return socket;
}

const connectionsIn = (metrics: string) => Number(/^svc_connections (\d+)$/m.exec(metrics)?.[1]);

test('a connection that is quiet after an answer is closed, and one that asks again is not', async (t) => {
  const port = await start(t, 200);
  const [quiet, lively] = await Promise.all([open(t, port), open(t, port)]);
  let isClosed = false;
  const closed = once(quiet, 'close').then(() => {
    isClosed = true;
  });
  await ask(quiet, '/health');
  t.is(connectionsIn(await ask(lively, '/metrics')), 2);
  while (!isClosed) await ask(lively, '/health');
  await closed;
  t.is(connectionsIn(await ask(lively, '/metrics')), 1);
});

test('clients are told that a connection may be quiet for 65 seconds, more than the usual proxies bear', async (t) => {
  const port = await start(t);
  t.regex(await ask(await open(t, port), '/health'), /^keep-alive: timeout=65\r$/im);
});
