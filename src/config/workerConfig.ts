import { type Config, localProviders } from './config.ts';
import type { ConfigFile, ProviderFile, WorkerFile } from './file.ts';
import { presentTimeouts } from './present.ts';

/** The part of a configuration that workers use, with the keys of the file. What is not set is left out. */
export type WorkerConfigFile = Pick<ConfigFile, 'providers' | 'worker' | 'jobs'> & Record<string, unknown>;

/**
 * What a coordinator serves to its workers: where the providers are and with which variable's key, their models, the
 * `worker` block, and the time after which a silent worker's jobs go to others. Nothing else of it: no address, no
 * folder, no limit, no headers, whose values may be secrets, and no secret: any key with the role worker reads it, so neither
 * `worker.api_key` nor the name and the password of an address are in it. `worker.name` is not either: the name is one
 * machine's, and two workers of one name cannot be connected.
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
    // Both: the one is checked against the other.
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

/** An address without the user and the password that it may have. */
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
