import type { Principal } from '../domain/key.ts';
import type { BoundConnection, Exchange } from '../lib/connections.ts';

/**
 * A connection that a front serves, as the core counts it among its own. It is also the dispatch that is under way on it:
 * it has one at a time, and none yet while nobody is its principal.
 */
export class HeldConnection implements BoundConnection, Exchange {
  readonly number: number;
  /** The front bounds what its client does not read: a response of 16 KiB at most. */
  readonly writableLength = 0;
  principal: Principal;
  isOver = true;
  readonly #cut: (number: number) => void;

  constructor(number: number, principal: Principal, cut: (number: number) => void) {
    this.number = number;
    this.principal = principal;
    this.#cut = cut;
  }

  setTimeout(): void {}

  destroy(): void {
    this.#cut(this.number);
  }

  /** Its key has ended while the job is being made: whether it is made, the client learns as after any broken connection. */
  refuse(): void {
    this.destroy();
  }
}
