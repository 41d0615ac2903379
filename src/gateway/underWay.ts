import { openGate, type ReadGate } from './readGate.ts';

/** Bytes of frames, of one worker and of all, whose outcome is not durable yet; beyond them reading pauses. */
const ofOneMax = 16 * 1024 * 1024;
const ofAllMax = 256 * 1024 * 1024;

/** Bytes of all connections together. */
export class UnderWay {
  bytes = 0;
}

/**
 * Bounds the frames of one worker that are being processed: outcomes stay in memory until they are on disk, even
 * duplicates. Reading resumes when enough of them are done.
 */
export class OwnUnderWay {
  readonly #gate: ReadGate;
  readonly #all: UnderWay;
  #bytes = 0;
  #open: (() => void) | null = null;

  constructor(gate: ReadGate = openGate, all: UnderWay = new UnderWay()) {
    this.#gate = gate;
    this.#all = all;
  }

  /** Count a frame until `work` has settled. */
  async during(bytes: number, work: Promise<unknown>): Promise<void> {
    this.#count(bytes);
    try {
      await work;
    } finally {
      this.#count(-bytes);
    }
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    this.#all.bytes += bytes;
    const isTooMuch = this.#bytes > ofOneMax || (this.#bytes > 0 && this.#all.bytes > ofAllMax);
    if (isTooMuch) this.#open ??= this.#gate.hold();
    else {
      this.#open?.();
      this.#open = null;
    }
  }
}
