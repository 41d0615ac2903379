import type { Clock, Random } from '../../src/domain/clock.ts';

interface Timer {
  at: number;
  task: () => void;
}

/** A clock that stands still until it is turned by hand. */
export class FakeClock implements Clock {
  #now: number;
  #monotonic = 0;
  readonly #timers = new Set<Timer>();
  #watchers: (() => void)[] = [];

  constructor(startsAt = Date.parse('2026-11-21T09:00:00Z')) {
    this.#now = startsAt;
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  after(delayMs: number, task: () => void): () => void {
    const timer = { at: this.#monotonic + delayMs, task };
    this.#timers.add(timer);
    for (const watcher of this.#watchers.splice(0)) watcher();
    return () => this.#timers.delete(timer);
  }

  /** Turn both clocks on by `ms`; every timer runs at its own time, in order. */
  advance(ms: number): void {
    const end = this.#monotonic + ms;
    for (let next = this.#first(end); next !== undefined; next = this.#first(end)) {
      this.#timers.delete(next);
      this.#move(next.at);
      next.task();
    }
    this.#move(end);
  }

  /** The process stood still for `ms`: timers run late, all at the end. */
  stall(ms: number): void {
    this.#move(this.#monotonic + ms);
    for (let next = this.#first(this.#monotonic); next !== undefined; next = this.#first(this.#monotonic)) {
      this.#timers.delete(next);
      next.task();
    }
  }

  /** Time passes and no timer runs: the process stands still, and goes on with what is in its sockets. */
  sleep(ms: number): void {
    this.#move(this.#monotonic + ms);
  }

  /** Somebody set the wall clock; the monotonic one does not know. */
  jump(ms: number): void {
    this.#now += ms;
  }

  /** Milliseconds until the next timer; null when there is none. */
  get untilNext(): number | null {
    const next = this.#first(Number.POSITIVE_INFINITY);
    return next === undefined ? null : next.at - this.#monotonic;
  }

  /** Resolves when somebody has set a timer that is due within `ms`; at once when one is. */
  async timerWithin(ms: number): Promise<void> {
    while ((this.untilNext ?? Number.POSITIVE_INFINITY) > ms) {
      await new Promise<void>((resolve) => this.#watchers.push(resolve));
    }
  }

  #first(until: number): Timer | undefined {
    return [...this.#timers].filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)[0];
  }

  #move(to: number): void {
    if (to <= this.#monotonic) return;
    this.#now += to - this.#monotonic;
    this.#monotonic = to;
  }
}

/** The same numbers in every run (mulberry32). */
export function seededRandom(seed = 1): Random {
  let state = seed;
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return { next, bytes: (size) => Uint8Array.from({ length: size }, () => Math.floor(next() * 256)) };
}
