/* Records as bytes: numbers, checksum, changes, one line each. `record.ts` reads them. */

import { crc32 } from 'node:zlib';
import { nextTurn } from '../../../lib/nextTurn.ts';
import { hex } from './record.ts';

/**
 * Encoding 60 MB at once takes a quarter of a second; after each part of this many bytes the event loop gets a turn.
 */
const partBytes = 1024 * 1024;

/** A record to encode: the JSON of each of its changes. */
export type RecordTexts = readonly string[];

/** Characters of a record, approximately, for a bound on memory. */
function charactersOf(texts: RecordTexts): number {
  return texts.reduce((sum, text) => sum + text.length + 1, 0);
}

const headStart = '{"seq":';
const groupStart = ',"group":';
const sumStart = ',"sum":"';
const noSum = '00000000';
const changesStart = '","changes":';
/** A record without its changes: its head with numbers of 16 digits, brackets and the line end. */
const frameBytes =
  headStart.length + 16 + groupStart.length + 16 + sumStart.length + noSum.length + changesStart.length + 4;
/** Most bytes of a character in UTF-8. */
const bytesOfCharacter = 3;

/** The numbers of a record as in its head and checksum; the first of a group needs no second one. */
function numbersOf(seq: number, group: number): string {
  return seq === group ? String(seq) : `${seq}${groupStart}${group}`;
}

/**
 * Records as lines of the journal, in order; they are one group. Each text is encoded once, directly in place, and
 * summed there.
 */
export async function encodeRecords(firstSeq: number, records: readonly RecordTexts[]): Promise<Buffer> {
  const characters = records.reduce((sum, texts) => sum + charactersOf(texts), 0);
  const into = Buffer.allocUnsafe(characters * bytesOfCharacter + records.length * frameBytes);
  let at = 0;
  const put = (text: string): void => {
    at += into.write(text, at);
  };
  let turnEndsAt = partBytes;
  for (const [index, texts] of records.entries()) {
    put(headStart);
    const numbersAt = at;
    put(numbersOf(firstSeq + index, firstSeq));
    let sum = crc32(into.subarray(numbersAt, at));
    put(sumStart);
    const sumAt = at;
    put(noSum);
    put(changesStart);
    let summedTo = at;
    put('[');
    for (const [place, change] of texts.entries()) {
      if (place > 0) put(',');
      put(change);
      if (at < turnEndsAt) continue;
      sum = crc32(into.subarray(summedTo, at), sum);
      summedTo = at;
      turnEndsAt = at + partBytes;
      await nextTurn();
    }
    put(']');
    into.write(hex(crc32(into.subarray(summedTo, at), sum)), sumAt);
    put('}\n');
  }
  return into.subarray(0, at);
}
