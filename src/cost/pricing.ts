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
  /** Its worker says that the provider charges nothing. That counts where nobody else knows a price. */
  isFree?: boolean;
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

/** A price, and whether the configuration sets it. */
interface Found {
  tariff: Tariff | null;
  isOwn: boolean;
}

/** Nano-dollars a token: 1,000 dollars a million, more than the dearest model asks. */
const toldPerTokenMax = 1_000_000;
/** Nano-dollars: searches and pictures that are billed by the piece. */
const toldBesideMax = 1_000_000_000;

/** What the provider says it charged; null when it says nothing, or more than any provider asks for such use. */
function plausiblyTold({ toldNanoDollars: told, totalTokens }: Usage): number | null {
  const isPlausible = told !== undefined && told <= toldBesideMax + totalTokens * toldPerTokenMax;
  return isPlausible ? told : null;
}

/**
 * The prices of a configuration: what it says itself, then free for one's own machines, then the bundled price list.
 * Another configuration (a reload) begins with nothing remembered of the old one.
 */
export function createPricing(config: () => Config, clock: Clock): Pricing {
  let current: Config | null = null;
  let tables: PriceTable[] = [];
  const tariffOf = (provider: string, models: readonly (string | null | undefined)[]): Found => {
    if (config() !== current) {
      current = config();
      tables = [configuredPrices(current), ownMachines(current), bundledPrices(current)];
    }
    const named = models.filter((model) => typeof model === 'string');
    for (const table of tables) {
      const tariff = table({ provider, models: named });
      if (tariff !== null) return { tariff, isOwn: table === tables[0] };
    }
    return { tariff: null, isOwn: false };
  };
  return {
    costOf: ({ provider, model, reportedModel, usage, at, isFree = false }) => {
      const { tariff, isOwn } = tariffOf(provider, [reportedModel, model]);
      if (tariff?.isFree || (tariff === null && isFree)) return { nanoDollars: 0, status: 'known' };
      const told = usage === null || isOwn || usage.isImplausible === true ? null : plausiblyTold(usage);
      if (told !== null) return { nanoDollars: told, status: 'known' };
      const isTold = usage !== null && usage.isPartial !== true && usage.isImplausible !== true;
      const nanoDollars = isTold ? (tariff?.nanoDollars(usage, at) ?? null) : null;
      return nanoDollars === null ? unknownCost : { nanoDollars: Math.round(nanoDollars), status: 'known' };
    },
    comparablePrice: (provider, model) => tariffOf(provider, [model]).tariff?.perMillion(clock.now()) ?? null,
  };
}
