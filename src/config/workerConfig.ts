import { type Config, localProviders } from './config.ts';
import type { ConfigFile, ProviderFile, WorkerFile } from './file.ts';
import { presentTimeouts } from './present.ts';

/** The part of a configuration that workers use, with the keys of the file. What is not set is absent. */
export type WorkerConfigFile = Pick<ConfigFile, 'providers' | 'worker' | 'jobs'> & Record<string, unknown>;

/**
 * What a coordinator serves to its workers: the addresses of the providers and the variables of their keys, their
 * models, the `worker` block, and the time after which a silent worker's jobs are given to others. Nothing else: no
 * address, no folder, no limit, no headers, whose values may be secrets, and no secret: every key with the role worker
 * can read it, so it contains neither `worker.api_key` nor the user and password of an address. `worker.name` is not
 * included either: it belongs to one machine, and two workers with one name cannot be connected.
 */
export function workerConfig({ providers, worker, jobs }: Config): WorkerConfigFile {
  const models = localProviders.flatMap((name) => {
    const model = providers[name]?.model ?? null;
    return model === null ? [] : [[name, { model }] as const];
  });
  const block: WorkerFile = {
    providers: worker.providers,
    concurrency: worker.concurrency,
    tags: worker.tags,
    coordinator: withoutPassword(worker.coordinator),
  };
  return {
    // Both: one is checked against the other.
    jobs: {
      reap_stale_after_seconds: jobs.reapStaleAfterSeconds,
      heartbeat_interval_seconds: jobs.heartbeatIntervalSeconds,
    },
    providers: Object.fromEntries(
      Object.entries(providers).map(([name, { model, baseUrl, apiKeyEnv, models, api, timeouts }]) => {
        const settings: ProviderFile = {
          model,
          base_url: withoutPassword(baseUrl),
          api_key_env: apiKeyEnv,
          models: models ?? [],
          api: api ?? null,
          timeouts: presentTimeouts(timeouts),
        };
        return [name, onlySet(settings)];
      }),
    ),
    ...Object.fromEntries(models),
    worker: onlySet(block),
  };
}

/** An address without user and password. */
function withoutPassword(address: string | null): string | null {
  if (address === null || !URL.canParse(address)) return address;
  const url = new URL(address);
  if (url.username === '' && url.password === '') return address;
  url.username = '';
  url.password = '';
  return url.href;
}

function onlySet<T extends object>(block: T): Partial<T> {
  const isSet = (value: unknown): boolean => value !== null && !(Array.isArray(value) && value.length === 0);
  return Object.fromEntries(Object.entries(block).filter(([, value]) => isSet(value))) as Partial<T>;
}
