import type { Config } from '../config/config.ts';
import type { Clock } from '../domain/clock.ts';
import { type Cost, unknownCost } from '../domain/money.ts';
import type { Usage } from '../domain/usage.ts';
import { bundledPrices } from './bundledPrices.ts';
import { configuredPrices, ownMachines } from './configuredPrices.ts';
import type { PriceTable, Tariff } from './tariff.ts';

/** One attempt, as far as its price goes. */
export interface Spent {
  provider: string;
  /** What was asked of the provider. */
  model: string | null;
  /** What the provider says it ran, when it does: its own name for the model may be a more exact one. */
  reportedModel?: string | null;
  /** null when nobody has said it. */
  usage: Usage | null;
  /** When it ended, epoch ms: prices change with time. */
  at: number;
}

/** Turns usage into money. */
export interface Pricing {
  /**
   * What an attempt cost, in whole nano-dollars. Unknown when nobody knows the price or the usage, or when the usage is
   * implausible, and never 0 then;
   * what is free is known to cost 0 whatever it used.
   */
  costOf(spent: Spent): Cost;
  /** Dollars a million input and output tokens together, to compare providers by; null when nobody knows. */
  comparablePrice(provider: string, model: string | null): number | null;
}

/**
 * The prices of a configuration: what it says itself, then free for one's own machines, then the bundled price list.
 * Another configuration (a reload) begins with nothing remembered of the old one.
 */
export function createPricing(config: () => Config, clock: Clock): Pricing {
  let current: Config | null = null;
  let tables: PriceTable[] = [];
  const tariffOf = (provider: string, models: readonly (string | null | undefined)[]): Tariff | null => {
    if (config() !== current) {
      current = config();
      tables = [configuredPrices(current), ownMachines(current), bundledPrices(current)];
    }
    const named = models.filter((model) => typeof model === 'string');
    for (const table of tables) {
      const tariff = table({ provider, models: named });
      if (tariff !== null) return tariff;
    }
    return null;
  };
  return {
    costOf: ({ provider, model, reportedModel, usage, at }) => {
      const tariff = tariffOf(provider, [reportedModel, model]);
      if (tariff?.isFree) return { nanoDollars: 0, status: 'known' };
      const isTold = usage !== null && usage.isPartial !== true && usage.isImplausible !== true;
      const nanoDollars = isTold ? (tariff?.nanoDollars(usage, at) ?? null) : null;
      return nanoDollars === null ? unknownCost : { nanoDollars: Math.round(nanoDollars), status: 'known' };
    },
    comparablePrice: (provider, model) => tariffOf(provider, [model])?.perMillion(clock.now()) ?? null,
  };
}
