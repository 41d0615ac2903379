/**
 * Schedules pieces of long work: one in each turn of the event loop, over all callers. With `nextTurn`, ten batches of
 * 5 ms each would together block all others for 50.
 */
export class Turns {
  readonly #waiting: (() => void)[] = [];

  /** Resolves when it is the caller's turn, in a later turn of the event loop. First come, first served. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#waiting.push(resolve) === 1) setImmediate(() => this.#give());
    });
  }

  #give(): void {
    this.#waiting.shift()?.();
    if (this.#waiting.length > 0) setImmediate(() => this.#give());
  }
}
