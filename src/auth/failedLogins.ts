import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { networkOf } from '../lib/clientAddress.ts';

const windowSeconds = 60;
/** Sources that are counted at once; beyond it the one that was refused longest ago is forgotten. */
const sourcesMax = 10_000;

const unlimited = { waitMs: 0, isFirst: false };

/** A key or ticket that was refused. */
export interface Refusal {
  /** An address, or the network of one. */
  source: string;
  /** Whether it has had too many. */
  isLimited: boolean;
  /** Whether it is the first that was one too many. */
  isFirst: boolean;
}

/**
 * Counts refused keys by where they come from. Only who is refused comes here: a valid key costs nothing, and is taken
 * from an address that guesses as from any other. A key has 160 random bits and is not guessed, but an address may be
 * shared (a proxy, a network behind one router), and shutting it out would let one of its users shut out all.
 */
export class FailedLogins {
  readonly #perMinuteNow: () => number;
  readonly #windowSeconds: number;
  readonly #onRefused: (refusal: Refusal) => void;
  /** Oldest refusal first. */
  readonly #sources = new Set<string>();
  #limiter: RateLimiterMemory | null = null;
  #perMinute = 0;

  /**
   * @param options.perMinute asked at every refusal; 0: nothing is counted.
   * @param options.onRefused called for each.
   * @param options.windowSeconds 60 by default.
   */
  constructor(options: {
    perMinute: () => number;
    onRefused: (refusal: Refusal) => void;
    windowSeconds?: number;
  }) {
    this.#perMinuteNow = options.perMinute;
    this.#onRefused = options.onRefused;
    this.#windowSeconds = options.windowSeconds ?? windowSeconds;
  }

  /** How many sources are remembered: at most 10,000. */
  get size(): number {
    return this.#sources.size;
  }

  /**
   * Count a refused key.
   * @param address of the client; an IPv6 address stands for its /64.
   * @returns 0, or for how many seconds it has used up what it may.
   */
  async count(address: string): Promise<number> {
    const source = networkOf(address);
    const perMinute = this.#perMinuteNow();
    const { waitMs, isFirst } = perMinute === 0 ? unlimited : await this.#take(source, perMinute);
    this.#onRefused({ source, isLimited: waitMs > 0, isFirst });
    return waitMs === 0 ? 0 : Math.max(1, Math.ceil(waitMs / 1000));
  }

  async #take(source: string, perMinute: number): Promise<{ waitMs: number; isFirst: boolean }> {
    const limiter = this.#limiterOf(perMinute);
    await this.#remember(source, limiter);
    try {
      await limiter.consume(source);
      return unlimited;
    } catch (refusal) {
      // The library throws its answer when there is nothing left, and an Error when something is wrong.
      if (!(refusal instanceof RateLimiterRes)) throw refusal;
      return { waitMs: Math.max(1, refusal.msBeforeNext), isFirst: refusal.consumedPoints === perMinute + 1 };
    }
  }

  #limiterOf(perMinute: number): RateLimiterMemory {
    if (this.#limiter === null || perMinute !== this.#perMinute) {
      this.#perMinute = perMinute;
      this.#sources.clear();
      this.#limiter = new RateLimiterMemory({ points: perMinute, duration: this.#windowSeconds });
    }
    return this.#limiter;
  }

  /** The library forgets a source when its minute is over; a flood from many addresses must not wait for that. */
  async #remember(source: string, limiter: RateLimiterMemory): Promise<void> {
    this.#sources.delete(source);
    this.#sources.add(source);
    const [oldest] = this.#sources.size > sourcesMax ? this.#sources : [];
    if (oldest === undefined) return;
    this.#sources.delete(oldest);
    await limiter.delete(oldest);
  }
}
