const quote = 0x22;
const backslash = 0x5c;

/** The limits of a JSON text. */
export interface JsonLimits {
  /** Levels of nesting. */
  depth: number;
  /** Lists, objects and the commas in them. `JSON.parse` needs at least 20 bytes and some 0.2 µs for each. */
  members: number;
  /** Characters outside of strings: blanks, and the digits of numbers. */
  plain: number;
}

/**
 * Which limit a JSON text exceeds, checked before it is parsed: `JSON.parse` accepts 16 MiB of `{},{},…` or of distinct
 * keys and needs seconds and gigabytes for them. One pass, at most 20 ms for 16 MiB: it ends at the first limit, and
 * skips strings.
 */
export function exceededLimit(text: string, limits: JsonLimits): keyof JsonLimits | null {
  let depth = 0;
  let members = 0;
  let plain = 0;
  for (let index = 0; index < text.length; index += 1) {
    switch (text.charCodeAt(index)) {
      case quote:
        index = endOfString(text, index);
        break;
      case 0x5b: // [
      case 0x7b: // {
        depth += 1;
        if (depth > limits.depth) return 'depth';
        members += 1;
        if (members > limits.members) return 'members';
        break;
      case 0x2c: // ,
        members += 1;
        if (members > limits.members) return 'members';
        break;
      case 0x5d: // ]
      case 0x7d: // }
        depth -= 1;
        break;
      default:
        plain += 1;
        if (plain > limits.plain) return 'plain';
    }
  }
  return null;
}

/**
 * Whether a JSON text nests deeper than `max`. `JSON.parse` takes any depth, but everything that walks the value afterwards
 * recurses and would overflow the stack.
 */
export function isDeeperThan(text: string, max: number): boolean {
  const none = Number.POSITIVE_INFINITY;
  return exceededLimit(text, { depth: max, members: none, plain: none }) !== null;
}

/**
 * The index of the quote that ends the string starting at `start`; the end of the text when there is none. It skips a
 * string without escapes at once, and walks through one with escapes from the first of them.
 */
function endOfString(text: string, start: number): number {
  const end = text.indexOf('"', start + 1);
  if (end < 0) return text.length;
  if (text.charCodeAt(end - 1) !== backslash) return end;
  let index = end - 1;
  while (index > start + 1 && text.charCodeAt(index - 1) === backslash) index -= 1;
  for (; index < text.length; index += 1) {
    const character = text.charCodeAt(index);
    if (character === backslash) index += 1;
    else if (character === quote) return index;
  }
  return text.length;
}
