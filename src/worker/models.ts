import { localProviders } from '../config/config.ts';
import { nameLengthMax } from '../domain/limits.ts';
import { modelsLengthMax, modelsMax } from '../domain/workerProtocol.ts';
import type { Provider } from './provider.ts';

/**
 * What models the providers have, as `hello` and `heartbeat` tell it. A provider that takes any name is absent.
 */
export class ModelList {
  readonly #providers: readonly Provider[];
  #models: Record<string, string[]> = {};
  #isAsking = false;

  constructor(providers: readonly Provider[]) {
    this.#providers = providers;
  }

  get current(): Record<string, string[]> {
    return this.#models;
  }

  /**
   * Ask all providers, at the start.
   * @throws ProviderUnreachable when a local server does not answer.
   */
  async load(): Promise<void> {
    this.#models = await ask(this.#providers, {});
  }

  /**
   * Ask the local servers again: people load and remove models while a worker runs. Cloud providers are asked once.
   * @returns whether anything changed; null when nobody was asked, for an earlier question is still open.
   * @throws whatever a provider throws; the list stays as it was then.
   */
  async refresh(): Promise<boolean | null> {
    const local = this.#providers.filter(({ kind, name }) => kind === 'local' && this.#models[name]);
    if (this.#isAsking || local.length === 0) return null;
    this.#isAsking = true;
    try {
      const models = await ask(local, this.#models);
      const changed = JSON.stringify(models) !== JSON.stringify(this.#models);
      this.#models = models;
      return changed;
    } finally {
      this.#isAsking = false;
    }
  }
}

async function ask(
  providers: readonly Provider[],
  before: Record<string, string[]>,
): Promise<Record<string, string[]>> {
  const answers = await Promise.all(
    providers.map(async (provider) => ({ name: provider.name, models: await provider.models() })),
  );
  const models = { ...before };
  for (const answer of answers) {
    if (answer.models) models[answer.name] = answer.models.filter(isAskable).toSorted();
    else delete models[answer.name];
  }
  return withoutLongest(models);
}

/** No job can ask for a longer name, and a coordinator refuses the whole frame for one. */
function isAskable(model: string): boolean {
  return model.length <= nameLengthMax;
}

/**
 * The models as far as one hello takes them: a provider that has too many is left out, and then counts as one that takes any
 * name. One that runs none of them answers that it does not know the model.
 */
function withoutLongest(models: Record<string, string[]>): Record<string, string[]> {
  const all = Object.values(models).flat();
  const length = all.reduce((sum, name) => sum + name.length, 0);
  if (all.length <= modelsMax && length <= modelsLengthMax) return models;
  const byLength = Object.entries(models).sort(([, a], [, b]) => b.join('').length - a.join('').length);
  return withoutLongest(Object.fromEntries(byLength.slice(1)));
}

/** Those whose server is on this machine or in its network: by their name alone a coordinator may not know it. */
export function freeOf(providers: readonly Provider[]): string[] | undefined {
  const free = providers.filter(({ kind, name }) => kind === 'local' && !localProviders.includes(name));
  return free.length === 0 ? undefined : free.map(({ name }) => name);
}
