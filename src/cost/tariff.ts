import type { Config, ProviderConfig } from '../config/config.ts';
import type { Usage } from '../domain/usage.ts';

/** The part of a configuration that prices depend on. */
export interface PriceSettings {
  pricing: Config['pricing'];
  providers: Readonly<Record<string, Pick<ProviderConfig, 'baseUrl'>>>;
}

/** The price of one model at one provider. */
export interface Tariff {
  /** Nothing is ever charged: an attempt costs 0 even when its usage is unknown. */
  isFree: boolean;
  /**
   * Nano-dollars for a usage, not rounded yet; null when this tariff does not cover it.
   * @param at epoch ms: prices change over time.
   */
  nanoDollars(usage: Usage, at: number): number | null;
  /** Dollars for a million input and a million output tokens together, for comparison; null when unknown. */
  perMillion(at: number): number | null;
}

/** What to price. The more exact name of the model is first. */
export interface Priceable {
  provider: string;
  models: readonly string[];
}

/** One source of prices; null when it has none. */
export type PriceTable = (what: Priceable) => Tariff | null;

/** For the operator's own machines. */
export const freeTariff: Tariff = { isFree: true, nanoDollars: () => 0, perMillion: () => 0 };
