import { stallMs } from '../../../machines/supervisorMachine.ts';
import type { Clock } from '../../domain/clock.ts';
import { DeadlineHeap, type HeapNode } from '../../lib/deadlineHeap.ts';

/** The timer runs at least this often, so that it is noticed when this process stood still, whatever was due. */
const tickMs = 500;
/** What a sweep sets for now comes so much later: one that sets itself again and again must not keep the sweep for ever. */
const afterSweepMs = 1;

/** Who decides what follows when a timer has run. `lateMs`: later than it was set to. */
export interface DeadlineWatch {
  /** Deadlines may be due: sweep, and give grace first when this process stood still. */
  deadlineReached(lateMs: number): void;
  /** This process stood still, and that was noticed before the timer ran. */
  stallNoticed(lateMs: number): void;
}

export interface Deadline extends HeapNode {
  readonly run: () => void;
}

/**
 * Every deadline of the coordinator in one index, with one timer for the earliest: they are absolute, on the monotonic
 * clock, and do not survive a restart; what restores state sets them again. `setTimeout` per job would cost a timer each, and
 * the `after` transitions of a machine are lost when its snapshot is restored.
 */
export class Deadlines {
  readonly #clock: Clock;
  readonly #heap = new DeadlineHeap<Deadline>();
  readonly #watch: DeadlineWatch;
  #timer: { at: number; cancel: () => void } | null = null;
  #isClosed = false;
  /** What was due until then is being run; monotonic ms. */
  #sweptUntil = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, watch: DeadlineWatch) {
    this.#clock = clock;
    this.#watch = watch;
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
    this.#watch.stallNoticed(lateMs);
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
    const delayMs = Math.max(0, Math.ceil(at - this.#clock.monotonic()));
    this.#timer = { at, cancel: this.#clock.after(delayMs, () => this.#look(at)) };
  }

  /** The timer that was set to `at` has run, for a deadline or only to notice a stall. */
  #look(at: number): void {
    const now = this.#clock.monotonic();
    const next = this.#heap.peek();
    this.#timer = null;
    if (now - at > stallMs || (next !== undefined && next.at <= now)) this.#watch.deadlineReached(now - at);
    else this.#arm();
  }

  /** Run whatever is due, and set the timer to what comes next. */
  sweep(): void {
    const now = this.#clock.monotonic();
    this.#sweptUntil = now;
    for (let next = this.#heap.peek(); next !== undefined && next.at <= now; next = this.#heap.peek()) {
      this.#heap.remove(next);
      next.run();
    }
    this.#sweptUntil = Number.NEGATIVE_INFINITY;
    this.#arm();
  }
}
