import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { WebSocket } from 'ws';
import { workerSubprotocol } from '../../src/domain/workerProtocol.ts';
import { Dashboard } from '../live/support/dashboard.ts';
import { Stream } from '../live/support/stream.ts';
import { type ApiBundle, environmentKey, setupApi } from '../support/api.ts';
import { testConfig } from '../support/config.ts';
import { until } from '../support/process.ts';

async function viewerKey({ api }: ApiBundle): Promise<string> {
  return String((await api('POST', '/api/keys', { role: 'viewer' })).json.key);
}

/** A connection that stays open. */
async function connection(t: ExecutionContext, { port }: ApiBundle): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  t.teardown(() => socket.destroy());
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

/** The head and body of the next answer on a connection, which are short. */
async function ask(socket: Socket, key: string | null, path = '/api/stats'): Promise<string> {
  const authorization = key === null ? '' : `Authorization: Bearer ${key}\r\n`;
  socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${authorization}\r\n`);
  const [part] = await once(socket, 'data');
  return String(part);
}

const statusOf = (answer: string) => Number(answer.slice(9, 12));
const isOpen = (socket: Socket) => !socket.closed;

test('a key gets its share of live places, and operators and admins those that nobody else gets', async (t) => {
  const bundle = await setupApi(t, { live: { maxSubscribers: 16 } });
  const { keys } = bundle;
  const view = (key: string) => new Dashboard(t, bundle, { headers: { authorization: `Bearer ${key}` } });
  const mine = Array.from({ length: 4 }, () => view(keys.viewer));
  for (const { opened } of mine) t.is(await opened, 101);
  t.is(await view(keys.viewer).opened, 429);
  const stream = await bundle.api('GET', '/api/events', undefined, {
    authorization: `Bearer ${keys.viewer}`,
  });
  t.like(stream, { status: 429, json: { code: 'share_exceeded' } });
  t.regex(String(stream.json.detail), /4 live subscribers.*16.*http\.shares\.live/);
  t.truthy(stream.headers.get('retry-after'));
  // Others fill the rest but for the reserve, an eighth.
  const others = [keys.client, await viewerKey(bundle), await viewerKey(bundle)];
  const opened = await Promise.all(others.flatMap((key) => [1, 2, 3, 4].map(() => view(key).opened)));
  t.is(opened.filter((status) => status === 101).length, 10);
  t.is(opened.filter((status) => status === 429).length, 2);
  const privileged = [view(keys.operator), view(keys.admin)];
  for (const each of privileged) t.is(await each.opened, 101);
  t.is(await view(keys.admin).opened, 429);
  for (const { socket } of [...privileged, ...mine.slice(0, 1)]) socket.close();
  await until('there is a place again', async () => (await view(keys.viewer).opened) === 101);
  t.regex((await bundle.api('GET', '/metrics')).text, /^svc_live_subscribers_refused_total [4-9]$/m);
});

test('event streams and sockets of a key have one share, and give their places back', async (t) => {
  const bundle = await setupApi(t, { live: { maxSubscribers: 8 } });
  const headers = { authorization: `Bearer ${bundle.keys.viewer}` };
  const first = new Stream(t, bundle, '/api/events', headers);
  t.is(await first.opened, 200);
  t.is(await new Dashboard(t, bundle, { headers }).opened, 101);
  t.is(await new Stream(t, bundle, '/api/events', headers).opened, 429);
  t.is(await new Dashboard(t, bundle, { headers }).opened, 429);
  first.destroy();
  await until('there is a place again', async () => {
    return (await new Stream(t, bundle, '/api/events', headers).opened) === 200;
  });
});

const few = (shares: object = {}) => ({
  http: { ...testConfig().http, maxConnections: 16, shares: { ...testConfig().http.shares, ...shares } },
});

test('a key gets its share of connections, over requests and sockets of workers', async (t) => {
  const bundle = await setupApi(t, few({ connections: 0.25 }));
  const { keys } = bundle;
  const mine = await Promise.all([1, 2, 3, 4].map(() => connection(t, bundle)));
  for (const socket of mine) t.is(statusOf(await ask(socket, keys.viewer)), 200);
  const extra = await connection(t, bundle);
  const answer = await ask(extra, keys.viewer);
  t.is(statusOf(answer), 429);
  t.regex(answer, /"code":"share_exceeded"/);
  t.regex(answer, /4 connections.*16.*http\.shares\.connections/);
  t.regex(answer, /^Retry-After: \d+\r$/m);
  t.regex(answer, /^Connection: close\r$/m);
  for (const socket of mine) t.is(statusOf(await ask(socket, keys.viewer)), 200);
  t.is(statusOf(await ask(await connection(t, bundle), keys.client)), 200);
  const worker = () => {
    const headers = { authorization: `Bearer ${keys.worker}` };
    const socket = new WebSocket(`ws://127.0.0.1:${bundle.port}/ws/worker`, workerSubprotocol, { headers });
    t.teardown(() => socket.terminate());
    socket.on('error', () => {});
    return new Promise<number>((resolve) => {
      socket.on('open', () => resolve(101));
      socket.on('unexpected-response', (_, response) => resolve(response.statusCode ?? 0));
    });
  };
  const statuses = await Promise.all([1, 2, 3, 4, 5].map(worker));
  t.deepEqual(statuses.sort(), [101, 101, 101, 101, 429]);
  mine[0]?.destroy();
  await until('there is a place again', async () => {
    return statusOf(await ask(await connection(t, bundle), keys.viewer)) === 200;
  });
});

test('strangers fill no place that a key needs: the first of them go', async (t) => {
  const bundle = await setupApi(t, few());
  const strangers: Socket[] = [];
  for (let i = 0; i < 30; i += 1) strangers.push(await connection(t, bundle));
  t.is(bundle.parts.connections.count <= 8, true, 'one address has half of them');
  await until('the first were closed', () => strangers.slice(0, 20).every(({ closed }) => closed));
  // A key that comes through all of them is served, and stays.
  const mine = await connection(t, bundle);
  t.is(statusOf(await ask(mine, bundle.keys.viewer)), 200);
  for (let i = 0; i < 30; i += 1) await connection(t, bundle);
  t.is(statusOf(await ask(mine, bundle.keys.viewer)), 200);
  const { text } = await bundle.api('GET', '/metrics');
  t.regex(text, /^svc_connections_ended_total\{reason="room"\} [45]\d$/m);
});

test('when keys have all but the reserve, admins and the health check get in all the same', async (t) => {
  const bundle = await setupApi(t, few({ connections: 1 }));
  const { keys } = bundle;
  const taken: Socket[] = [];
  for (let i = 0; i < 14; i += 1) {
    const socket = await connection(t, bundle);
    t.is(statusOf(await ask(socket, i % 2 === 0 ? keys.viewer : keys.client)), 200);
    taken.push(socket);
  }
  const refused = await ask(await connection(t, bundle), keys.viewer);
  t.is(statusOf(refused), 429);
  t.regex(refused, /"code":"rate_limited"/);
  t.is(statusOf(await ask(await connection(t, bundle), null, '/health')), 200);
  const admin = await connection(t, bundle);
  t.is(statusOf(await ask(admin, environmentKey)), 200);
  t.is(statusOf(await ask(await connection(t, bundle), keys.operator)), 200);
  // Nobody but keys is left: the next connection is closed at once.
  const late = await connection(t, bundle);
  await until('it is closed', () => late.closed);
  t.true(taken.every(isOpen));
  t.is(statusOf(await ask(admin, environmentKey)), 200);
});
