const slotsAtFirst = 1024;
/** Share of slots in use at which the table grows: a search looks at less than two slots in the mean. */
const fullest = 0.6;

/**
 * Finds numbers by their texts, which are kept elsewhere: a map of a million ids takes 1.4 µs for each new one while a store
 * opens and 60 bytes, this takes 0.2 µs and 20 to 40 bytes. Texts are expected not to be made to collide: those are of
 * this process.
 */
export class TextIndex {
  readonly #textOf: (number: number) => string;
  #hashes = new Uint32Array(slotsAtFirst);
  /** 0: the slot is free. Not 32 bits: numbers may be larger. */
  #numbers = new Float64Array(slotsAtFirst);
  #count = 0;

  /** @param textOf the text of a number that was added. */
  constructor(textOf: (number: number) => string) {
    this.#textOf = textOf;
  }

  /** @returns the number of the text; 0 when there is none. */
  get(text: string): number {
    const hash = hashOf(text);
    const mask = this.#numbers.length - 1;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const number = this.#numbers[slot] as number;
      if (number === 0 || (this.#hashes[slot] === hash && this.#textOf(number) === text)) return number;
    }
  }

  /** Add a number above 0 that is not there yet, as its text is not. */
  add(text: string, number: number): void {
    if (this.#count >= this.#numbers.length * fullest) this.#grow();
    this.#put(hashOf(text), number);
    this.#count += 1;
  }

  /** Remove a number, if it is there with this text. */
  remove(text: string, number: number): void {
    const mask = this.#numbers.length - 1;
    let slot = hashOf(text) & mask;
    while (this.#numbers[slot] !== number) {
      if (this.#numbers[slot] === 0) return;
      slot = (slot + 1) & mask;
    }
    this.#count -= 1;
    // Close the gap, so that no search ends at it: entries after it move up unless they are where they belong.
    let gap = slot;
    for (let next = (slot + 1) & mask; this.#numbers[next] !== 0; next = (next + 1) & mask) {
      const home = (this.#hashes[next] as number) & mask;
      if (((next - home) & mask) < ((next - gap) & mask)) continue;
      this.#numbers[gap] = this.#numbers[next] as number;
      this.#hashes[gap] = this.#hashes[next] as number;
      gap = next;
    }
    this.#numbers[gap] = 0;
  }

  #put(hash: number, number: number): void {
    const mask = this.#numbers.length - 1;
    let slot = hash & mask;
    while (this.#numbers[slot] !== 0) slot = (slot + 1) & mask;
    this.#hashes[slot] = hash;
    this.#numbers[slot] = number;
  }

  #grow(): void {
    const hashes = this.#hashes;
    const numbers = this.#numbers;
    this.#hashes = new Uint32Array(hashes.length * 2);
    this.#numbers = new Float64Array(numbers.length * 2);
    for (let slot = 0; slot < numbers.length; slot += 1)
      if (numbers[slot] !== 0) this.#put(hashes[slot] as number, numbers[slot] as number);
  }
}

/** FNV-1a with a last mix, so that its low bits depend on all characters. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  hash ^= hash >>> 15;
  hash = Math.imul(hash, 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}
