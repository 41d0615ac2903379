import { localProviders, type Price } from '../config/config.ts';
import { isOwnHost } from '../lib/hosts.ts';
import { own } from '../lib/own.ts';
import { freeTariff, type PriceSettings, type PriceTable, type Tariff } from './tariff.ts';

/** The prices under `pricing:`, which have priority. */
export function configuredPrices(config: PriceSettings): PriceTable {
  return ({ provider, models }) => {
    const prices = own(config.pricing, provider);
    if (prices === undefined) return null;
    for (const model of models) {
      const price = own(prices, model);
      if (price !== undefined) return tariffOf(price);
    }
    return null;
  };
}

/** Free: the built-in local providers, and those whose base_url is on the operator's machines. */
export function ownMachines(config: PriceSettings): PriceTable {
  return ({ provider }) => {
    const isOwn =
      localProviders.includes(provider) || isOwnAddress(own(config.providers, provider)?.baseUrl ?? null);
    return isOwn ? freeTariff : null;
  };
}

/** A dollar a million tokens is 1,000 nano-dollars a token. */
const nanoPerToken = 1_000;

function tariffOf(price: Price): Tariff {
  if (price.free) return freeTariff;
  const input = price.inputPerMillion * nanoPerToken;
  const output = price.outputPerMillion * nanoPerToken;
  const cached = (price.cachedInputPerMillion ?? price.inputPerMillion) * nanoPerToken;
  const written = (price.cacheWritePerMillion ?? price.inputPerMillion) * nanoPerToken;
  return {
    isFree: false,
    // Reasoning is part of the output, at the same price.
    nanoDollars: ({ inputTokens, cachedInputTokens, cacheWriteTokens = 0, outputTokens }) => {
      const fromCache = Math.min(cachedInputTokens, inputTokens);
      const toCache = Math.min(cacheWriteTokens, inputTokens - fromCache);
      const plain = inputTokens - fromCache - toCache;
      return plain * input + fromCache * cached + toCache * written + outputTokens * output;
    },
    perMillion: () => price.inputPerMillion + price.outputPerMillion,
  };
}

function isOwnAddress(baseUrl: string | null): boolean {
  return baseUrl !== null && URL.canParse(baseUrl) && isOwnHost(new URL(baseUrl).hostname);
}
