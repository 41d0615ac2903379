/** A binary heap: the smallest of what was pushed comes out first, in O(log n). Equal ones come out in any order. */
export class Heap<T> {
  readonly #items: T[] = [];
  readonly #isLess: (a: T, b: T) => boolean;

  /** @param isLess whether `a` comes out before `b`. */
  constructor(isLess: (a: T, b: T) => boolean) {
    this.#isLess = isLess;
  }

  /** How many items it holds. */
  get size(): number {
    return this.#items.length;
  }

  /** Put one in. */
  push(item: T): void {
    const items = this.#items;
    let place = items.length;
    items.push(item);
    while (place > 0) {
      const parent = (place - 1) >>> 1;
      if (!this.#isLess(item, items[parent] as T)) break;
      items[place] = items[parent] as T;
      place = parent;
    }
    items[place] = item;
  }

  /** Take the smallest out; undefined when it is empty. */
  pop(): T | undefined {
    const items = this.#items;
    const top = items[0];
    const item = items.pop();
    if (item === undefined || items.length === 0) return top;
    let place = 0;
    for (;;) {
      let child = 2 * place + 1;
      if (child >= items.length) break;
      if (child + 1 < items.length && this.#isLess(items[child + 1] as T, items[child] as T)) child += 1;
      if (!this.#isLess(items[child] as T, item)) break;
      items[place] = items[child] as T;
      place = child;
    }
    items[place] = item;
    return top;
  }
}
