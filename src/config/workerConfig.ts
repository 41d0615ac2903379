import { type Config, localProviders } from './config.ts';
import type { ConfigFile, ProviderFile, WorkerFile } from './file.ts';
import { presentTimeouts } from './present.ts';

/** The part of a configuration that workers use, with the keys of the file. What is not set is left out. */
export type WorkerConfigFile = Pick<ConfigFile, 'providers' | 'worker' | 'jobs'> & Record<string, unknown>;

/**
 * What a coordinator serves to its workers: where the providers are and with which variable's key, their models, the
 * `worker` block, and the time after which a silent worker's jobs go to others. Nothing else of it: no address, no
 * folder, no limit, and no headers: their values may be secrets, which stay on the machine that needs them, as the files
 * of keys do. `worker.api_key` is in it when the operator has put it there for them. `worker.name` never is: the
 * name is one machine's, and two workers of one name cannot be connected.
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
    coordinator: worker.coordinator,
    api_key: worker.apiKey,
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
          base_url: baseUrl,
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

function onlySet<T extends object>(block: T): Partial<T> {
  const isSet = (value: unknown): boolean => value !== null && !(Array.isArray(value) && value.length === 0);
  return Object.fromEntries(Object.entries(block).filter(([, value]) => isSet(value))) as Partial<T>;
}
