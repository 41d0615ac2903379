import { crc32 } from 'node:zlib';
import { nextTurn } from '../../lib/nextTurn.ts';
import { encodeRecord, hex } from './record.ts';

/** Encoding 60 MB at once takes a quarter of a second; in parts of this many characters it stops nobody for long. */
const partCharactersMax = 1024 * 1024;

/** A record to be: the JSON of each of its changes. */
export type RecordTexts = readonly string[];

/** Characters of a record, as nearly as a bound on memory needs. */
export function charactersOf(texts: RecordTexts): number {
  return texts.reduce((sum, text) => sum + text.length + 1, 0);
}

/**
 * Records as lines of the journal, in order, as one buffer or several that follow one another. Short ones share a
 * buffer; while a long one is encoded, the event loop gets its turns.
 */
export async function encodeRecords(firstSeq: number, records: readonly RecordTexts[]): Promise<Buffer[]> {
  const parts: Buffer[] = [];
  let lines = '';
  for (const [index, texts] of records.entries()) {
    const seq = firstSeq + index;
    if (texts.length > 1 && charactersOf(texts) > partCharactersMax) {
      parts.push(Buffer.from(lines), ...(await encodeLong(seq, texts)));
      lines = '';
    } else {
      lines += encodeRecord(seq, `[${texts.join(',')}]`);
    }
  }
  if (lines !== '') parts.push(Buffer.from(lines));
  return parts;
}

/** One record in parts: the same bytes that `encodeRecord` gives. */
async function encodeLong(seq: number, texts: RecordTexts): Promise<Buffer[]> {
  const parts: Buffer[] = [];
  let sum = crc32(String(seq));
  const add = (text: string): void => {
    const part = Buffer.from(text);
    sum = crc32(part, sum);
    parts.push(part);
  };
  let text = '[';
  for (const [index, change] of texts.entries()) {
    if (text.length > partCharactersMax) {
      add(text);
      text = '';
      await nextTurn();
    }
    text += index === 0 ? change : `,${change}`;
  }
  add(`${text}]`);
  return [Buffer.from(`{"seq":${seq},"sum":"${hex(sum)}","changes":`), ...parts, Buffer.from('}\n')];
}
