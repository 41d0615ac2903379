import { type Config, localProviders, type Price } from '../config/config.ts';
import { type Cost, noCost, unknownCost } from '../domain/money.ts';
import type { Usage } from '../domain/usage.ts';

const free: Price = { inputPerMillion: 0, outputPerMillion: 0, cachedInputPerMillion: 0, free: true };

/**
 * What an attempt cost. A dollar a million tokens is 1,000 nano-dollars a token. Cached input is billed at its own
 * price when there is one, else as input.
 * @returns `none` without usage, `unknown` when nobody knows the price; never 0 for unknown.
 */
export function costOf(config: Config, provider: string, model: string | null, usage: Usage | null): Cost {
  if (usage === null) return noCost;
  const price = priceOf(config, provider, model);
  if (price === null) return unknownCost;
  if (price.free) return { nanoDollars: 0, status: 'known' };
  const cached = Math.min(usage.cachedInputTokens, usage.inputTokens);
  const perToken = (perMillion: number, tokens: number): number => perMillion * 1000 * tokens;
  return {
    nanoDollars: Math.round(
      perToken(price.inputPerMillion, usage.inputTokens - cached) +
        perToken(price.cachedInputPerMillion ?? price.inputPerMillion, cached) +
        perToken(price.outputPerMillion, usage.outputTokens),
    ),
    status: 'known',
  };
}

/** Dollars a million input and output tokens together, to compare by; null when nobody knows. */
export function comparablePrice(config: Config, provider: string, model: string | null): number | null {
  const price = priceOf(config, provider, model);
  return price === null ? null : price.inputPerMillion + price.outputPerMillion;
}

/** The configured price, else free for what runs on one's own machines, else null. */
function priceOf(config: Config, provider: string, model: string | null): Price | null {
  const configured = model === null ? undefined : config.pricing[provider]?.[model];
  if (configured !== undefined) return configured;
  return localProviders.includes(provider) || isOwnHost(config.providers[provider]?.baseUrl ?? null)
    ? free
    : null;
}

/** Loopback and private addresses (RFC 1918, RFC 4193) are one's own machines. */
function isOwnHost(baseUrl: string | null): boolean {
  if (baseUrl === null || !URL.canParse(baseUrl)) return false;
  const { hostname } = new URL(baseUrl);
  return (
    hostname === 'localhost' ||
    /^(127\.|10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.)/.test(hostname) ||
    /^\[(::1|f[cd][0-9a-f]{2}:.*)\]$/.test(hostname)
  );
}
