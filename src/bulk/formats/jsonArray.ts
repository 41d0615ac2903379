import { JsonScan } from '../../lib/jsonScan.ts';
import { FileFault } from '../fault.ts';
import type { Format, LineFault, RawJob, ReadOptions } from '../format.ts';
import { itemBytesMax, newlinesIn, type Source } from '../source.ts';
import { jobOf, parseJson } from './jobBody.ts';
import { refuseTableOptions } from './tableOptions.ts';

const comma = 0x2c;
const openingBracket = 0x5b;

/** `["…", {"prompt": "…"}]`. */
export const jsonArray: Format = {
  name: 'json',
  description: 'a JSON array of texts, or of objects with the fields of the API',
  extensions: ['json'],
  isTable: false,
  // Elsewhere a line such as `[INST] Say hello` is a prompt.
  fits: ({ extension, text }) => (extension === 'json' ? /^\s*\[/ : /^\s*\[\s*["{]/).test(text),
  open: async (source, options) => {
    refuseTableOptions('json', options);
    return { header: [], read: () => read(source, options) };
  },
};

async function* read(source: Source, options: ReadOptions): AsyncGenerator<RawJob | LineFault> {
  let index = 0;
  for await (const { bytes, line, isLast } of items(source)) {
    const text = bytes.toString('utf8').trim();
    // `[]`, and nothing else: the file has no jobs.
    if (text === '' && isLast && index === 0) return;
    index += 1;
    const value = parseJson(text);
    const start = line + newlinesIn(bytes.subarray(0, leadingBlanks(bytes)));
    if (value === undefined) yield { line: start, fault: `item ${index} is not valid JSON` };
    else yield jobOf(start, value, options);
  }
}

interface Item {
  bytes: Buffer;
  /** Where it begins, blanks included. */
  line: number;
  isLast: boolean;
}

/** The texts between the brackets and commas of the outermost array. Only one of them is held at a time. */
async function* items(source: Source): AsyncGenerator<Item> {
  const scan = new JsonScan();
  let state: 'before' | 'inside' | 'after' = 'before';
  let held: Buffer[] = [];
  let heldBytes = 0;
  let line = 1;
  let lineHere = 1;
  const take = (end: Buffer, isLast: boolean): Item => {
    const bytes = Buffer.concat([...held, end]);
    const item = { bytes, line, isLast };
    line += newlinesIn(bytes);
    held = [];
    heldBytes = 0;
    scan.reset();
    return item;
  };
  for await (const piece of source.pieces()) {
    let at = 0;
    if (state === 'before') {
      at = leadingBlanks(piece);
      line += newlinesIn(piece.subarray(0, at));
      if (at === piece.length) continue;
      if (piece[at] !== openingBracket) throw new FileFault(`${source.name}:${line}: is not a JSON array`);
      at += 1;
      state = 'inside';
    }
    while (state === 'inside' && at < piece.length) {
      const stop = scan.next(piece, at);
      const part = piece.subarray(at, stop);
      if (stop === piece.length) {
        held.push(part);
        heldBytes += part.length;
        if (heldBytes > itemBytesMax)
          throw new FileFault(`${source.name}:${line}: an item is longer than ${itemBytesMax} bytes`);
        at = stop;
      } else {
        const isComma = piece[stop] === comma;
        yield take(part, !isComma);
        at = stop + 1;
        if (!isComma) state = 'after';
      }
    }
    lineHere = line;
    if (state === 'after' && piece.subarray(at).toString('utf8').trim() !== '')
      throw new FileFault(`${source.name}:${lineHere}: has more text after the array`);
  }
  if (state !== 'after') throw new FileFault(`${source.name}: the array has no end; is the file cut off?`);
}

/** How many bytes of white space it begins with. */
function leadingBlanks(bytes: Buffer): number {
  let at = 0;
  while (at < bytes.length && [0x20, 0x09, 0x0a, 0x0d].includes(bytes[at] ?? 0)) at += 1;
  return at;
}
