/** The label of everything without its own. */
export const other = 'other';

/** Values of a label, up to a bound: each is a set of time series for as long as a scraper keeps them. */
export class BoundedLabel {
  readonly #max: number;
  readonly #taken = new Set<string>();

  constructor(max: number) {
    this.#max = max;
  }

  has(value: string): boolean {
    return this.#taken.has(value);
  }

  of(value: string): string {
    if (this.#taken.has(value)) return value;
    if (this.#taken.size >= this.#max) return other;
    this.#taken.add(value);
    return value;
  }
}

/** Children of metrics, one for each combination of labels, so that the labels are combined once. */
export class Children<T> {
  readonly #make: (...labels: string[]) => T;
  readonly #known = new Map<string, T>();

  /** @param make called once for each combination; the caller bounds their number. */
  constructor(make: (...labels: string[]) => T) {
    this.#make = make;
  }

  of(...labels: string[]): T {
    const key = labels.join('\n');
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const child = this.#make(...labels);
    this.#known.set(key, child);
    return child;
  }
}
