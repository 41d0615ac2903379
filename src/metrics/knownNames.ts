import type { Config } from '../config/config.ts';
import { nameLengthMax } from '../domain/limits.ts';
import type { ProviderView } from '../domain/provider.ts';
import { BoundedLabel, other } from './labels.ts';

/** Providers, and pairs of provider and model, with labels of their own. */
const providersMax = 100;
const pairsMax = 100;
/** The label for no model. */
const noModel = 'none';

/**
 * The providers and models that get labels: those that are configured or that a worker serves or advertises, even after
 * it has left. Clients may invent others; they are `other`.
 */
export class KnownNames {
  readonly #config: () => Config;
  readonly #providers: () => readonly ProviderView[];
  readonly #providerLabels = new BoundedLabel(providersMax);
  readonly #pairLabels = new BoundedLabel(pairsMax);
  #known: { providers: Set<string>; pairs: Set<string> } | null = null;

  constructor(config: () => Config, providers: () => readonly ProviderView[]) {
    this.#config = config;
    this.#providers = providers;
  }

  /** The fleet or the configuration may have changed: read both again at the next name. */
  forget(): void {
    this.#known = null;
  }

  /** The label of a provider that a client may have named. */
  provider(name: string): string {
    const isKnown = this.#providerLabels.has(name) || this.#look().providers.has(name);
    return isKnown ? this.#providerLabels.of(name) : other;
  }

  /**
   * The labels of a provider that has run something, so that some worker served it, and of a model.
   * @param isReported by its worker, not requested by a client.
   */
  pair(provider: string, model: string | null, isReported: boolean): [provider: string, model: string] {
    const label = this.#providerLabels.of(provider);
    if (model === null) return [label, noModel];
    // Earlier versions stored a worker's texts at any length.
    if (model.length > nameLengthMax) return [label, other];
    const pair = pairOf(provider, model);
    const isKnown =
      label !== other && (isReported || this.#pairLabels.has(pair) || this.#look().pairs.has(pair));
    return [label, isKnown && this.#pairLabels.of(pair) === pair ? model : other];
  }

  #look(): { providers: Set<string>; pairs: Set<string> } {
    if (this.#known !== null) return this.#known;
    const views = this.#providers();
    const { pricing } = this.#config();
    const pairs = new Set<string>();
    for (const [provider, models] of Object.entries(pricing))
      for (const model of Object.keys(models)) pairs.add(pairOf(provider, model));
    for (const { name, model, fleet } of views)
      for (const one of model === null ? fleet.models : [model, ...fleet.models])
        pairs.add(pairOf(name, one));
    this.#known = { providers: new Set(views.map(({ name }) => name)), pairs };
    return this.#known;
  }
}

const pairOf = (provider: string, model: string): string => `${provider}\n${model}`;
