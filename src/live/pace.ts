/** Events that follow within this time of others leave together with them: the eye sees no difference, the sockets do. */
const paceMs = 25;

/** Calls `run` soon, and again at most forty times a second. Only how often is its business, so it needs no clock. */
export class Pace {
  readonly #run: () => void;
  #ranAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor(run: () => void) {
    this.#run = run;
  }

  /** There is something to do. */
  soon(): void {
    if (this.#timer !== null || this.#isClosed) return;
    const waitMs = Math.max(0, this.#ranAt + paceMs - performance.now());
    this.#timer = setTimeout(() => this.#run(), waitMs);
  }

  /** It was done, by `run` or before its time. */
  done(): void {
    this.#ranAt = performance.now();
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  close(): void {
    this.done();
    this.#isClosed = true;
  }
}
