/** Items a page holds: an item that outlives all others keeps 2 KiB. */
const pageSize = 256;

interface Page<T> {
  items: (T | undefined)[];
  count: number;
}

/**
 * Items by a number that only rises, in a fixed order, while older ones are removed. A page whose items are all removed
 * is freed: an array would keep 8 bytes for everything it ever held, a map costs five times that for each item.
 */
export class PagedList<T> {
  readonly #pages = new Map<number, Page<T>>();
  #size = 0;

  /** How many items it holds. */
  get size(): number {
    return this.#size;
  }

  get(index: number): T | undefined {
    return this.#pages.get(Math.floor(index / pageSize))?.items[index % pageSize];
  }

  /** Set or replace an item. */
  set(index: number, item: T): void {
    const number = Math.floor(index / pageSize);
    let page = this.#pages.get(number);
    if (page === undefined) {
      page = { items: [], count: 0 };
      this.#pages.set(number, page);
    }
    const place = index % pageSize;
    if (page.items[place] === undefined) {
      page.count += 1;
      this.#size += 1;
    }
    page.items[place] = item;
  }

  /** Remove an item. @returns whether it was there. */
  delete(index: number): boolean {
    const number = Math.floor(index / pageSize);
    const page = this.#pages.get(number);
    const place = index % pageSize;
    if (page?.items[place] === undefined) return false;
    page.items[place] = undefined;
    page.count -= 1;
    this.#size -= 1;
    if (page.count === 0) this.#pages.delete(number);
    return true;
  }

  /** All items with their numbers; in ascending order unless a page was started after a later one. */
  *entries(): Generator<[number, T]> {
    for (const [number, { items }] of this.#pages) {
      for (let place = 0; place < items.length; place += 1) {
        const item = items[place];
        if (item !== undefined) yield [number * pageSize + place, item];
      }
    }
  }
}
