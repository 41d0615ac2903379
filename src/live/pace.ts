/** Events within this time are sent together: the eye sees no difference, the sockets do. */
const paceMs = 25;

/** Calls `run` soon, and at most forty times a second. Only its pace depends on time, so it needs no clock. */
export class Pace {
  readonly #run: () => void;
  #ranAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor(run: () => void) {
    this.#run = run;
  }

  /** Request a run. */
  soon(): void {
    if (this.#timer !== null || this.#isClosed) return;
    const waitMs = Math.max(0, this.#ranAt + paceMs - performance.now());
    this.#timer = setTimeout(() => this.#run(), waitMs);
  }

  /** A run has happened, by `run` or earlier. */
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
