import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ExecutionContext } from 'ava';
import { FailedLogins } from '../../src/auth/failedLogins.ts';
import { KeyRing } from '../../src/auth/keyRing.ts';
import { Tickets } from '../../src/auth/tickets.ts';
import { LiveConfig } from '../../src/config/liveConfig.ts';
import { keyStorage } from '../../src/coordinator/keyStorage.ts';
import { auditRoleRefusals } from '../../src/coordinator/roleRefusals.ts';
import { type Role, roles } from '../../src/domain/key.ts';
import { WorkerGateway } from '../../src/gateway/workerGateway.ts';
import { createApp } from '../../src/http/app.ts';
import type { HttpParts } from '../../src/http/parts.ts';
import { upgradeRefusal } from '../../src/http/problem.ts';
import { Uploads } from '../../src/http/uploads.ts';
import { AnswerMemory } from '../../src/lib/answerMemory.ts';
import { clientAddress } from '../../src/lib/clientAddress.ts';
import { Connections } from '../../src/lib/connections.ts';
import { silent } from '../../src/lib/log.ts';
import { systemRandom } from '../../src/lib/systemClock.ts';
import { routeUpgrades, type UpgradeHandler } from '../../src/lib/upgrades.ts';
import { EventStreams } from '../../src/live/eventStream.ts';
import { Live } from '../../src/live/live.ts';
import { LiveSocket } from '../../src/live/liveSocket.ts';
import { Metrics } from '../../src/metrics/metrics.ts';
import { type Bundle, setup } from './coordinator.ts';
import { checkedFetch } from './openapi.ts';

export const environmentKey = 'an-admin-key-for-tests';

export interface Reply {
  status: number;
  headers: Headers;
  text: string;
  /** The body as JSON; null when it is none. */
  json: Record<string, unknown> & { errors?: { field: string; message: string }[] };
}

export interface ApiBundle extends Bundle {
  url: string;
  port: number;
  parts: HttpParts;
  live: Live;
  /** A key of each role. */
  keys: Record<Role, string>;
  /**
   * A request with the admin key, or with the one in `headers`. A string goes out as it is. Rejects when the answer is
   * not as docs/openapi.yaml says.
   */
  api(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Reply>;
}

/** A coordinator behind its real HTTP server on a free port. */
export async function setupApi(
  t: ExecutionContext,
  ...options: Parameters<typeof setup> extends [unknown, ...infer R] ? R : never
): Promise<ApiBundle> {
  const bundle = await setup(t, ...options);
  const { coordinator, clock } = bundle;
  const storage = keyStorage(bundle.store, coordinator.audit);
  const ring = new KeyRing({ clock, random: systemRandom(), environmentKey, keys: [], storage });
  t.teardown(() => ring.close());
  const created = roles.map(async (role) => [role, (await ring.create(role, null, null)).key]);
  const keys = Object.fromEntries(await Promise.all(created)) as Record<Role, string>;
  const tickets = new Tickets({ clock, random: systemRandom() });
  const config = () => bundle.config;
  const metrics = new Metrics({ coordinator, config });
  const { bounds: figures } = metrics;
  const failedLogins = new FailedLogins({
    perMinute: () => config().http.failedLoginsPerMinute,
    onRefused: ({ isLimited }) => figures.keyRefused(isLimited),
  });
  const uploads = new Uploads({ http: () => config().http, clock, figures, heapBytes: 2 ** 31 });
  t.teardown(() => uploads.close());
  const answers = new AnswerMemory({
    clock,
    bytes: () => config().http.answerMemoryBytes,
    share: () => config().http.shares.bytesOut,
    figures,
  });
  t.teardown(() => answers.close());
  const live = new Live({
    coordinator,
    config,
    answers,
    clock,
    random: systemRandom(),
    logger: silent,
    figures,
  });
  const connections = new Connections({
    clock,
    max: () => config().http.maxConnections,
    share: () => config().http.shares.connections,
    unreadMs: () => config().http.unreadTimeoutSeconds * 1000,
    figures,
  });
  t.teardown(() => connections.close());
  const liveConfig = LiveConfig.of(bundle.config);
  liveConfig.onReload((reloaded, by) => coordinator.configReloaded(reloaded, by));
  const parts: HttpParts = {
    coordinator,
    keys: ring,
    tickets,
    failedLogins,
    connections,
    answers,
    streams: new EventStreams({ live, coordinator, keys: ring, clock }),
    config,
    live: liveConfig,
    metrics,
    uploads,
    clock,
    dashboard: null,
    logger: silent,
  };
  const server = createServer(connections.inTurn(createApp(parts).callback()));
  connections.watch(server);
  const roleRefused = auditRoleRefusals(coordinator.audit, () => config().http.trustedProxies);
  const gateway = new WorkerGateway({
    coordinator,
    keys: ring,
    connections,
    clock,
    logger: silent,
    figures,
    roleRefused,
  });
  const dashboards = new LiveSocket({ live, keys: ring, tickets, config, connections, clock, roleRefused });
  const handlers = new Map<string, UpgradeHandler>([
    ['/ws', (request, socket, head) => dashboards.upgrade(request, socket, head)],
    ['/ws/worker', (request, socket, head) => gateway.upgrade(request, socket, head)],
  ]);
  routeUpgrades(server, {
    handlers,
    own: config,
    failedLogin: (request) => failedLogins.count(clientAddress(request, config().http.trustedProxies)),
    present: upgradeRefusal,
    logger: silent,
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    live.close();
    gateway.close();
    dashboards.close();
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  return {
    ...bundle,
    url,
    port,
    parts,
    live,
    keys,
    api: async (method, path, body, headers = {}) => {
      const response = await checkedFetch(url + path, {
        method,
        headers: {
          authorization: `Bearer ${environmentKey}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
      const type = response.headers.get('content-type') ?? '';
      const isJson = /[/+]json/.test(type);
      // An event stream would not end; whoever reads one opens it otherwise.
      if (type.includes('event-stream')) await response.body?.cancel();
      const text = type.includes('event-stream') ? '' : await response.text();
      return {
        status: response.status,
        headers: response.headers,
        text,
        json: isJson && text !== '' ? (JSON.parse(text) as Reply['json']) : {},
      };
    },
  };
}
