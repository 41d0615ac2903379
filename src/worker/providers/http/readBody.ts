import type { Readable } from 'node:stream';
import { HttpFailure, httpFailureOf } from './httpFailure.ts';

/**
 * Text in pieces as lines, without line ends; the last line may lack one.
 * @param lengthMax characters of a line. @throws HttpFailure for a longer one, or when the body is interrupted.
 */
export async function* linesOf(body: Readable, lengthMax: number): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  // The parts of an incomplete line; joined once, at its end.
  let rest: string[] = [];
  let restLength = 0;
  for await (const piece of piecesOf(body)) {
    const lines = decoder.decode(piece, { stream: true }).split('\n');
    const last = lines.pop() ?? '';
    for (const line of lines) {
      yield rest.length === 0 ? line : rest.join('') + line;
      rest = [];
      restLength = 0;
    }
    rest.push(last);
    restLength += last.length;
    if (restLength > lengthMax) {
      body.destroy();
      throw tooLongLine(lengthMax);
    }
  }
  if (restLength > 0) yield rest.join('');
}

export function tooLongLine(lengthMax: number): HttpFailure {
  return new HttpFailure('malformed', `a line of more than ${lengthMax} characters`);
}

async function* piecesOf(body: Readable): AsyncGenerator<Buffer> {
  try {
    for await (const piece of body) yield piece;
  } catch (error) {
    throw httpFailureOf(error);
  }
}

/** The start of a body. @throws HttpFailure when it is interrupted. */
export async function beginOf(body: Readable, bytesMax: number): Promise<string> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of piecesOf(body)) {
    pieces.push(piece);
    length += piece.length;
    if (length >= bytesMax) break;
  }
  return Buffer.concat(pieces).subarray(0, bytesMax).toString('utf8');
}
