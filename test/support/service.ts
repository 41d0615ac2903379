import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { type Client, createClient } from '../../src/client/client.ts';
import { loadConfig } from '../../src/config/load.ts';
import { silent } from '../../src/lib/log.ts';
import { startService } from '../../src/service.ts';
import { temporaryFolder } from './folder.ts';
import { adminKey } from './process.ts';

export interface Here {
  url: string;
  client: Client;
  /** Where its data is. */
  folder: string;
}

/** One that can be stopped. */
export interface Stoppable extends Here {
  /** Stop it before the test ends, without waiting for its jobs. */
  stop(): Promise<void>;
}

/**
 * A coordinator as `startCoordinator` starts it, but in this process: for tests that neither end it nor measure it. Stopped
 * when the test ends.
 * Without fronts: other services in this process would start theirs at the same time, and a process that is being forked holds
 * our sockets open for a moment.
 * @param options.workers slots of an echo worker in the same process; none unless told.
 */
export async function startHere(
  t: ExecutionContext,
  {
    config: { http, ...config } = {},
    workers,
  }: { config?: { http?: Record<string, unknown>; [block: string]: unknown }; workers?: number } = {},
): Promise<Stoppable> {
  const cwd = temporaryFolder(t);
  writeFileSync(join(cwd, 'svc.config.json'), JSON.stringify({ http: { fronts: 0, ...http }, ...config }));
  const loaded = await loadConfig({ env: { SVC_DATA_DIR: join(cwd, 'data') }, cwd, overrides: { port: 0 } });
  const service = await startService({
    config: loaded.config,
    apiKey: adminKey,
    logger: silent,
    echoWorker: workers === undefined ? undefined : { concurrency: workers },
  });
  t.teardown(() => service.stop(0));
  return {
    url: service.url,
    client: createClient({ baseUrl: service.url, apiKey: adminKey }),
    folder: join(cwd, 'data'),
    stop: () => service.stop(0),
  };
}
