import type { Clock } from '../domain/clock.ts';
import { DeadlineHeap, type HeapNode } from '../lib/deadlineHeap.ts';

/** The timer runs at least this often, so that it is noticed when this process stood still, whatever was due. */
const tickMs = 500;
/** A sweep that runs this much later than planned means that this process stood still, not that others died. */
const stallMs = 1_000;
/** What a sweep sets for now comes so much later: one that sets itself again and again must not keep the sweep for ever. */
const afterSweepMs = 1;

export interface Deadline extends HeapNode {
  readonly run: () => void;
}

/**
 * Every deadline of the coordinator in one index, with one timer for the earliest: they are absolute, on the monotonic
 * clock, and survive nothing; whoever restores state sets them again. `setTimeout` per job would cost a timer each, and
 * the `after` transitions of a machine are lost when its snapshot is restored.
 */
export class Deadlines {
  readonly #clock: Clock;
  readonly #heap = new DeadlineHeap<Deadline>();
  readonly #onStall: (lateMs: number) => void;
  #timer: { at: number; cancel: () => void } | null = null;
  #isClosed = false;
  /** What was due until then is being run; monotonic ms. */
  #sweptUntil = Number.NEGATIVE_INFINITY;

  /** @param onStall called before a sweep that runs late because this process stood still: give fresh grace there. */
  constructor(clock: Clock, onStall: (lateMs: number) => void) {
    this.#clock = clock;
    this.#onStall = onStall;
  }

  /** Run `run` when the monotonic clock reaches `at`; never after the close. */
  set(at: number, run: () => void): Deadline {
    const deadline: Deadline = { at: Math.max(at, this.#sweptUntil + afterSweepMs), index: -1, run };
    if (this.#isClosed) return deadline;
    this.#heap.add(deadline);
    this.#arm();
    return deadline;
  }

  clear(deadline: Deadline | null): void {
    if (deadline !== null) this.#heap.remove(deadline);
  }

  /**
   * Notice now, not when the timer gets its turn, that this process stood still: after a stall the sockets may be read
   * first, and what they hold is old.
   */
  noticeStall(): void {
    if (this.#timer === null) return;
    const lateMs = this.#clock.monotonic() - this.#timer.at;
    if (lateMs <= stallMs) return;
    this.#onStall(lateMs);
    this.#timer.cancel();
    this.#timer = null;
    this.#arm();
  }

  /** Nothing runs any more: a change that the closed store refuses must not be tried for ever. */
  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
    this.#timer = null;
    for (let next = this.#heap.peek(); next !== undefined; next = this.#heap.peek()) this.#heap.remove(next);
  }

  #arm(): void {
    const next = this.#heap.peek();
    if (next === undefined) return;
    const at = Math.min(next.at, this.#clock.monotonic() + tickMs);
    if (this.#timer !== null) {
      if (this.#timer.at <= at) return;
      this.#timer.cancel();
    }
    const cancel = this.#clock.after(Math.max(0, Math.ceil(at - this.#clock.monotonic())), () =>
      this.#sweep(),
    );
    this.#timer = { at, cancel };
  }

  #sweep(): void {
    const now = this.#clock.monotonic();
    const lateMs = now - (this.#timer?.at ?? now);
    this.#timer = null;
    if (lateMs > stallMs) this.#onStall(lateMs);
    this.#sweptUntil = now;
    for (let next = this.#heap.peek(); next !== undefined && next.at <= now; next = this.#heap.peek()) {
      this.#heap.remove(next);
      next.run();
    }
    this.#sweptUntil = Number.NEGATIVE_INFINITY;
    this.#arm();
  }
}
