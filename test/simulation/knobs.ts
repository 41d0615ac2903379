import type { Config } from '../../src/config/config.ts';
import { testConfig } from '../support/config.ts';
import type { Dice } from './dice.ts';
import type { Bounds, TokenPrice } from './jobChecks.ts';
import { keepsLeases, type Plan } from './plan.ts';

/** From this number of jobs on that stay at least, no run comes to archive any. */
const keepJobsEnough = 1_000;

/** What a job may cost at `alpha`, nano-dollars a token. A million times as much is nano-dollars a million tokens. */
const prices: readonly TokenPrice[] = [
  { input: 2_000, output: 10_000 },
  { input: 500, output: 40_000 },
];

/**
 * The configuration, and everything of it that may be turned while the coordinator runs (see `withFixed`) or before it
 * starts. The bounds that it ever set stay known: a job may have been counted by any of them.
 */
export class Knobs {
  config: Config;
  readonly bounds: Bounds;
  readonly #plan: Plan;
  readonly #dice: Dice;
  readonly #first: Config;
  #keepJobsLeast: number;

  constructor(plan: Plan, dice: Dice) {
    this.#plan = plan;
    this.#dice = dice;
    this.#first = configOf(plan);
    this.config = this.#first;
    this.bounds = { maxReaps: 0, maxAttempts: 0, maxRateLimitRetries: 0, prices };
    this.#keepJobsLeast = this.config.retention.keepJobs;
    this.#set(this.config);
  }

  /** Whether jobs may have left for the archive. */
  get archives(): boolean {
    return this.#keepJobsLeast < keepJobsEnough;
  }

  /** Another configuration, as a reload brings it. @returns what was changed, for the history. */
  turn(): string {
    const dice = this.#dice;
    const { config } = this;
    const knob = dice.pick(['limit', 'limit', 'route', 'route', 'jobs', 'jobs', 'breaker', 'price', 'keep']);
    switch (knob) {
      case 'limit':
        this.#setAlpha({
          rateLimit: dice.chance(0.2)
            ? null
            : {
                maxConcurrent: dice.pick([null, 1, 3]),
                retryAfterSeconds: dice.int(1, 20),
                maxRetries: dice.int(0, 5),
                retryAfterMaxSeconds: 30,
              },
        });
        return `the limit of alpha is ${JSON.stringify(this.config.providers.alpha?.rateLimit)}`;
      case 'breaker':
        this.#setAlpha({
          breaker: {
            ratio: dice.pick([0.1, 0.5, 1]),
            minimum: dice.int(1, 10),
            windowSeconds: 30,
            openSeconds: dice.int(1, 30),
          },
        });
        break;
      case 'route':
        this.#set({ ...config, routing: this.#drawRouting() });
        return `the routing is ${JSON.stringify(this.config.routing)}`;
      case 'jobs':
        this.#set({ ...config, jobs: { ...config.jobs, ...this.#drawJobs() } });
        return `jobs are ${JSON.stringify(this.config.jobs)}`;
      case 'price':
        this.#set({ ...config, pricing: pricingOf(dice.pick(prices)) });
        break;
      case 'keep':
        this.#set({
          ...config,
          retention: { keepDays: 30, keepJobs: dice.pick([0, 10, 100_000]), auditDays: 400 },
        });
        break;
    }
    return `another ${knob}`;
  }

  /** What only a restart can change: nothing of it is in force anywhere. */
  turnBeforeStart(): void {
    const { priorities } = this.config.jobs;
    if (!this.#dice.chance(0.2)) return;
    const high = this.#dice.pick([0, 10, 3_600]);
    this.#set({ ...this.config, jobs: { ...this.config.jobs, priorities: { ...priorities, high } } });
  }

  /** As in the beginning, but for what only a restart can change. */
  turnBack(): void {
    const { priorities } = this.config.jobs;
    this.#set({ ...this.#first, jobs: { ...this.#first.jobs, priorities } });
  }

  #drawRouting(): Config['routing'] {
    const dice = this.#dice;
    const chain = ['alpha', 'beta', 'echo'].filter(() => dice.chance(0.7));
    const rule = { match: { tags: ['tagged'] } };
    return {
      strategy: dice.pick(['fallback', 'round_robin', 'least_busy', 'cheapest', 'fastest']),
      chain: dice.chance(0.5) ? chain : chain.reverse(),
      rules: dice.pick([
        [],
        [{ ...rule, provider: 'beta' }],
        [{ ...rule, chain: ['echo', 'alpha'] }],
        [{ ...rule, worker: 'w0' }],
      ]),
      fallbackOnTimeout: dice.chance(0.5),
    };
  }

  #drawJobs(): Partial<Config['jobs']> {
    const dice = this.#dice;
    const { reapStaleAfterSeconds } = this.#plan;
    return {
      timeoutSeconds: dice.pick([0, 10, 60]),
      reapStaleAfterSeconds: keepsLeases(this.#plan) ? reapStaleAfterSeconds : dice.pick([0, 6, 30, 120]),
      maxAttempts: dice.int(1, 5),
      maxReaps: dice.int(0, 3),
      maxPending: dice.pick([3, 500]),
      defaultProvider: dice.pick([null, 'beta']),
    };
  }

  #setAlpha(change: Partial<NonNullable<Config['providers'][string]>>): void {
    const { alpha } = this.config.providers;
    if (alpha === undefined) return;
    this.#set({ ...this.config, providers: { ...this.config.providers, alpha: { ...alpha, ...change } } });
  }

  #set(config: Config): void {
    const { bounds } = this;
    const { maxReaps, maxAttempts } = config.jobs;
    const maxRetries = config.providers.alpha?.rateLimit?.maxRetries ?? 0;
    this.config = config;
    bounds.maxReaps = Math.max(bounds.maxReaps, maxReaps);
    bounds.maxAttempts = Math.max(bounds.maxAttempts, maxAttempts);
    bounds.maxRateLimitRetries = Math.max(bounds.maxRateLimitRetries, maxRetries);
    this.#keepJobsLeast = Math.min(this.#keepJobsLeast, config.retention.keepJobs);
  }
}

function configOf(plan: Plan): Config {
  const breaker = { ratio: 0.5, minimum: 10, windowSeconds: 30, openSeconds: 10 };
  const plain = { model: null, baseUrl: null, apiKeyEnv: null, breaker };
  const rateLimit = { maxConcurrent: null, retryAfterSeconds: 5, maxRetries: 3, retryAfterMaxSeconds: 30 };
  const [price] = prices;
  return testConfig({
    jobs: {
      heartbeatIntervalSeconds: plan.heartbeatIntervalSeconds,
      reapStaleAfterSeconds: plan.reapStaleAfterSeconds,
      timeoutSeconds: plan.timeoutSeconds,
      maxReaps: plan.maxReaps,
      maxPending: 500,
    },
    providers: { alpha: { ...plain, model: 'm', rateLimit }, beta: { ...plain, rateLimit: null } },
    routing: { strategy: 'fallback', chain: ['alpha', 'beta', 'echo'], rules: [], fallbackOnTimeout: true },
    pricing: price === undefined ? {} : pricingOf(price),
    retention: { keepDays: 30, keepJobs: plan.keepJobs, auditDays: 400 },
  });
}

function pricingOf({ input, output }: TokenPrice): Config['pricing'] {
  return {
    alpha: {
      m: {
        inputPerMillion: input / 1_000,
        outputPerMillion: output / 1_000,
        cachedInputPerMillion: null,
        cacheWritePerMillion: null,
        free: false,
      },
    },
  };
}
