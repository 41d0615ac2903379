import { ownTurn } from './nextTurn.ts';

/** Characters that are collected before they are sent. */
const chunkCharacters = 64 * 1024;

/** The pieces of an answer of any length, some 64 Ki characters at a time; others get a turn after each. */
export async function* inChunks(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let text = '';
  for await (const piece of pieces) {
    text += piece;
    if (text.length < chunkCharacters) continue;
    yield text;
    text = '';
    await ownTurn();
  }
  if (text !== '') yield text;
}
