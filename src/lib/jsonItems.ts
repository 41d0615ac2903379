import { JsonScan } from './jsonScan.ts';

/** A text in a buffer (byte offsets, the end exclusive), and what `JsonScan` found in it. */
export interface Item {
  start: number;
  end: number;
  /** Its index among the items; for a line, among all lines. */
  index: number;
  deepest: number;
  members: number;
  values: number;
}

const quote = 0x22;
const backslash = 0x5c;
const colon = 0x3a;
const comma = 0x2c;
const newline = 0x0a;
const openingBracket = 0x5b;
/** Pause after this many bytes, some 0.3 ms, so that the caller can yield. */
const partBytes = 256 * 1024;
/** Bytes allowed outside of the list, without blanks: far more than a wrong name needs. */
const outsideBytesMax = 64 * 1024;

const isSpace = (byte: number | undefined): boolean =>
  byte === 0x20 || byte === 0x09 || byte === newline || byte === 0x0d;

/**
 * Find the items of the list that is the member `name` of a JSON object, without parsing them, so that a caller can
 * parse one after the other and yield in between. It yields the texts between the commas, and null for a pause; whether
 * each is JSON, and whether the rest is, shows when it is parsed. It looks at each byte once.
 * @returns the text with that list emptied and blanks removed; JSON.parse of it shows what else is there and whether it
 * is well formed. A list that was not found, or is there a second time, is still in it. null when the text is longer
 * than 64 KiB.
 */
export function* jsonItems(bytes: Buffer, name: string): Generator<Item | null, string | null> {
  const before = yield* outside(bytes, 0, JSON.stringify(name));
  if (before === null || !before.isList) return before?.text ?? null;
  const scan = new JsonScan();
  let index = 0;
  let start = before.end;
  let at = before.end;
  for (let isOpen = true; isOpen && at < bytes.length; ) {
    const part = bytes.subarray(at, at + partBytes);
    let stop = scan.next(part, 0);
    while (part[stop] === comma) {
      yield itemOf(scan, start, at + stop, index);
      scan.reset();
      index += 1;
      start = at + stop + 1;
      stop = scan.next(part, stop + 1);
    }
    isOpen = stop === part.length;
    at += stop;
    yield null;
  }
  if (index > 0 || (yield* skipSpace(bytes, start, at)) < at) yield itemOf(scan, start, at, index);
  const after = yield* outside(bytes, at, null);
  return after === null ? null : before.text + after.text;
}

/** The lines of a text without the blank ones, and null for a pause; it looks at each byte once. */
export function* lines(bytes: Buffer): Generator<Item | null, undefined> {
  const scan = new JsonScan();
  let index = 0;
  let at = 0;
  while (at < bytes.length) {
    const pauseAt = at + partBytes;
    for (; at < pauseAt && isSpace(bytes[at]); at += 1) if (bytes[at] === newline) index += 1;
    if (at >= pauseAt) yield null;
    if (at >= bytes.length || isSpace(bytes[at])) continue;
    const found = bytes.indexOf(newline, at);
    const end = found < 0 ? bytes.length : found;
    scan.reset();
    for (let from = at; from < end; from += partBytes) {
      if (from > at) yield null;
      scan.feed(bytes.subarray(from, Math.min(from + partBytes, end)));
    }
    yield itemOf(scan, at, end, index);
    at = end;
  }
}

function itemOf({ deepest, members, values }: JsonScan, start: number, end: number, index: number): Item {
  return { start, end, index, deepest, members, values };
}

/**
 * Copy the text outside of the list, from `from` to the `[` of the member `key` of the outermost object or to the end.
 * @param key with its quotes; null to look for none. @returns null when it is too long.
 */
function* outside(
  bytes: Buffer,
  from: number,
  key: string | null,
): Generator<null, { text: string; end: number; isList: boolean } | null> {
  let text = '';
  let depth = 0;
  /** How much of `"key": [` has been seen. */
  let seen = 0;
  let at = from;
  while (at < bytes.length) {
    const byte = bytes[at];
    if (isSpace(byte)) {
      at = yield* skipSpace(bytes, at, bytes.length);
      text += ' ';
      continue;
    }
    const end = byte === quote ? endOfString(bytes, at) : at + 1;
    const token = bytes.toString('utf8', at, end);
    at = end;
    text += token;
    if (text.length > outsideBytesMax) return null;
    if (seen === 2 && byte === openingBracket) return { text, end, isList: true };
    if (depth === 1 && token === key) seen = 1;
    else seen = seen === 1 && byte === colon ? 2 : 0;
    if (byte === 0x7b || byte === openingBracket) depth += 1;
    else if (byte === 0x7d || byte === 0x5d) depth -= 1;
  }
  return { text, end: at, isList: false };
}

/** The offset after the quote that ends the string starting at `start`, or after the part that is copied. */
function endOfString(bytes: Buffer, start: number): number {
  const last = Math.min(bytes.length, start + outsideBytesMax + 1);
  for (let at = start + 1; at < last; at += 1) {
    if (bytes[at] === quote) return at + 1;
    if (bytes[at] === backslash) at += 1;
  }
  return last;
}

function* skipSpace(bytes: Buffer, start: number, end: number): Generator<null, number> {
  let at = start;
  while (at < end && isSpace(bytes[at])) {
    at += 1;
    if ((at - start) % partBytes === 0) yield null;
  }
  return at;
}
