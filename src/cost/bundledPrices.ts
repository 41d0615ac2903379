import {
  calcPrice,
  findProvider,
  type ModelInfo,
  type PriceCalculation,
  type Provider,
} from '@pydantic/genai-prices';
import type { Usage } from '../domain/usage.ts';
import { own } from '../lib/own.ts';
import type { PriceSettings, PriceTable, Tariff } from './tariff.ts';

/** Models are named by clients; at this many the cache is cleared. */
const knownMax = 10_000;
/** How long a price for comparison is cached: prices change by the day, for a few models by the time of day. */
const comparedForMs = 60_000;
/** 1,000 tokens each way: below every tier, and enough to outweigh a fee per request. */
const comparedUsage: Usage = {
  inputTokens: 1_000,
  outputTokens: 1_000,
  cachedInputTokens: 0,
  reasoningTokens: 0,
  totalTokens: 2_000,
};

/**
 * The prices of `@pydantic/genai-prices`. Nothing is downloaded: its `updatePrices` is never called. Finding a model
 * searches all of a provider's, which costs up to 60 µs, once a model. After that a cost takes 4 to 12 µs, and a price
 * for comparison, which every assignment needs, half a microsecond.
 */
export function bundledPrices(config: PriceSettings): PriceTable {
  const known = new Map<string, Tariff | null>();
  const tariffOf = (provider: string, model: string): Tariff | null => {
    const key = JSON.stringify([provider, model]);
    const before = known.get(key);
    if (before !== undefined) return before;
    const seller = sellerOf(provider, own(config.providers, provider)?.baseUrl ?? null);
    const found = seller === undefined ? null : findModel(seller, model);
    const tariff = found === null ? null : new BundledTariff(found.provider, found.model, model);
    if (known.size >= knownMax) known.clear();
    known.set(key, tariff);
    return tariff;
  };
  return ({ provider, models }) => {
    for (const model of models) {
      const tariff = tariffOf(provider, model);
      if (tariff !== null) return tariff;
    }
    return null;
  };
}

/**
 * The seller behind this name. The library accepts any name that contains a known one; with the base_url of another
 * host (`openai-compatible`) only the exact name counts.
 */
function sellerOf(provider: string, baseUrl: string | null): Provider | undefined {
  const byName = findProvider({ providerId: provider });
  if (baseUrl === null) return byName;
  const byUrl = findProvider({ providerApiUrl: baseUrl });
  return byUrl ?? (byName?.id === provider.toLowerCase() ? byName : undefined);
}

function findModel(seller: Provider, model: string): PriceCalculation | null {
  try {
    return calcPrice({}, model, { providerId: seller.id });
  } catch {
    return null;
  }
}

class BundledTariff implements Tariff {
  readonly isFree = false;
  readonly #model: string;
  /** The provider with only this model, so that the library has nothing to search. */
  readonly #provider: Provider;
  #compared: { until: number; dollars: number | null } | null = null;

  constructor(provider: Provider, info: ModelInfo, model: string) {
    const { id, name, api_pattern } = provider;
    this.#provider = { id, name, api_pattern, models: [info] };
    this.#model = model;
  }

  nanoDollars(usage: Usage, at: number): number | null {
    const { inputTokens, outputTokens } = usage;
    const cacheRead = Math.min(usage.cachedInputTokens, inputTokens);
    const tokens = {
      input_tokens: inputTokens,
      cache_read_tokens: cacheRead,
      // At the price of plain input where the list has no price for it.
      cache_write_tokens: Math.min(usage.cacheWriteTokens ?? 0, inputTokens - cacheRead),
      output_tokens: outputTokens,
      output_reasoning_tokens: Math.min(usage.reasoningTokens, outputTokens),
    };
    let price: PriceCalculation | null;
    try {
      price = calcPrice(tokens, this.#model, { provider: this.#provider, timestamp: new Date(at) });
    } catch {
      return null;
    }
    if (price === null) return null;
    // The library counts a missing price as 0; 176 of its models have none for tokens, and that is not free.
    const { input_mtok, output_mtok } = price.model_price;
    if (inputTokens > 0 && input_mtok === undefined) return null;
    if (outputTokens > 0 && output_mtok === undefined) return null;
    return price.total_price * 1e9;
  }

  perMillion(at: number): number | null {
    if (this.#compared === null || at >= this.#compared.until || at < this.#compared.until - comparedForMs) {
      const nanoDollars = this.nanoDollars(comparedUsage, at);
      this.#compared = {
        until: at + comparedForMs,
        dollars: nanoDollars === null ? null : Math.round(nanoDollars) / (1_000 * comparedUsage.inputTokens),
      };
    }
    return this.#compared.dollars;
  }
}
