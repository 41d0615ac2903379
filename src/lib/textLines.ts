import { isUtf8 } from 'node:buffer';

const newline = 0x0a;

/** A line of a text file. */
export interface TextLine {
  /** From 1; blank lines count. */
  number: number;
  /** Without its line end. */
  text: string;
  /** Of the line in the file, without its newline. */
  bytes: number;
  /** Where the line after it begins: bytes from where the reading began. */
  end: number;
  /** Why it has no text. */
  fault: 'too_long' | 'not_utf8' | null;
}

/**
 * The lines of a file of any length, without those that are blank; a byte order mark at its start is left out. Of a line that
 * is too long nothing is kept.
 * @param bytesMax of a line. @returns the lines of one piece at a time.
 */
export async function* textLines(
  pieces: AsyncIterable<Buffer>,
  bytesMax: number,
): AsyncGenerator<TextLine[]> {
  const reader = new LineReader(bytesMax);
  for await (const piece of pieces) {
    const lines = reader.take(piece);
    if (lines.length > 0) yield lines;
  }
  const last = reader.end();
  if (last !== null) yield [last];
}

class LineReader {
  readonly #bytesMax: number;
  #number = 1;
  /** Of the line that has begun. */
  #parts: Buffer[] = [];
  #bytes = 0;
  /** Bytes of the pieces before this one. */
  #before = 0;
  /** Where the next line begins. */
  #end = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  take(piece: Buffer): TextLine[] {
    const lines: TextLine[] = [];
    let from = 0;
    for (let end = piece.indexOf(newline); end >= 0; end = piece.indexOf(newline, from)) {
      this.#add(piece.subarray(from, end));
      this.#end = this.#before + end + 1;
      const line = this.end();
      if (line !== null) lines.push(line);
      this.#number += 1;
      from = end + 1;
    }
    this.#add(piece.subarray(from));
    this.#before += piece.length;
    this.#end = this.#before;
    return lines;
  }

  /** The line that has begun; null when it is blank. */
  end(): TextLine | null {
    const [parts, bytes] = [this.#parts, this.#bytes];
    this.#parts = [];
    this.#bytes = 0;
    if (bytes === 0) return null;
    const about = { number: this.#number, bytes, end: this.#end };
    if (bytes > this.#bytesMax) return { ...about, text: '', fault: 'too_long' };
    const [first] = parts;
    const whole = parts.length === 1 && first !== undefined ? first : Buffer.concat(parts);
    if (!isUtf8(whole)) return { ...about, text: '', fault: 'not_utf8' };
    const text = whole.toString('utf8', this.#number === 1 && hasMark(whole) ? 3 : 0);
    return text.trim() === '' ? null : { ...about, text, fault: null };
  }

  #add(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.#bytes += bytes.length;
    if (this.#bytes <= this.#bytesMax) this.#parts.push(bytes);
    else this.#parts = [];
  }
}

function hasMark(bytes: Buffer): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
}
