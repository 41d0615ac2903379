import type { Clock } from '../../src/domain/clock.ts';
import { Heap } from '../../src/lib/heap.ts';
import { nextTurn } from '../../src/lib/nextTurn.ts';

/** Turns of the real event loop after each event: what it set off in microtasks and immediates comes to rest. */
const turnsPerEvent = 2;

/** Wall time at the begin of a timeline, unless given. */
const usualEpoch = Date.parse('2026-11-20T22:00:00Z');

interface Event {
  at: number;
  /** Of events at one time the one that was set first comes first. */
  order: number;
  process: SimProcess;
  task: (() => void) | null;
}

/**
 * A process of the simulated world: a coordinator or a worker from its start to its end, or the world itself. All that
 * happens in it goes through `after`; when it is dead nothing happens any more, and what its promises wait for never comes.
 */
export class SimProcess {
  readonly name: string;
  readonly clock: Clock;
  /** How far its wall clock is off, ms. */
  wallOffset = 0;
  #frozenUntil = 0;
  #isAlive = true;

  constructor(timeline: Timeline, name: string) {
    this.name = name;
    const beganAt = timeline.now;
    this.clock = {
      now: () => Math.floor(timeline.epoch + timeline.now + this.wallOffset),
      monotonic: () => timeline.now - beganAt,
      after: (delayMs, task) => timeline.after(this, Math.max(1, delayMs), task),
    };
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  end(): void {
    this.#isAlive = false;
  }

  /** It stands still until then (SIGSTOP, a blocked loop): what is due waits. */
  freeze(until: number): void {
    this.#frozenUntil = Math.max(this.#frozenUntil, until);
  }

  get frozenUntil(): number {
    return this.#frozenUntil;
  }
}

/** Virtual time: events in order, each followed by whatever it sets off. Nothing of it depends on real time. */
export class Timeline {
  /** Wall time at its begin, epoch milliseconds. */
  readonly epoch: number;
  /** Milliseconds since the begin. */
  now = 0;
  /** Events that were run. */
  count = 0;
  #order = 0;
  readonly #events = new Heap<Event>((a, b) => a.at < b.at || (a.at === b.at && a.order < b.order));

  constructor(epoch = usualEpoch) {
    this.epoch = epoch;
  }

  /** When the next event is due, ms since the begin; null when there is none. */
  get nextAt(): number | null {
    const event = this.#take();
    if (event !== undefined) this.#events.push(event);
    return event?.at ?? null;
  }

  /** Run `task` in a process, `delayMs` from now. The returned function takes it back. */
  after(process: SimProcess, delayMs: number, task: () => void): () => void {
    if (!process.isAlive) return () => {};
    const event: Event = { at: this.now + delayMs, order: this.#nextOrder(), process, task };
    this.#events.push(event);
    return () => {
      event.task = null;
    };
  }

  /** Resolves `delayMs` from now, never if the process is dead by then. */
  wait(process: SimProcess, delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      this.after(process, delayMs, resolve);
    });
  }

  /** Run the next event if it is due by then. @returns whether there was one. */
  step(until: number): boolean {
    const event = this.#take();
    if (event === undefined) return false;
    if (event.at > until) {
      this.#events.push(event);
      return false;
    }
    this.now = Math.max(this.now, event.at);
    this.count += 1;
    event.task?.();
    return true;
  }

  /** Run what is due until the time has come, or until `isDone`; each event is followed by what it sets off. */
  async run(until: number, isDone: () => boolean = () => false): Promise<void> {
    await this.#settle();
    while (!isDone()) {
      if (!this.step(until)) {
        // Where nothing is left to happen, time stays where it was.
        if (this.nextAt !== null) this.now = until;
        return;
      }
      await this.#settle();
    }
  }

  /** Take out the next event that will happen; those that were withdrawn, or whose process is dead, are dropped. */
  #take(): Event | undefined {
    for (let event = this.#events.pop(); event !== undefined; event = this.#events.pop()) {
      if (event.task === null || !event.process.isAlive) continue;
      if (event.process.frozenUntil <= event.at) return event;
      event.at = event.process.frozenUntil;
      event.order = this.#nextOrder();
      this.#events.push(event);
    }
    return undefined;
  }

  async #settle(): Promise<void> {
    for (let turn = 0; turn < turnsPerEvent; turn += 1) await nextTurn();
  }

  #nextOrder(): number {
    this.#order += 1;
    return this.#order;
  }
}
