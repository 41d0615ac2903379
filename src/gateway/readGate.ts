/** A stream that can be paused. */
interface Readable {
  pause(): void;
  resume(): void;
}

/**
 * Pauses reading of a socket while the gate is held, so that TCP slows the other side. Several callers may hold it at
 * once, each for its own reason; unread data is not lost.
 */
export class ReadGate {
  readonly #socket: Readable;
  #holders = 0;

  constructor(socket: Readable) {
    this.#socket = socket;
  }

  get isHeld(): boolean {
    return this.#holders > 0;
  }

  /** @returns a function that releases it; a second call does nothing. */
  hold(): () => void {
    this.#holders += 1;
    if (this.#holders === 1) this.#socket.pause();
    let isHolding = true;
    return () => {
      if (!isHolding) return;
      isHolding = false;
      this.#holders -= 1;
      if (this.#holders === 0) this.#socket.resume();
    };
  }
}

/** A gate without a socket: for frames that arrive one by one, as in a test. */
export const openGate = new ReadGate({ pause() {}, resume() {} });
