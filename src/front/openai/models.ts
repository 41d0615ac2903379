import type { Config } from '../../config/config.ts';
import type { Coordinator } from '../../coordinator/coordinator.ts';
import { CoordinatorError } from '../../domain/errors.ts';
import type { JobRequest } from '../../domain/job.ts';
import { nameLengthMax } from '../../domain/limits.ts';
import type { WorkerView } from '../../domain/worker.ts';
import { OpenAiError } from './errors.ts';

/** How long a catalogue is used again, ms. */
const keptMs = 1_000;

/** Leaves provider and model to the routing. */
const auto = 'auto';

/** A model as OpenAI lists it. */
export interface WireModel {
  id: string;
  object: 'model';
  /** Epoch seconds. */
  created: number;
  owned_by: string;
}

/** What is known of one provider. */
interface Offer {
  /** Models that the configuration or a worker names, connected or not. */
  known: Set<string>;
  /** Those that can be asked for now, and since when, epoch seconds. */
  listed: Map<string, number>;
  /** One of its workers takes any name, or nobody has said which it has. */
  takesAny: boolean;
  /** The same of connected workers: then the provider itself is a model. */
  isOpen: boolean;
}

/** The part of a job request that a model's name decides. */
export type Place = Pick<JobRequest, 'provider' | 'model'>;

/** The providers and models that clients may name, as they are at one moment. */
export class Catalogue {
  readonly #offers = new Map<string, Offer>();

  constructor(workers: readonly WorkerView[], config: Config) {
    for (const { life, connected } of workers) {
      const since = Math.floor((life.connectedAt ?? 0) / 1000);
      for (const provider of life.providers) {
        const offer = this.#offer(provider);
        const models = life.models[provider];
        offer.takesAny ||= models === undefined;
        offer.isOpen ||= models === undefined && connected;
        for (const model of models ?? []) {
          offer.known.add(model);
          if (connected) offer.listed.set(model, offer.listed.get(model) ?? since);
        }
      }
    }
    const served = new Set(this.#offers.keys());
    for (const provider of namedBy(config)) {
      const offer = this.#offer(provider);
      const { models, model = null } = config.providers[provider] ?? {};
      offer.takesAny ||= models === undefined && !served.has(provider);
      for (const name of [...(model === null ? [] : [model]), ...(models ?? [])]) {
        offer.known.add(name);
        if (!offer.listed.has(name)) offer.listed.set(name, 0);
      }
    }
  }

  /** Every model that can be named, sorted; `auto` first. */
  list(): WireModel[] {
    const models = [...this.#offers].flatMap(([provider, { listed, isOpen }]) => [
      ...(isOpen ? [modelOf(provider, provider, 0)] : []),
      ...[...listed].map(([model, since]) => modelOf(`${provider}/${model}`, provider, since)),
    ]);
    models.sort((a, b) => (a.id < b.id ? -1 : 1));
    return [modelOf(auto, 'svc', 0), ...models];
  }

  /** @throws OpenAiError model_not_found. */
  find(id: string): WireModel {
    const listed = this.list().find((model) => model.id === id);
    if (listed !== undefined) return listed;
    const named = this.#named(id);
    const provider = named?.provider ?? this.#providerOf(id);
    if (provider != null) return modelOf(id, provider, 0);
    throw unknownModel(id);
  }

  /**
   * Where a model's name leads: `auto`, `provider/model`, a provider alone for its default model, or a model whose
   * provider the routing decides. A model that is known but has no worker now is accepted, and its job waits.
   * @param routed the providers that the routing would choose from for a model; none when it decides on none.
   * @throws OpenAiError model_not_found.
   */
  resolve(id: string, routed: (model: string) => readonly Place[]): Place {
    if (id === auto) return { provider: null, model: null };
    const named = this.#named(id);
    if (named !== null) return named;
    if (routed(id).some(({ provider, model }) => this.#knows(provider, model))) {
      return { provider: null, model: id };
    }
    const provider = this.#providerOf(id);
    if (provider === undefined) throw unknownModel(id);
    return { provider, model: id };
  }

  /** A provider that is known to have a model, one that has it now before others. */
  #providerOf(model: string): string | undefined {
    const offers = [...this.#offers].filter(([, { known }]) => known.has(model));
    const [provider] = offers.find(([, { listed }]) => listed.has(model)) ?? offers[0] ?? [];
    return provider;
  }

  /** A name that begins with a known provider. */
  #named(id: string): Place | null {
    if (this.#offers.has(id)) return { provider: id, model: null };
    const slash = id.indexOf('/');
    const provider = id.slice(0, Math.max(0, slash));
    const model = id.slice(slash + 1);
    return model !== '' && this.#knows(provider, model) ? { provider, model } : null;
  }

  #knows(provider: string | null, model: string | null): boolean {
    const offer = this.#offers.get(provider ?? '');
    return offer !== undefined && (model === null || offer.takesAny || offer.known.has(model));
  }

  #offer(provider: string): Offer {
    const known = this.#offers.get(provider);
    if (known !== undefined) return known;
    const offer: Offer = { known: new Set(), listed: new Map(), takesAny: false, isOpen: false };
    this.#offers.set(provider, offer);
    return offer;
  }
}

interface Parts {
  coordinator: Coordinator;
  config: Config;
  /** Of a monotonic clock, ms. */
  now: number;
}

/** Reads the catalogue, and keeps it for a second: it is asked for with every request. */
export class Catalogues {
  #last: { catalogue: Catalogue; config: Config; at: number } | null = null;

  /** As it is now. @throws StoreUnavailable. */
  async fresh(coordinator: Coordinator, config: Config, now: number): Promise<Catalogue> {
    const catalogue = new Catalogue(await coordinator.workers(), config);
    this.#last = { catalogue, config, at: now };
    return catalogue;
  }

  /**
   * Where a model's name leads, see `Catalogue.resolve`. A name that is not found is looked up once more: its worker may
   * have connected since.
   * @throws OpenAiError model_not_found; StoreUnavailable.
   */
  async resolve(request: JobRequest, id: string, parts: Parts): Promise<Place> {
    const place = await this.#resolve(request, id, parts);
    if ((place.model?.length ?? 0) > nameLengthMax) throw unknownModel(id);
    return place;
  }

  async #resolve(request: JobRequest, id: string, { coordinator, config, now }: Parts): Promise<Place> {
    const routed = (model: string) => routedPlaces(coordinator, { ...request, provider: null, model });
    const last = this.#last;
    if (last !== null && last.config === config && now - last.at < keptMs) {
      try {
        return last.catalogue.resolve(id, routed);
      } catch (error) {
        if (!(error instanceof OpenAiError)) throw error;
      }
    }
    return (await this.fresh(coordinator, config, now)).resolve(id, routed);
  }
}

function routedPlaces(coordinator: Coordinator, request: JobRequest): Place[] {
  try {
    return coordinator.plan(request).plan.candidates;
  } catch (error) {
    if (error instanceof CoordinatorError) return [];
    throw error;
  }
}

/** The providers that the configuration names anywhere. */
function namedBy({ providers, routing, jobs }: Config): Set<string> {
  const { chain, rules } = routing;
  const names = [
    ...Object.keys(providers),
    ...chain,
    ...rules.flatMap((rule) => [
      ...(rule.chain ?? []),
      ...(rule.provider === undefined ? [] : [rule.provider]),
    ]),
    ...(jobs.defaultProvider === null ? [] : [jobs.defaultProvider]),
  ];
  return new Set(names.filter((name) => name !== auto));
}

function modelOf(id: string, owner: string, created: number): WireModel {
  return { id, object: 'model', created, owned_by: owner };
}

function unknownModel(id: string): OpenAiError {
  const shown = id.length > 100 ? `${id.slice(0, 100)}…` : id;
  return new OpenAiError(`The model ${shown} does not exist; GET /v1/models lists those that do`, {
    status: 404,
    param: 'model',
    code: 'model_not_found',
  });
}
