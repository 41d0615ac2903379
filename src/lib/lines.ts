/** One line of a file, without its newline. */
export interface Line {
  bytes: Buffer;
  /** Offset of its first byte in the file. */
  offset: number;
  /** False for the last bytes of a file that does not end with a newline. */
  isWhole: boolean;
}

/** 1 MiB: one read contains some hundreds of lines, so the cost of a turn is spread over them. */
const chunkBytes = 1024 * 1024;
const newline = 0x0a;

/** A line is longer than the reader allows. */
export class LineTooLong extends Error {
  constructor(bytesMax: number) {
    super(`is longer than ${bytesMax} bytes`);
    this.name = 'LineTooLong';
  }
}

/**
 * Read a file as lines, in batches, without ever holding more than a chunk and one line: a file may be larger than V8's
 * longest string (512 MiB) and than memory.
 * @param read fills `into` from `position` on and returns how many bytes it read; 0 at the end of the file.
 * @param bytesMax of a line. @throws LineTooLong, after the lines before it.
 */
export async function* readLines(
  read: (into: Buffer, position: number) => Promise<number>,
  bytesMax = Number.POSITIVE_INFINITY,
): AsyncGenerator<Line[]> {
  let position = 0;
  let start = 0;
  let carried: Buffer[] = [];
  for (;;) {
    const chunk = Buffer.allocUnsafe(chunkBytes);
    const count = await read(chunk, position);
    if (count === 0) break;
    const lines: Line[] = [];
    let from = 0;
    for (let end = chunk.indexOf(newline); end >= 0 && end < count; end = chunk.indexOf(newline, from)) {
      const piece = chunk.subarray(from, end);
      const bytes = carried.length === 0 ? piece : Buffer.concat([...carried, piece]);
      carried = [];
      lines.push({ bytes, offset: start, isWhole: true });
      from = end + 1;
      start = position + from;
    }
    if (from < count) carried.push(chunk.subarray(from, count));
    position += count;
    if (lines.length > 0) yield lines;
    if (position - start > bytesMax) throw new LineTooLong(bytesMax);
  }
  if (carried.length > 0) yield [{ bytes: Buffer.concat(carried), offset: start, isWhole: false }];
}
