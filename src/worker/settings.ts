import type { WorkerSettings } from '../config/config.ts';

/** The resolved settings of `svc worker`. */
export interface ResolvedSettings {
  name: string;
  /** At least one, none twice. */
  providers: string[];
  concurrency: number;
  tags: string[];
  coordinator: string;
  apiKey: string;
}

/** Settings that cannot start a worker. The message says what to do. */
export class SettingsError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'SettingsError';
  }
}

export const coordinatorDefault = 'http://127.0.0.1:7420';
/** Echo jobs take only time, so several at once do no harm; anything real starts with one. */
const echoConcurrencyDefault = 4;

/**
 * Resolve each value from the first layer that sets it: flags, environment, file, remote configuration.
 * @param host the default name of the worker.
 * @throws SettingsError when the key or the providers are missing, or a value is invalid.
 */
export function resolveSettings(layers: readonly Partial<WorkerSettings>[], host: string): ResolvedSettings {
  const first = <K extends keyof WorkerSettings>(key: K): WorkerSettings[K] | undefined =>
    layers.find((layer) => isSet(layer[key]))?.[key];
  const providers = [...new Set(first('providers') ?? [])];
  if (providers.length === 0) {
    throw new SettingsError(
      'no provider: name at least one with --provider, or in worker.providers of the configuration',
    );
  }
  const apiKey = first('apiKey');
  if (!apiKey) {
    throw new SettingsError(
      'no API key: set SVC_API_KEY to a key with the role worker (on the coordinator: svc keys create --role worker)',
    );
  }
  const concurrency =
    first('concurrency') ?? (providers.every((name) => name === 'echo') ? echoConcurrencyDefault : 1);
  return {
    name: first('name') ?? host,
    providers,
    concurrency,
    tags: [...new Set(first('tags') ?? [])],
    coordinator: first('coordinator') ?? coordinatorDefault,
    apiKey,
  };
}

function isSet(value: unknown): boolean {
  return value !== null && value !== undefined && !(Array.isArray(value) && value.length === 0);
}
