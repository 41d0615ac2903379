import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Client, createClient } from '../../../src/client/client.ts';
import { loadConfig } from '../../../src/config/load.ts';
import type { DispatchBody } from '../../../src/domain/wire/job.ts';
import { silent } from '../../../src/lib/log.ts';
import { type Service, startService } from '../../../src/service.ts';

export const siteKey = 'an-admin-key-for-the-dashboard-tests';

/** Made up; jobs of other models have no known price. */
const price = {
  inputPerMillion: 0.5,
  outputPerMillion: 2,
  cachedInputPerMillion: null,
  cacheWritePerMillion: null,
  free: false,
};

/** Jobs wait for the limit of one provider; the one that met it is not tried again, so that a reset mends all. */
const configFile = `providers:
  limited:
    rate_limit:
      max_retries: 0
webhooks:
  allow_http: true
  allow_private: [127.0.0.1]
`;

/** A real coordinator with its dashboard, on a free port and a folder of its own. */
export interface Site {
  url: string;
  client: Client;
  service: Service;
  /** Called before it stops: what else talks to it ends first. */
  beforeStop: (() => Promise<void>)[];
  stop(): Promise<void>;
}

export async function startSite(
  options: { slots?: number; inspect?: 'page' | undefined } = {},
): Promise<Site> {
  const cwd = await mkdtemp(join(tmpdir(), 'svc-dashboard-'));
  await writeFile(join(cwd, 'svc.config.yaml'), configFile);
  const { config } = await loadConfig({
    env: { SVC_DATA_DIR: join(cwd, 'data') },
    cwd,
    overrides: { port: 0 },
  });
  const { slots = 0, inspect } = options;
  const beforeStop: (() => Promise<void>)[] = [];
  const service = await startService({
    config: { ...config, pricing: { echo: { 'echo-small': price } } },
    apiKey: siteKey,
    logger: silent,
    inspect,
    echoWorker: slots === 0 ? undefined : { concurrency: slots },
  });
  return {
    url: service.url,
    client: createClient({ baseUrl: service.url, apiKey: siteKey }),
    service,
    beforeStop,
    stop: async () => {
      for (const end of beforeStop) await end();
      await service.stop(0);
      await rm(cwd, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

/** Dispatch many at once. @returns their ids. */
export async function dispatchMany(site: Site, jobs: readonly DispatchBody[]): Promise<string[]> {
  const response = await fetch(`${site.url}/api/jobs/batch`, {
    method: 'POST',
    headers: { authorization: `Bearer ${siteKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ jobs }),
  });
  if (!response.ok) throw new Error(await response.text());
  const { jobs: made } = (await response.json()) as { jobs: { id: string }[] };
  return made.map(({ id }) => id);
}
