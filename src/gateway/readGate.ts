/** What can be read of, or not. */
interface Readable {
  pause(): void;
  resume(): void;
}

/**
 * Stops reading a socket for as long as anybody holds the gate, so that TCP slows the other side. Several may hold it at once,
 * each for a reason of its own; what is not read is not lost.
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

  /** @returns what lets go of it; a second call does nothing. */
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

/** A gate that nobody needs: frames come one by one, as in a test. */
export const openGate = new ReadGate({ pause() {}, resume() {} });
