import type { Clock, Random } from '../../src/domain/clock.ts';
import { SimProcess, Timeline } from './timeline.ts';

/** A clock that only moves when a test moves it: the clock of one process in a virtual time of its own. */
export class FakeClock implements Clock {
  readonly #timeline: Timeline;
  readonly #process: SimProcess;
  #watchers: (() => void)[] = [];

  constructor(startsAt = Date.parse('2026-11-21T09:00:00Z')) {
    this.#timeline = new Timeline(startsAt);
    this.#process = new SimProcess(this.#timeline, 'test');
  }

  now(): number {
    return this.#process.clock.now();
  }

  monotonic(): number {
    return this.#process.clock.monotonic();
  }

  after(delayMs: number, task: () => void): () => void {
    // Unlike in a real process, 0 ms are none: tests count exact times.
    const cancel = this.#timeline.after(this.#process, delayMs, task);
    for (const watcher of this.#watchers.splice(0)) watcher();
    return cancel;
  }

  /** Move both clocks by `ms`; each timer runs at its own time, in order. */
  advance(ms: number): void {
    const until = this.#timeline.now + ms;
    while (this.#timeline.step(until));
    this.#timeline.now = Math.max(this.#timeline.now, until);
  }

  /** The process stood still for `ms`: timers run late, all at the end. */
  stall(ms: number): void {
    this.#process.freeze(this.#timeline.now + ms);
    this.advance(ms);
  }

  /** Time passes and no timer runs: the process stands still, and continues with what is in its sockets. */
  sleep(ms: number): void {
    this.#timeline.now += ms;
  }

  /** Set the wall clock; the monotonic one does not change. */
  jump(ms: number): void {
    this.#process.wallOffset += ms;
  }

  /** Milliseconds until the next timer; null when there is none. */
  get untilNext(): number | null {
    const next = this.#timeline.nextAt;
    return next === null ? null : next - this.#timeline.now;
  }

  /** Resolves when a timer is set that is due within `ms`; at once when there is one. */
  async timerWithin(ms: number): Promise<void> {
    while ((this.untilNext ?? Number.POSITIVE_INFINITY) > ms) {
      await new Promise<void>((resolve) => this.#watchers.push(resolve));
    }
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
