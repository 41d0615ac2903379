import { isUtf8 } from 'node:buffer';
import { createReadStream, createWriteStream, type Stats } from 'node:fs';
import { type FileHandle, mkdtemp, open, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { extname, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { messageOf } from '../domain/errors.ts';
import { LineTooLong, readLines } from '../lib/lines.ts';
import { FileFault } from './fault.ts';

/** A line or a cell that is longer cannot be one job of any coordinator: a batch has 64 MiB by default. */
export const itemBytesMax = 64 * 1024 ** 2;
const sampleBytes = 64 * 1024;
const chunkBytes = 1024 * 1024;
const mark = Buffer.from('\ufeff');
const newline = 0x0a;

/** A line of text, without its line end. */
export interface TextLine {
  /** From 1. */
  line: number;
  text: string;
}

/** The beginning of a file, for guessing its format. */
export interface Sample {
  /** Of the file's name, in lower case and without the dot; '' when there is none. */
  extension: string;
  /** The first 64 KiB at most, without a byte order mark. */
  text: string;
  /** Whether `text` is the whole file. */
  isWhole: boolean;
}

/** A file that can be read more than once, as a stream. */
export interface Source {
  /** For messages: the path as the user gave it, or `standard input`. */
  name: string;
  /** Absolute. */
  path: string;
  bytes: number;
  sample: Sample;
  /** Its bytes in pieces, without a byte order mark; they are valid UTF-8. @throws FileFault when they are not. */
  pieces(): AsyncGenerator<Buffer>;
  /** Its lines, in batches. @throws FileFault when one is not UTF-8 or longer than 64 MiB. */
  lines(): AsyncGenerator<TextLine[]>;
  /** Remove the copy of standard input. */
  close(): Promise<void>;
}

/**
 * Open a file, or `-` for standard input. That and a pipe are copied to a temporary file, because a file is read twice.
 * @throws FileFault when it cannot be read, is empty, or is not UTF-8 text.
 */
export async function openSource(
  file: string,
  { cwd, stdin }: { cwd: string; stdin: AsyncIterable<Uint8Array | string> },
): Promise<Source> {
  const given = resolve(cwd, file);
  const isStream = file === '-' || (await stat(given).then(isPipe, () => false));
  if (!isStream) return sourceOf(file, given, async () => {});
  const folder = await mkdtemp(join(tmpdir(), 'svc-run-'));
  const close = (): Promise<void> => rm(folder, { recursive: true, force: true });
  try {
    const path = join(folder, 'input');
    const from = file === '-' ? stdin : createReadStream(given);
    await pipeline(from, createWriteStream(path, { mode: 0o600 }));
    return await sourceOf(file === '-' ? 'standard input' : file, path, close);
  } catch (error) {
    await close();
    throw error;
  }
}

/** Such as `<(command)` of a shell. */
function isPipe(found: Stats): boolean {
  return found.isFIFO() || found.isCharacterDevice() || found.isSocket();
}

async function sourceOf(name: string, path: string, close: () => Promise<void>): Promise<Source> {
  const start = Buffer.alloc(sampleBytes);
  let bytes = 0;
  let count = 0;
  const handle = await open(path).catch(unreadable);
  try {
    const found = await handle.stat();
    if (found.isDirectory()) throw new FileFault(`${name} is a folder`);
    bytes = found.size;
    if (bytes > 0) count = (await handle.read(start, 0, sampleBytes, 0)).bytesRead;
  } finally {
    await handle.close();
  }
  if (count === 0) throw new FileFault(`${name} is empty`);
  const head = start.subarray(0, count);
  refuseBinary(name, head);
  const extension = extname(path).slice(1).toLowerCase();
  const sample = { extension, text: withoutMark(head).toString('utf8'), isWhole: count === bytes };
  return {
    name,
    path,
    bytes,
    sample,
    pieces: () => checkedPieces(name, path),
    lines: () => checkedLines(name, path),
    close,
  };

  function unreadable(error: unknown): never {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    throw new FileFault(isMissing ? `${name} does not exist` : `${name} cannot be read: ${messageOf(error)}`);
  }
}

/** Texts in other encodings and files of office programs, told apart from text with one wrong byte. */
function refuseBinary(name: string, head: Buffer): void {
  const isUtf16 = (head[0] === 0xff && head[1] === 0xfe) || (head[0] === 0xfe && head[1] === 0xff);
  const isZip = head.subarray(0, 4).toString('latin1') === 'PK\u0003\u0004';
  if (isZip) throw new FileFault(`${name} is a spreadsheet or an archive; save it as CSV in UTF-8`);
  if (isUtf16 || head.includes(0))
    throw new FileFault(
      `${name} is not UTF-8${isUtf16 ? ' but UTF-16' : ''}; convert it, for example with iconv -f UTF-16 -t UTF-8`,
    );
}

function withoutMark(bytes: Buffer): Buffer {
  return bytes.subarray(0, mark.length).equals(mark) ? bytes.subarray(mark.length) : bytes;
}

async function* checkedLines(name: string, path: string): AsyncGenerator<TextLine[]> {
  const handle = await open(path);
  let line = 0;
  try {
    for await (const batch of readLines((into, at) => readAt(handle, into, at), itemBytesMax)) {
      yield batch.map(({ bytes }) => {
        line += 1;
        if (!isUtf8(bytes)) throw new FileFault(`${name}:${line}: is not UTF-8`);
        const text = (line === 1 ? withoutMark(bytes) : bytes).toString('utf8');
        return { line, text: text.endsWith('\r') ? text.slice(0, -1) : text };
      });
    }
  } catch (error) {
    throw error instanceof LineTooLong ? new FileFault(`${name}:${line + 1}: ${error.message}`) : error;
  } finally {
    await handle.close();
  }
}

async function* checkedPieces(name: string, path: string): AsyncGenerator<Buffer> {
  const handle = await open(path);
  let line = 1;
  let position = 0;
  let rest = Buffer.alloc(0);
  try {
    for (;;) {
      const chunk = Buffer.allocUnsafe(chunkBytes);
      const count = await readAt(handle, chunk, position);
      const isStart = position === 0;
      position += count;
      const all = Buffer.concat([rest, chunk.subarray(0, count)]);
      // Characters that continue in the next chunk wait for it.
      const end = count === 0 ? all.length : wholeCharacters(all);
      const piece = all.subarray(0, end);
      rest = all.subarray(end);
      if (!isUtf8(piece)) throw new FileFault(`${name}:${line + firstFault(piece)}: is not UTF-8`);
      if (piece.length > 0) yield isStart ? withoutMark(piece) : piece;
      if (count === 0) return;
      line += newlinesIn(piece);
    }
  } finally {
    await handle.close();
  }
}

async function readAt(handle: FileHandle, into: Buffer, position: number): Promise<number> {
  return (await handle.read(into, 0, into.length, position)).bytesRead;
}

/** The offset after the last whole character. */
function wholeCharacters(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(4, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) return bytes.length;
    if (byte >= 0xc0) {
      const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
      return back < length ? bytes.length - back : bytes.length;
    }
  }
  return bytes.length;
}

/** How many lines come before the first one that is not UTF-8. */
function firstFault(bytes: Buffer): number {
  let count = 0;
  for (let from = 0; from <= bytes.length; count += 1) {
    const found = bytes.indexOf(newline, from);
    const end = found < 0 ? bytes.length : found;
    if (!isUtf8(bytes.subarray(from, end))) return count;
    from = end + 1;
  }
  return 0;
}

/** Line ends in a piece of text. */
export function newlinesIn(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(newline); at >= 0; at = bytes.indexOf(newline, at + 1)) count += 1;
  return count;
}
