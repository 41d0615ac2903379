import { ApiError, type Client, Unreachable } from '../../client/client.ts';
import type { Price } from '../../config/config.ts';
import type { Pricing } from '../../cost/pricing.ts';
import type { PriceSettings } from '../../cost/tariff.ts';
import { fieldsOf, isFields } from '../../lib/fields.ts';
import { systemClock } from '../../lib/systemClock.ts';

/** The prices that the coordinator would use. */
export interface KnownPrices {
  pricing: Pricing;
  /** What was not to be had, for people; null when nothing was missing. */
  remark: string | null;
}

/** The coordinator's own prices where the key may read them, and the list that comes with SVC. */
export async function knownPrices(client: Client): Promise<KnownPrices> {
  const { settings, remark } = await settingsOf(client);
  // The list of prices is large, and only an estimate needs it.
  const { createPricing } = await import('../../cost/pricing.ts');
  return { pricing: createPricing(() => settings, systemClock), remark };
}

async function settingsOf(client: Client): Promise<{ settings: PriceSettings; remark: string | null }> {
  try {
    const { config } = await client.config();
    return { settings: readSettings(config), remark: null };
  } catch (error) {
    const isDenied = error instanceof ApiError && (error.status === 401 || error.status === 403);
    if (!isDenied && !(error instanceof Unreachable)) throw error;
    const why = isDenied
      ? 'this key may not read its configuration (role admin)'
      : 'the coordinator cannot be reached';
    return {
      settings: { pricing: {}, providers: {} },
      remark: `Prices are those of the list that comes with SVC; prices of your own are not included, because ${why}.`,
    };
  }
}

/** What `GET /api/config` says of prices and addresses. */
function readSettings(config: Readonly<Record<string, unknown>>): PriceSettings {
  const pricing: PriceSettings['pricing'] = {};
  for (const [provider, models] of Object.entries(fieldsOf(config.pricing)))
    pricing[provider] = Object.fromEntries(
      Object.entries(fieldsOf(models)).map(([model, price]) => [model, priceOf(price)]),
    );
  const providers: Record<string, { baseUrl: string | null }> = {};
  for (const [name, provider] of Object.entries(fieldsOf(config.providers))) {
    const url = isFields(provider) ? provider.base_url : null;
    providers[name] = { baseUrl: typeof url === 'string' ? url : null };
  }
  return { pricing, providers };
}

function priceOf(value: unknown): Price {
  const price = fieldsOf(value);
  const amount = (field: string): number | null => {
    const number = price[field];
    return typeof number === 'number' ? number : null;
  };
  return {
    inputPerMillion: amount('input_per_million') ?? 0,
    outputPerMillion: amount('output_per_million') ?? 0,
    cachedInputPerMillion: amount('cached_input_per_million'),
    cacheWritePerMillion: amount('cache_write_per_million'),
    free: price.free === true,
  };
}
