import { crc32 } from 'node:zlib';
import { nextTurn } from '../../lib/nextTurn.ts';
import { hex } from './record.ts';

/** Encoding 60 MB at once takes a quarter of a second; in parts of this many characters it stops nobody for long. */
const partCharactersMax = 1024 * 1024;

/** A record to be: the JSON of each of its changes. */
export type RecordTexts = readonly string[];

/** Characters of a record, as nearly as a bound on memory needs. */
export function charactersOf(texts: RecordTexts): number {
  return texts.reduce((sum, text) => sum + text.length + 1, 0);
}

/**
 * Records as lines of the journal, in order, as one buffer or several that follow one another; they are one group. Short ones share a
 * buffer; while a long one is encoded, the event loop gets its turns.
 */
export async function encodeRecords(firstSeq: number, records: readonly RecordTexts[]): Promise<Buffer[]> {
  const parts: Buffer[] = [];
  let short: RecordTexts[] = [];
  let characters = 0;
  const endShort = (end: number): void => {
    parts.push(encodeShort({ seq: end - short.length, group: firstSeq }, short, characters));
    short = [];
    characters = 0;
  };
  for (const [index, texts] of records.entries()) {
    const own = charactersOf(texts);
    if (characters + own > partCharactersMax) {
      endShort(firstSeq + index);
    }
    if (texts.length > 1 && own > partCharactersMax) {
      parts.push(...(await encodeLong(numbersOf(firstSeq + index, firstSeq), texts)));
    } else {
      short.push(texts);
      characters += own;
    }
  }
  if (short.length > 0) endShort(firstSeq + records.length);
  return parts;
}

const headStart = '{"seq":';
const groupStart = ',"group":';
const sumStart = ',"sum":"';
const noSum = '00000000';
const changesStart = '","changes":';
/** What a record has besides its changes: its head with numbers of 16 digits, brackets and the end of the line. */
const frameBytes =
  headStart.length + 16 + groupStart.length + 16 + sumStart.length + noSum.length + changesStart.length + 4;
/** Bytes that a character of a string takes in UTF-8 at most. */
const bytesOfCharacter = 3;

/** The numbers of a record, as they stand in its head and under its checksum; the first of a group needs no second one. */
function numbersOf(seq: number, group: number): string {
  return seq === group ? String(seq) : `${seq}${groupStart}${group}`;
}

/** Several records in one buffer: each text is encoded once, straight to its place, and summed there. */
function encodeShort(
  first: { seq: number; group: number },
  records: readonly RecordTexts[],
  characters: number,
): Buffer {
  const into = Buffer.allocUnsafe(characters * bytesOfCharacter + records.length * frameBytes);
  let at = 0;
  const put = (text: string): void => {
    at += into.write(text, at);
  };
  for (const [index, texts] of records.entries()) {
    put(headStart);
    const numbersAt = at;
    put(numbersOf(first.seq + index, first.group));
    const sumOfNumbers = crc32(into.subarray(numbersAt, at));
    put(sumStart);
    const sumAt = at;
    put(noSum);
    put(changesStart);
    const changesAt = at;
    put('[');
    for (const [place, change] of texts.entries()) {
      if (place > 0) put(',');
      put(change);
    }
    put(']');
    into.write(hex(crc32(into.subarray(changesAt, at), sumOfNumbers)), sumAt);
    put('}\n');
  }
  return into.subarray(0, at);
}

/** One record in parts: the same bytes that `encodeShort` gives. */
async function encodeLong(numbers: string, texts: RecordTexts): Promise<Buffer[]> {
  const parts: Buffer[] = [];
  let sum = crc32(numbers);
  for (let from = 0; from < texts.length; ) {
    if (from > 0) await nextTurn();
    const part = encodePart(texts, from);
    sum = crc32(part.bytes, sum);
    parts.push(part.bytes);
    from = part.end;
  }
  return [
    Buffer.from(`${headStart}${numbers}${sumStart}${hex(sum)}${changesStart}`),
    ...parts,
    Buffer.from('}\n'),
  ];
}

/** The changes from one on that fill a part, each with the bracket or comma before it and the last with the one after. */
function encodePart(texts: RecordTexts, from: number): { bytes: Buffer; end: number } {
  let end = from;
  let characters = 1;
  for (; end < texts.length && (end === from || characters < partCharactersMax); end += 1)
    characters += (texts[end] ?? '').length + 1;
  const into = Buffer.allocUnsafe(characters * bytesOfCharacter);
  let at = 0;
  for (let index = from; index < end; index += 1) {
    at += into.write(index === 0 ? '[' : ',', at);
    at += into.write(texts[index] ?? '', at);
  }
  if (end === texts.length) at += into.write(']', at);
  return { bytes: into.subarray(0, at), end };
}
