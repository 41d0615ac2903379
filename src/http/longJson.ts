import { jsonPieces } from '../lib/jsonPieces.ts';
import { ownTurn } from '../lib/nextTurn.ts';
import type { Answer, TextAnswer } from './route.ts';

/** Characters that are made in one turn of the event loop, in some 0.1 ms, and sent together. */
const chunkCharacters = 64 * 1024;
/** Bytes of the rows of one page. */
const pageBytesMax = 8 * 1024 * 1024;

/** A list of which one page is asked for. */
interface Page<Row> {
  /** What the list is called in the answer. */
  name: string;
  rows: readonly Row[];
  present(row: Row): unknown;
  /** What the answer says besides. @param given rows that are in it, of those that were asked for. */
  rest(given: number): object;
}

/** The same answer, made while it is sent: others get their turns meanwhile. */
export async function longAnswer<T extends { json: unknown }>({ json, ...rest }: T): Promise<Answer> {
  return { ...rest, ...(await textOf(inChunks(jsonPieces(json)))) };
}

/** A page of a list: all of its rows, or those that fit 8 MiB; the first one however long it is. */
export function pageAnswer<Row>(page: Page<Row>): Promise<TextAnswer> {
  return textOf(inChunks(pagePieces(page)));
}

/** A short text is answered as one, with its length. */
async function textOf(chunks: AsyncGenerator<string>): Promise<TextAnswer> {
  const type = 'application/json';
  const first = await chunks.next();
  const second = await chunks.next();
  if (second.done) return { type, text: first.value ?? '' };
  async function* all(): AsyncGenerator<string> {
    yield first.value;
    yield second.value;
    yield* chunks;
  }
  return { type, chunks: all() };
}

/** @param pieces an empty one stands for work whose text comes later. */
async function* inChunks(pieces: Iterable<Piece>): AsyncGenerator<string> {
  let text = '';
  let work = 0;
  for (const piece of pieces) {
    if (typeof piece === 'number') work += piece;
    else {
      text += piece;
      work += piece.length;
    }
    if (text.length >= chunkCharacters) {
      yield text;
      text = '';
    }
    if (work < chunkCharacters) continue;
    work = 0;
    await ownTurn();
  }
  yield text;
}

/** Some text, or the number of characters that were made and are held back. */
type Piece = string | number;

function* pagePieces<Row>({ name, rows, present, rest }: Page<Row>): Generator<Piece> {
  yield `{${JSON.stringify(name)}:[`;
  let given = 0;
  let bytes = 0;
  for (const row of rows) {
    const held: string[] = [];
    for (const piece of jsonPieces(present(row))) {
      bytes += Buffer.byteLength(piece);
      if (given === 0) {
        // It is given in any case.
        yield piece;
        continue;
      }
      if (bytes > pageBytesMax) break;
      held.push(piece);
      yield piece.length;
    }
    if (given > 0 && bytes > pageBytesMax) break;
    if (given > 0) yield ',';
    yield* held;
    given += 1;
  }
  yield `],${JSON.stringify(rest(given)).slice(1)}`;
}
