import type { Message } from '../domain/job.ts';

/** Characters of a text in lists. */
const excerptMax = 500;
/** Characters in lists of messages, parameters and other values. */
const valueMax = 2_000;

/** The first 500 characters of a text, one less where that would split a character. */
export function excerptOf(text: string): string {
  return beginning(text, excerptMax);
}

/** Whether `excerptOf` cuts the text. */
export function isLong(text: string): boolean {
  return text.length > excerptMax;
}

/**
 * A JSON value cut to some 2,000 characters, keys included: each text in it to its first 500, and everything beyond the
 * limit omitted. The rest keeps its position and type.
 * @returns the value itself when it fits.
 */
export function shortened<T>(value: T): T {
  const cutter = new Cutter();
  const cut = cutter.cut(value);
  return cutter.hasCut ? (cut as T) : value;
}

/**
 * The messages of a chat cut as by `shortened`, with priority for the last ones, which contain the question. Each of
 * them keeps its role and its content.
 */
export function shortenedMessages(messages: Message[] | null): Message[] | null {
  const cutter = new Cutter();
  const cut = cutter.list(messages?.toReversed() ?? [], ({ role, content, ...rest }): Message => {
    return { role, content: cutter.cut(content), ...(cutter.cut(rest) as object) };
  });
  return cutter.hasCut ? cut.reverse() : messages;
}

function beginning(text: string, max: number): string {
  if (text.length <= max) return text;
  const isHigh = max > 0 && (text.charCodeAt(max - 1) & 0xfc00) === 0xd800;
  return text.slice(0, isHigh ? max - 1 : max);
}

class Cutter {
  hasCut = false;
  #left = valueMax;

  cut(value: unknown): unknown {
    if (typeof value === 'string') return this.#text(value);
    // For numbers, commas and brackets.
    this.#left -= 8;
    if (typeof value !== 'object' || value === null) return value;
    return Array.isArray(value) ? this.list(value, (item) => this.cut(item)) : this.#object(value);
  }

  list<T, R>(items: readonly T[], cutItem: (item: T) => R): R[] {
    const cut: R[] = [];
    for (const item of items) {
      if (this.#isFull(0)) break;
      cut.push(cutItem(item));
    }
    return cut;
  }

  #object(object: object): object {
    const members: [string, unknown][] = [];
    for (const [key, member] of Object.entries(object)) {
      if (this.#isFull(key.length)) break;
      this.#left -= key.length + 4;
      members.push([key, this.cut(member)]);
    }
    return Object.fromEntries(members);
  }

  #text(text: string): string {
    const cut = beginning(text, Math.max(0, Math.min(this.#left, excerptMax)));
    if (cut.length < text.length) this.hasCut = true;
    this.#left -= cut.length + 2;
    return cut;
  }

  #isFull(needed: number): boolean {
    if (this.#left > needed) return false;
    this.hasCut = true;
    return true;
  }
}
