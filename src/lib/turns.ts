/**
 * Gives pieces of long work their turns: one of them in each turn of the event loop, whoever asks. With `nextTurn` ten
 * batches that each work for 5 ms would together hold up everybody else for 50.
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
