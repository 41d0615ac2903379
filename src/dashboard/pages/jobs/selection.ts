import { computed, signal } from '@preact/signals';

/** The selected jobs of a list: some by their ids, or all that match. */
export class Selection {
  readonly #ids = signal<ReadonlySet<string>>(new Set());
  readonly #isAll = signal(false);
  #last: number | null = null;

  readonly ids = computed(() => this.#ids.value);
  /** All that match, loaded or not. */
  readonly isAll = computed(() => this.#isAll.value);
  readonly isEmpty = computed(() => !this.#isAll.value && this.#ids.value.size === 0);

  has(id: string): boolean {
    return this.#isAll.value || this.#ids.value.has(id);
  }

  /**
   * Select or deselect a row.
   * @param reach with Shift: returns the ids of the rows from the last selected one.
   */
  toggle(index: number, id: string, reach: ((from: number, to: number) => string[]) | null): void {
    const ids = new Set(this.#isAll.peek() ? [] : this.#ids.peek());
    const isOn = !ids.has(id);
    const others = reach === null || this.#last === null ? [] : reach(...ordered(this.#last, index));
    for (const one of [...others, id]) {
      if (isOn) ids.add(one);
      else ids.delete(one);
    }
    this.#last = index;
    this.#isAll.value = false;
    this.#ids.value = ids;
  }

  setMany(ids: readonly string[]): void {
    this.#isAll.value = false;
    this.#ids.value = new Set(ids);
  }

  setAll(): void {
    this.#isAll.value = true;
  }

  clear(): void {
    this.#last = null;
    this.#isAll.value = false;
    this.#ids.value = new Set();
  }
}

function ordered(a: number, b: number): [number, number] {
  return a < b ? [a, b] : [b, a];
}
