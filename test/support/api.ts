import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ExecutionContext } from 'ava';
import { assembleFront } from '../../src/assemble.ts';
import { LiveConfig } from '../../src/config/liveConfig.ts';
import { type Role, roles } from '../../src/domain/key.ts';
import type { HttpParts } from '../../src/http/parts.ts';
import { silent } from '../../src/lib/log.ts';
import { systemRandom } from '../../src/lib/systemClock.ts';
import type { Live } from '../../src/live/live.ts';
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
  const { core, clock, coordinator } = bundle;
  const live = LiveConfig.of(bundle.config);
  live.onReload((reloaded, by) => coordinator.configReloaded(reloaded, by));
  // Node's 5 seconds may pass between two requests of a test on a busy machine, and the second one then meets the end.
  const server = createServer({ keepAliveTimeout: 60_000 });
  const front = await assembleFront({
    config: () => bundle.config,
    clock,
    random: systemRandom(),
    logger: silent,
    core,
    live,
    server,
    environmentKey,
    dashboard: null,
    heapBytes: 2 ** 31,
    hasProcessMetrics: false,
  });
  server.on('request', front.answer);
  const created = roles.map(async (role) => [role, (await front.keys.create(role, null, null)).key]);
  const keys = Object.fromEntries(await Promise.all(created)) as Record<Role, string>;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    front.close();
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  return {
    ...bundle,
    url,
    port,
    parts: front.parts,
    live: front.events,
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
