import { hash } from 'node:crypto';

const slotsAtFirst = 1024;
/** Filled slots at which the table grows: then a search looks at two slots in the mean. */
const fullest = 0.6;

/**
 * Which line has an id. It keeps 64 bits of the hash of each id and its line, 20 to 40 bytes together, so that a file may
 * have many millions of lines. Two different ids among 10 million are taken for the same with a chance of 1 in 400,000.
 */
export class IdTable {
  #high = new Uint32Array(slotsAtFirst);
  #low = new Uint32Array(slotsAtFirst);
  /** 0: the slot is free. */
  #lines = new Uint32Array(slotsAtFirst);
  #count = 0;

  /** @returns the line that has the id already, from 1; null when it is new, and it is added then. */
  add(id: string, line: number): number | null {
    const digest = hash('sha256', id, 'buffer');
    return this.#put(digest.readUInt32LE(0), digest.readUInt32LE(4), line);
  }

  #put(high: number, low: number, line: number): number | null {
    const mask = this.#lines.length - 1;
    let slot = high & mask;
    for (; this.#lines[slot] !== 0; slot = (slot + 1) & mask)
      if (this.#high[slot] === high && this.#low[slot] === low) return this.#lines[slot] ?? null;
    this.#high[slot] = high;
    this.#low[slot] = low;
    this.#lines[slot] = line;
    this.#count += 1;
    if (this.#count > this.#lines.length * fullest) this.#grow();
    return null;
  }

  #grow(): void {
    const [highs, lows, lines] = [this.#high, this.#low, this.#lines];
    const size = lines.length * 2;
    this.#high = new Uint32Array(size);
    this.#low = new Uint32Array(size);
    this.#lines = new Uint32Array(size);
    this.#count = 0;
    for (const [slot, line] of lines.entries())
      if (line !== 0) this.#put(highs[slot] ?? 0, lows[slot] ?? 0, line);
  }
}
