/** Faults that are shown; a file with more has one mistake many times. */
const faultsShown = 10;

/** A file of jobs cannot be used. The message names every fault with its place. */
export class FileFault extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'FileFault';
  }
}

/** The faults of a file: it keeps the first ones and counts the others. */
export class Faults {
  readonly #shown: string[] = [];
  #count = 0;

  /** @param text `prompts.csv:3: has 4 cells; the header has 3`. */
  add(text: string): void {
    this.#count += 1;
    if (this.#shown.length < faultsShown) this.#shown.push(text);
  }

  get count(): number {
    return this.#count;
  }

  /** @throws FileFault when there are any. */
  throwIfAny(): void {
    if (this.#count === 0) return;
    const more = this.#count - this.#shown.length;
    throw new FileFault([...this.#shown, ...(more > 0 ? [`and ${more} more`] : [])].join('\n'));
  }
}
