/* Archives as tar(1) reads and writes them (POSIX ustar): plain files alone. */

const blockBytes = 512;
const nameBytesMax = 100;
/** Where the parts of a header are: offset and length. */
const at = {
  name: [0, 100],
  mode: [100, 8],
  owner: [108, 8],
  group: [116, 8],
  size: [124, 12],
  time: [136, 12],
  sum: [148, 8],
  type: [156, 1],
  magic: [257, 8],
} as const;
const plainFile = '0';

/** What an archive says of a file. */
export interface TarEntry {
  name: string;
  bytes: number;
}

/** An archive is not as this program writes them. */
class TarDamaged extends Error {}

/** The header of a file, which its bytes and `tarPadding` follow. @param time of the file, epoch ms. */
export function tarHeader({ name, bytes }: TarEntry, time: number): Buffer {
  const header = Buffer.alloc(blockBytes);
  if (Buffer.byteLength(name) > nameBytesMax) throw new Error(`${name} is too long for an archive`);
  const put = ([offset]: readonly [number, number], text: string): number => header.write(text, offset);
  put(at.name, name);
  put(at.mode, '0000600\0');
  put(at.owner, '0000000\0');
  put(at.group, '0000000\0');
  writeSize(header, bytes);
  put(at.time, `${octal(Math.floor(time / 1000), 11)}\0`);
  put(at.type, plainFile);
  put(at.magic, 'ustar\x0000');
  put(at.sum, `${octal(sumOf(header), 6)}\0 `);
  return header;
}

/** The zeros after the bytes of a file. */
export function tarPadding(bytes: number): Buffer {
  return Buffer.alloc((blockBytes - (bytes % blockBytes)) % blockBytes);
}

/** The end of an archive. */
export const tarEnd: Buffer = Buffer.alloc(2 * blockBytes);

/** Reads an archive in the order in which it is written. */
export class TarReader {
  readonly #chunks: AsyncIterator<Buffer>;
  #held: Buffer = Buffer.alloc(0);

  constructor(chunks: AsyncIterable<Buffer>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  /** The next file, whose bytes must then be read; null at the end of the archive. @throws TarDamaged */
  async next(): Promise<TarEntry | null> {
    const header = await this.#take(blockBytes);
    if (header.every((byte) => byte === 0)) return null;
    const text = ([offset, length]: readonly [number, number]): string =>
      header.toString('utf8', offset, offset + length).replace(/\0.*$/s, '');
    if (Number.parseInt(text(at.sum), 8) !== sumOf(header))
      throw new TarDamaged('a header has a wrong checksum');
    if (text(at.type) !== plainFile) throw new TarDamaged(`${text(at.name)} is no plain file`);
    return { name: text(at.name), bytes: readSize(header) };
  }

  /** The bytes of the file that `next` named. @throws TarDamaged where the archive ends before. */
  async *contents({ bytes }: TarEntry): AsyncGenerator<Buffer> {
    for (let rest = bytes; rest > 0; ) {
      const piece = await this.#some(rest);
      rest -= piece.length;
      yield piece;
    }
    await this.#take(tarPadding(bytes).length);
  }

  /** Read what follows the last file, so that whatever delivers the archive checks its end, too. */
  async end(): Promise<void> {
    while ((await this.#chunks.next()).done !== true);
  }

  async #take(count: number): Promise<Buffer> {
    const pieces: Buffer[] = [];
    for (let rest = count; rest > 0; ) {
      const piece = await this.#some(rest);
      pieces.push(piece);
      rest -= piece.length;
    }
    return Buffer.concat(pieces);
  }

  async #some(most: number): Promise<Buffer> {
    while (this.#held.length === 0) {
      const { done, value } = await this.#chunks.next();
      if (done === true) throw new TarDamaged('it ends early');
      this.#held = value;
    }
    const piece = this.#held.subarray(0, most);
    this.#held = this.#held.subarray(piece.length);
    return piece;
  }
}

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, '0');
}

/** From 8 GiB on, 11 octal digits are not enough: GNU and BSD tar then write it binary. */
const octalMax = 8 ** 11;

function writeSize(header: Buffer, bytes: number): void {
  const [offset, length] = at.size;
  if (bytes < octalMax) {
    header.write(`${octal(bytes, 11)}\0`, offset);
    return;
  }
  header[offset] = 0x80;
  header.writeUIntBE(bytes, offset + length - 6, 6);
}

function readSize(header: Buffer): number {
  const [offset, length] = at.size;
  if (header[offset] === 0x80) return header.readUIntBE(offset + length - 6, 6);
  return Number.parseInt(header.toString('latin1', offset, offset + length), 8);
}

/** The sum of its bytes, with spaces in the place of the sum. */
function sumOf(header: Buffer): number {
  const [offset, length] = at.sum;
  let sum = length * 0x20;
  for (const [index, byte] of header.entries()) if (index < offset || index >= offset + length) sum += byte;
  return sum;
}
