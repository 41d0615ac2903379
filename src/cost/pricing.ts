import type { Clock } from '../domain/clock.ts';
import { type Cost, unknownCost } from '../domain/money.ts';
import type { Usage } from '../domain/usage.ts';
import { bundledPrices } from './bundledPrices.ts';
import { configuredPrices, ownMachines } from './configuredPrices.ts';
import type { PriceSettings, PriceTable, Tariff } from './tariff.ts';

/** The parts of an attempt that determine its price. */
export interface Spent {
  provider: string;
  /** The requested model. */
  model: string | null;
  /** The model that the provider reports, perhaps by a more exact name. */
  reportedModel?: string | null;
  /** null when unknown. */
  usage: Usage | null;
  /** When it ended, epoch ms: prices change over time. */
  at: number;
  /** Its worker reports that the provider charges nothing. That counts where no price is known. */
  isFree?: boolean;
}

/** Turns usage into money. */
export interface Pricing {
  /**
   * The cost of an attempt, in whole nano-dollars. Unknown when the price or the usage is unknown, or when the usage is
   * implausible, and never 0 then; what is free costs a known 0 whatever it used.
   */
  costOf(spent: Spent): Cost;
  /** Dollars for a million input and a million output tokens together, to compare providers; null when unknown. */
  comparablePrice(provider: string, model: string | null): number | null;
}

/** A price, and whether the configuration sets it. */
interface Found {
  tariff: Tariff | null;
  isOwn: boolean;
}

/** Nano-dollars a token: 1,000 dollars a million, more than the most expensive model. */
const reportedPerTokenMax = 1_000_000;
/** Nano-dollars: searches and pictures that are billed by the piece. */
const reportedExtraMax = 1_000_000_000;

/** The cost reported by the provider; null when there is none, or an implausibly high one. */
function plausibleReport({ toldNanoDollars: reported, totalTokens }: Usage): number | null {
  const isPlausible =
    reported !== undefined && reported <= reportedExtraMax + totalTokens * reportedPerTokenMax;
  return isPlausible ? reported : null;
}

/**
 * The prices of a configuration: its own, then free for the operator's machines, then the bundled price list. A new
 * configuration (a reload) starts with empty caches.
 */
export function createPricing(config: () => PriceSettings, clock: Clock): Pricing {
  let current: PriceSettings | null = null;
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
      const reported =
        usage === null || isOwn || usage.isImplausible === true ? null : plausibleReport(usage);
      if (reported !== null) return { nanoDollars: reported, status: 'known' };
      const isTold = usage !== null && usage.isPartial !== true && usage.isImplausible !== true;
      const nanoDollars = isTold ? (tariff?.nanoDollars(usage, at) ?? null) : null;
      return nanoDollars === null ? unknownCost : { nanoDollars: Math.round(nanoDollars), status: 'known' };
    },
    comparablePrice: (provider, model) => tariffOf(provider, [model]).tariff?.perMillion(clock.now()) ?? null,
  };
}
