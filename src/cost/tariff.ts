import type { Usage } from '../domain/usage.ts';

/** What one provider asks for one model. */
export interface Tariff {
  /** Nothing is ever charged: an attempt costs 0 even when nobody says what it used. */
  isFree: boolean;
  /**
   * Nano-dollars for what an attempt used, not rounded yet; null when this tariff does not say what such use costs.
   * @param at epoch ms: prices change with time.
   */
  nanoDollars(usage: Usage, at: number): number | null;
  /** Dollars a million input and output tokens together, to compare by; null when it does not say. */
  perMillion(at: number): number | null;
}

/** What is to be priced. The more exact name of the model comes first. */
export interface Priceable {
  provider: string;
  models: readonly string[];
}

/** One place where prices come from; null when it knows none. */
export type PriceTable = (what: Priceable) => Tariff | null;

/** For what runs on one's own machines. */
export const freeTariff: Tariff = { isFree: true, nanoDollars: () => 0, perMillion: () => 0 };
