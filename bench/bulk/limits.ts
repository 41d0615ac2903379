/** What a provider allows. Beyond it, it answers 429 with `retry-after`. */
export type Limit =
  | { kind: 'rate'; perSecond: number /** So many at once after a pause. */; burst: number }
  | { kind: 'concurrency'; atOnce: number };

/** Answers take half to one and a half times this, by the number of their prompt: 1 s on average, as a short one does. */
export const answerMsMean = 1_000;
/** Of a golden section: spreads whole numbers evenly over 0..1, the same way in every run. */
const golden = 0.618_033_988_749_895;

/** How long the answer to a prompt takes, ms. */
export function answerMs(prompt: number): number {
  return answerMsMean * (0.5 + ((prompt * golden) % 1));
}

/** The prompt of this number, and back. */
export function promptText(prompt: number): string {
  return `Prompt ${prompt}: summarise this support ticket in two sentences.`;
}
export function promptNumber(text: string): number {
  return Number(/Prompt (\d+):/.exec(text)?.[1] ?? Number.NaN);
}

/** What somebody who always uses all of the limit would need, ms. */
export function idealMs(limit: Limit, prompts: number): number {
  if (limit.kind === 'concurrency') return (prompts * answerMsMean) / limit.atOnce;
  return ((prompts - limit.burst) * 1000) / limit.perSecond + answerMsMean;
}

/** So many at once use all of the limit: for a rate, Little's law. */
export function fitting(limit: Limit): number {
  return limit.kind === 'concurrency' ? limit.atOnce : (limit.perSecond * answerMsMean) / 1000;
}

/** One client's limit at the provider. */
export class Limiter {
  readonly #limit: Limit;
  readonly #now: () => number;
  #tokens: number;
  #filledAt: number;
  #running = 0;

  /** @param now a clock, ms. */
  constructor(limit: Limit, now: () => number) {
    this.#limit = limit;
    this.#now = now;
    this.#tokens = limit.kind === 'rate' ? limit.burst : 0;
    this.#filledAt = now();
  }

  /** Begin a request. @returns null, or after how many seconds to come back. */
  begin(): number | null {
    const waitSeconds = this.#limit.kind === 'rate' ? this.#take(this.#limit) : this.#enter(this.#limit);
    if (waitSeconds === null) this.#running += 1;
    return waitSeconds;
  }

  end(): void {
    this.#running -= 1;
  }

  #take({ perSecond, burst }: Extract<Limit, { kind: 'rate' }>): number | null {
    const now = this.#now();
    this.#tokens = Math.min(burst, this.#tokens + ((now - this.#filledAt) * perSecond) / 1000);
    this.#filledAt = now;
    if (this.#tokens < 1) return Math.ceil((1 - this.#tokens) / perSecond);
    this.#tokens -= 1;
    return null;
  }

  #enter({ atOnce }: Extract<Limit, { kind: 'concurrency' }>): number | null {
    return this.#running < atOnce ? null : 1;
  }
}
