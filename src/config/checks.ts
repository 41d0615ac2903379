import { nearest } from '../lib/nearest.ts';
import { defaultsKey, localProviders } from './config.ts';
import { keyPath } from './fields.ts';
import type { ConfigFile, PriceFile, RuleFile } from './file.ts';
import { type Fault, topLevelProviders } from './schema.ts';

/** Contradictions between keys. Each of these faults invalidates the configuration. */
export function findContradictions(file: ConfigFile): Fault[] {
  return [
    ...defaultsFaults(file),
    ...modelConflicts(file),
    ...keyConflicts(file),
    ...ruleFaults(file),
    ...priceFaults(file),
  ];
}

/** The `model` at the top of the file under a provider's name (`ollama: {model: …}`). */
export function topLevelModel(file: ConfigFile, provider: string): string | null {
  if (!topLevelProviders(file).includes(provider)) return null;
  const block: unknown = Object.entries(file).find(([key]) => key === provider)?.[1];
  if (typeof block !== 'object' || block === null || !('model' in block)) return null;
  return typeof block.model === 'string' ? block.model : null;
}

/** Every provider with settings in the file, in either of the two places. */
export function configuredProviders(file: ConfigFile): string[] {
  const top = topLevelProviders(file).filter((key) => topLevelModel(file, key) !== null);
  return [...new Set([...Object.keys(file.providers ?? {}), ...top])].filter((name) => name !== defaultsKey);
}

/** The defaults for all providers can only contain rate limits. */
function defaultsFaults({ providers }: ConfigFile): Fault[] {
  const path = keyPath('providers', defaultsKey);
  return Object.keys(providers?.[defaultsKey] ?? {})
    .filter((key) => key !== 'rate_limit')
    .map((key) => ({
      path: `${path}.${key}`,
      message: `cannot be set for all providers at once; only rate_limit can`,
    }));
}

function modelConflicts(file: ConfigFile): Fault[] {
  return Object.entries(file.providers ?? {}).flatMap(([provider, settings]) => {
    const top = topLevelModel(file, provider);
    const model = settings?.model ?? null;
    if (top === null || model === null || top === model) return [];
    const other = `${keyPath('providers', provider)}.model`;
    return [
      {
        path: `${keyPath('', provider)}.model`,
        message: `says ${top}, but ${other} says ${model}; keep one of them`,
      },
    ];
  });
}

function keyConflicts(file: ConfigFile): Fault[] {
  return Object.entries(file.providers ?? {}).flatMap(([provider, settings]) => {
    if (!settings?.api_key_env || !settings.api_key_file) return [];
    const path = `${keyPath('providers', provider)}.api_key_file`;
    return [{ path, message: 'is set together with api_key_env; keep one of them' }];
  });
}

function ruleFaults(file: ConfigFile): Fault[] {
  return (file.routing?.rules ?? []).flatMap((rule: RuleFile | null, index) => {
    const path = `routing.rules[${index}]`;
    if (rule === null) return [{ path, message: 'has no keys' }];
    // A rule whose condition is empty would match every job: worse than an error.
    const empty = [...emptyKeys(path, rule), ...emptyKeys(`${path}.match`, rule.match ?? {})];
    if (empty.length > 0) return empty;
    const { chain, provider, model, worker, worker_tag: tag } = rule;
    if (chain !== undefined && provider !== undefined) {
      return [{ path, message: 'sets both chain and provider; keep one of them' }];
    }
    if (chain?.length === 0) return [{ path: `${path}.chain`, message: 'must name at least one provider' }];
    const setsNothing = [chain, provider, model, worker, tag].every((value) => value === undefined);
    if (!setsNothing) return [];
    return [{ path, message: 'sets nothing; give it provider, chain, model, worker or worker_tag' }];
  });
}

function emptyKeys(path: string, block: object): Fault[] {
  return Object.entries(block)
    .filter(([, value]) => value === null)
    .map(([key]) => ({ path: `${path}.${key}`, message: 'has no value' }));
}

function priceFaults(file: ConfigFile): Fault[] {
  return Object.entries(file.pricing ?? {}).flatMap(([provider, models]) => {
    const parent = keyPath('pricing', provider);
    return Object.entries(models ?? {}).flatMap(([model, price]: [string, PriceFile | null]) => {
      const message = priceTrouble(price ?? {});
      return message === null ? [] : [{ path: keyPath(parent, model), message }];
    });
  });
}

function priceTrouble(price: PriceFile): string | null {
  const { input_per_million, output_per_million, cached_input_per_million, cache_write_per_million } = price;
  const prices = [input_per_million, output_per_million, cached_input_per_million, cache_write_per_million];
  const isPriced = prices.some((value) => value !== undefined && value !== null);
  if (price.free === true) return isPriced ? 'is free and has prices; keep one of them' : null;
  const missing = (['input_per_million', 'output_per_million'] as const).filter(
    (key) => (price[key] ?? null) === null,
  );
  if (missing.length === 0) return null;
  return missing.length === 2 && !isPriced
    ? 'needs input_per_million and output_per_million, or free: true'
    : `needs ${missing.join(' and ')} too`;
}

/** What is valid but probably a mistake. */
export function findOddities(file: ConfigFile): Fault[] {
  return [...unknownProviders(file), ...routingOddities(file)];
}

function unknownProviders(file: ConfigFile): Fault[] {
  const known = new Set([
    ...configuredProviders(file),
    ...Object.keys(file.pricing ?? {}),
    ...(file.worker?.providers ?? []),
    ...localProviders,
  ]);
  return namedProviders(file)
    .filter(({ provider }) => !known.has(provider))
    .map(({ path, provider }) => {
      const near = nearest(provider, known);
      const help = near === null ? 'nothing under providers sets it up' : `did you mean ${near}?`;
      return { path, message: `names the provider ${provider}, which is not configured; ${help}` };
    });
}

function namedProviders({ routing, jobs }: ConfigFile): { path: string; provider: string }[] {
  const chain = (path: string, names: readonly string[]): { path: string; provider: string }[] =>
    names.map((provider, index) => ({ path: `${path}[${index}]`, provider }));
  const one = (path: string, provider: string | null | undefined): { path: string; provider: string }[] =>
    provider === null || provider === undefined ? [] : [{ path, provider }];
  return [
    ...one('jobs.default_provider', jobs?.default_provider),
    ...chain('routing.chain', routing?.chain ?? []),
    ...(routing?.rules ?? []).flatMap((rule, index) => [
      ...one(`routing.rules[${index}].match.provider`, rule.match?.provider),
      ...one(`routing.rules[${index}].provider`, rule.provider),
      ...chain(`routing.rules[${index}].chain`, rule.chain ?? []),
    ]),
  ];
}

function routingOddities({ routing }: ConfigFile): Fault[] {
  const strategy = routing?.strategy ?? 'direct';
  const isChained = (routing?.chain ?? []).length > 0;
  if (strategy === 'fallback' && !isChained) {
    return [{ path: 'routing.strategy', message: 'is fallback, but routing.chain names no provider to try' }];
  }
  if (strategy === 'direct' && isChained) {
    return [
      {
        path: 'routing.chain',
        message: 'is not used by the strategy direct; did you mean strategy: fallback?',
      },
    ];
  }
  return [];
}
