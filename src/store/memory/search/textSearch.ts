/* Search for a text in prompts of any length without blocking the event loop. Independent of jobs. */

import { ownTurn } from '../../../lib/nextTurn.ts';

/**
 * Comparisons of two characters in one turn of the event loop. At worst every character of a prompt is compared with
 * the whole search text, in some 0.1 ns each: about 1 ms.
 */
const comparisonsPerTurn = 8_000_000;

/**
 * A case-insensitive search for a text: two characters are equal when their simple case folding is (Unicode,
 * CaseFolding.txt), so `K` finds the Kelvin sign too.
 */
export class TextSearch {
  /** Characters that fit into one turn of the event loop. */
  readonly charactersPerTurn: number;
  readonly #length: number;
  readonly #pattern: RegExp;

  /**
   * @param text at most a few hundred characters: at worst the work is that many times the length of the searched text.
   */
  constructor(text: string) {
    this.#length = text.length;
    this.charactersPerTurn = Math.ceil(comparisonsPerTurn / Math.max(1, text.length));
    // A case-insensitive expression copies nothing, unlike toLowerCase.
    this.#pattern = new RegExp(text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), 'iu');
  }

  /** Whether `text` contains it, in one go: for texts of up to `charactersPerTurn`. */
  isIn(text: string): boolean {
    return this.#pattern.test(text);
  }

  /** Whether a text of any length contains it; the event loop gets turns meanwhile. */
  async isInLong(text: string): Promise<boolean> {
    for (let from = 0; from < text.length; from += this.charactersPerTurn) {
      if (from > 0) await ownTurn();
      // The next part starts before this one ends, so that a match across the border is found. No part starts or ends
      // between the halves of a surrogate pair: half of a character is none.
      const begin = isInsidePair(text, from) ? from - 1 : from;
      const end = from + this.charactersPerTurn + this.#length - 1;
      if (this.isIn(text.slice(begin, isInsidePair(text, end) ? end + 1 : end))) return true;
    }
    return false;
  }
}

/** Whether the character at `index` is the second half of a surrogate pair. */
function isInsidePair(text: string, index: number): boolean {
  if (index <= 0 || index >= text.length) return false;
  return (text.charCodeAt(index) & 0xfc00) === 0xdc00 && (text.charCodeAt(index - 1) & 0xfc00) === 0xd800;
}
