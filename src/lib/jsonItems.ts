/** Where something stands in a buffer: byte offsets, the end exclusive. */
export interface Span {
  start: number;
  end: number;
}

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;
const newline = 0x0a;

const isSpace = (byte: number | undefined): boolean =>
  byte === 0x20 || byte === 0x09 || byte === newline || byte === 0x0d;
const isOpening = (byte: number | undefined): boolean => byte === 0x7b || byte === 0x5b;
const isClosing = (byte: number | undefined): boolean => byte === 0x7d || byte === 0x5d;

/**
 * Find the items of the list that is the member `name` of a JSON object, without parsing them, so that a caller can
 * parse one after the other and give way in between. What it yields are the texts between the commas: whether each is
 * JSON shows when it is parsed, and so does whether the rest is.
 * @returns the text with that list left empty; JSON.parse of it says what else is there and whether it is well formed.
 * Whatever was not found, or stands there a second time, is still in it.
 */
export function* jsonItems(bytes: Buffer, name: string): Generator<Span, string> {
  const list = startOfList(bytes, Buffer.from(JSON.stringify(name)));
  if (list === null) return bytes.toString();
  let start = list;
  let depth = 0;
  let at = list;
  for (; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === quote) at = endOfString(bytes, at);
    else if (isOpening(byte)) depth += 1;
    else if (byte === comma && depth === 0) {
      yield { start, end: at };
      start = at + 1;
    } else if (isClosing(byte)) {
      depth -= 1;
      if (depth < 0) break;
    }
  }
  const last = { start, end: at };
  if (start > list || !isBlank(bytes, last)) yield last;
  return bytes.toString('utf8', 0, list) + bytes.toString('utf8', at);
}

/** The lines of a text, without those that are blank; `index` counts all of them. */
export function* lines(bytes: Buffer): Generator<Span & { index: number }, undefined> {
  let start = 0;
  for (let index = 0; start < bytes.length; index += 1) {
    const found = bytes.indexOf(newline, start);
    const end = found < 0 ? bytes.length : found;
    if (!isBlank(bytes, { start, end })) yield { start, end, index };
    start = end + 1;
  }
}

/** The offset after the `[` of a member of the outermost object; null when there is none. @param key with its quotes. */
function startOfList(bytes: Buffer, key: Buffer): number | null {
  let depth = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === quote) {
      const end = endOfString(bytes, at);
      if (depth === 1 && bytes.compare(key, 0, key.length, at, Math.min(end + 1, bytes.length)) === 0) {
        const after = skipSpace(bytes, end + 1);
        const value = skipSpace(bytes, after + 1);
        if (bytes[after] === colon && bytes[value] === 0x5b) return value + 1;
      }
      at = end;
    } else if (isOpening(byte)) depth += 1;
    else if (isClosing(byte)) depth -= 1;
  }
  return null;
}

/** The offset of the quote that ends the string which begins at `at`; the end of the buffer when none does. */
function endOfString(bytes: Buffer, at: number): number {
  for (let end = bytes.indexOf(quote, at + 1); end >= 0; end = bytes.indexOf(quote, end + 1)) {
    let slashes = 0;
    while (bytes[end - 1 - slashes] === backslash) slashes += 1;
    if (slashes % 2 === 0) return end;
  }
  return bytes.length;
}

function skipSpace(bytes: Buffer, at: number): number {
  let next = at;
  while (isSpace(bytes[next])) next += 1;
  return next;
}

function isBlank(bytes: Buffer, { start, end }: Span): boolean {
  return skipSpace(bytes, start) >= end;
}
