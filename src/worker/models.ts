import { localProviders } from '../config/config.ts';
import { nameLengthMax } from '../domain/limits.ts';
import { modelsLengthMax, modelsMax } from '../domain/workerProtocol.ts';
import type { Provider } from './provider.ts';

/** The models of the providers for `hello` and `heartbeat`. A provider that takes any name is absent. */
export class ModelList {
  readonly #providers: readonly Provider[];
  #models: Record<string, string[]> = {};
  #isRefreshing = false;

  constructor(providers: readonly Provider[]) {
    this.#providers = providers;
  }

  get current(): Record<string, string[]> {
    return this.#models;
  }

  /**
   * Request the lists of all providers, at startup.
   * @throws ProviderUnreachable when a local server does not answer.
   */
  async load(): Promise<void> {
    this.#models = await requestModels(this.#providers, {});
  }

  /**
   * Request the lists of local servers again: people load and remove models while a worker runs. Cloud providers are
   * requested once.
   * @returns whether anything changed; null when an earlier request is still open.
   * @throws what a provider throws; the list is unchanged then.
   */
  async refresh(): Promise<boolean | null> {
    const local = this.#providers.filter(({ kind, name }) => kind === 'local' && this.#models[name]);
    if (this.#isRefreshing || local.length === 0) return null;
    this.#isRefreshing = true;
    try {
      const models = await requestModels(local, this.#models);
      const changed = JSON.stringify(models) !== JSON.stringify(this.#models);
      this.#models = models;
      return changed;
    } finally {
      this.#isRefreshing = false;
    }
  }
}

async function requestModels(
  providers: readonly Provider[],
  before: Record<string, string[]>,
): Promise<Record<string, string[]>> {
  const answers = await Promise.all(
    providers.map(async (provider) => ({ name: provider.name, models: await provider.models() })),
  );
  const models = { ...before };
  for (const answer of answers) {
    if (answer.models) models[answer.name] = answer.models.filter(isAdvertisable).toSorted();
    else delete models[answer.name];
  }
  return withoutLongest(models);
}

/** No job can name a longer one, and a coordinator refuses the whole frame for one. */
function isAdvertisable(model: string): boolean {
  return model.length <= nameLengthMax;
}

/**
 * The models that fit into one hello: a provider with too many is omitted, and then counts as one that takes any name.
 * One that lacks a model answers that it does not know it.
 */
function withoutLongest(models: Record<string, string[]>): Record<string, string[]> {
  const all = Object.values(models).flat();
  const length = all.reduce((sum, name) => sum + name.length, 0);
  if (all.length <= modelsMax && length <= modelsLengthMax) return models;
  const byLength = Object.entries(models).sort(([, a], [, b]) => b.join('').length - a.join('').length);
  return withoutLongest(Object.fromEntries(byLength.slice(1)));
}

/**
 * The providers whose server is on this machine or in its network: a coordinator may not know that from their names.
 */
export function freeOf(providers: readonly Provider[]): string[] | undefined {
  const free = providers.filter(({ kind, name }) => kind === 'local' && !localProviders.includes(name));
  return free.length === 0 ? undefined : free.map(({ name }) => name);
}
