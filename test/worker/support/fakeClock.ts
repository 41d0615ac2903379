import type { Clock } from '../../../src/domain/clock.ts';

interface Timer {
  at: number;
  task: () => void;
}

/** Time that passes only when a test says so. */
export class FakeClock implements Clock {
  #time = 0;
  readonly #timers = new Set<Timer>();
  #watchers: (() => void)[] = [];

  now(): number {
    return 1_800_000_000_000 + this.#time;
  }

  monotonic(): number {
    return this.#time;
  }

  after(delayMs: number, task: () => void): () => void {
    const timer = { at: this.#time + delayMs, task };
    this.#timers.add(timer);
    for (const watcher of this.#watchers.splice(0)) watcher();
    return () => this.#timers.delete(timer);
  }

  /** Milliseconds until the next timer; null when there is none. */
  get untilNext(): number | null {
    const due = [...this.#timers].map((timer) => timer.at - this.#time);
    return due.length > 0 ? Math.min(...due) : null;
  }

  /** Let `ms` pass; every timer due in it runs at its own time, in order. */
  advance(ms: number): void {
    const end = this.#time + ms;
    for (;;) {
      const next = [...this.#timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
      if (!next) break;
      this.#timers.delete(next);
      this.#time = Math.max(this.#time, next.at);
      next.task();
    }
    this.#time = end;
  }

  /** Resolves when somebody has set a timer that is due within `ms`; at once when one is. */
  async timerWithin(ms: number): Promise<void> {
    while ((this.untilNext ?? Number.POSITIVE_INFINITY) > ms) {
      await new Promise<void>((resolve) => this.#watchers.push(resolve));
    }
  }
}
