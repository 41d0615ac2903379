/** Gathers what comes in one turn of the event loop, from all who have something, and hands it over at the turn's end. */
export class Gathered<T> {
  readonly #take: (items: T[]) => void;
  #items: T[] = [];

  constructor(take: (items: T[]) => void) {
    this.#take = take;
  }

  add(item: T): void {
    if (this.#items.push(item) === 1) setImmediate(() => this.#give());
  }

  #give(): void {
    const items = this.#items;
    this.#items = [];
    this.#take(items);
  }
}
