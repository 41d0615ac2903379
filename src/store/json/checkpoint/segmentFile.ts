/* A file of jobs, read and written line by line and never whole in memory. A new one counts once a manifest names it;
   the next start removes one that a crash left unnamed. */

import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { readLines } from '../../../lib/lines.ts';
import { replaceFile } from '../durableFile.ts';
import { StoreCorrupt } from '../errors.ts';
import { type Files, type OpenFile, openExisting, writeAll } from '../files.ts';
import { hex } from '../journal/record.ts';
import { type SegmentEntry, whatToDo } from './manifest.ts';

/** The line of a job: JSON of a `SegmentJob` that starts with the ordinal. */
export interface JobLine {
  bytes: Buffer;
  /** Offset of its first byte in the file it was read from; 0 for a new one. */
  offset: number;
}

/** The jobs of a segment in order of creation, in batches: a segment is never in memory whole. */
export type JobLines = AsyncIterable<JobLine[]>;

const head = Buffer.from('{"jobs":[\n');
const separator = Buffer.from(',\n');
const tail = Buffer.from('\n]}\n');
const comma = 0x2c;
/** Other lines are shorter: those that open and close the list. */
export const jobBytesMin = head.length;
/** Collected before a write. */
const writeBytes = 1024 * 1024;

/** No jobs, for a new segment. */
export async function* noLines(): AsyncGenerator<JobLine[]> {
  // Nothing to give.
}

/**
 * Read the jobs of a segment. Its length and checksum are checked at its end, so a caller must not act on any of them
 * before it has all.
 * @throws StoreCorrupt when the file is missing or differs from the manifest.
 */
async function* readSegment(files: Files, folder: string, segment: SegmentEntry): AsyncGenerator<JobLine[]> {
  const path = join(folder, segment.file);
  const file = await openSegment(files, path);
  try {
    const check = new SegmentCheck(path);
    const lines = readLines(async (into, position) => {
      const got = await file.read(into, position);
      check.add(into.subarray(0, got));
      return got;
    });
    for await (const batch of lines) {
      const jobs = batch.filter(({ bytes }) => bytes.length >= jobBytesMin).map(withoutComma);
      check.count += jobs.length;
      if (jobs.length > 0) yield jobs;
    }
    check.end(segment);
  } finally {
    await file.close();
  }
}

/** @throws StoreCorrupt when there is none. */
export async function openSegment(files: Files, path: string): Promise<OpenFile> {
  const file = await openExisting(files, path);
  if (file === null)
    throw new StoreCorrupt(path, 0, `coordinator.json names it and it is missing; ${whatToDo}`);
  return file;
}

/** Compares what is read of a segment with the manifest. */
export class SegmentCheck {
  /** Lines of jobs and keys. */
  count = 0;
  readonly #path: string;
  #sum = 0;
  #bytes = 0;

  constructor(path: string) {
    this.#path = path;
  }

  /** The next bytes. */
  add(bytes: Buffer): void {
    this.#sum = crc32(bytes, this.#sum);
    this.#bytes += bytes.length;
  }

  /** There are no more. @throws StoreCorrupt */
  end({ bytes, sum, count }: SegmentEntry): void {
    if (this.#bytes === bytes && hex(this.#sum) === sum && this.count === count) return;
    const what = 'its length, count or checksum is not what coordinator.json says';
    throw new StoreCorrupt(this.#path, Math.min(this.#bytes, bytes), `${what}; ${whatToDo}`);
  }
}

function withoutComma(line: JobLine): JobLine {
  const { bytes, offset } = line;
  return bytes[bytes.length - 1] === comma ? { bytes: bytes.subarray(0, -1), offset } : line;
}

/**
 * A lowdb adapter for a segment: `read` returns the lines of the current file, `write` puts lines into a new file,
 * which does not count until a manifest names it. The file is valid JSON with one job a line.
 */
export class SegmentFile {
  /** Length and checksum of the new file; null before. */
  written: { bytes: number; sum: string; count: number } | null = null;
  readonly #files: Files;
  readonly #folder: string;
  readonly #from: SegmentEntry | null;
  readonly #to: string;

  /** @param from the current segment, null for a new one. @param to name of the file to write. */
  constructor(files: Files, folder: string, from: SegmentEntry | null, to: string) {
    this.#files = files;
    this.#folder = folder;
    this.#from = from;
    this.#to = to;
  }

  async read(): Promise<JobLines | null> {
    return this.#from === null ? null : readSegment(this.#files, this.#folder, this.#from);
  }

  async write(lines: JobLines): Promise<void> {
    let bytes = 0;
    let sum = 0;
    let count = 0;
    await replaceFile(this.#files, join(this.#folder, this.#to), async (file) => {
      let waiting: Buffer[] = [head];
      let waitingBytes = head.length;
      const flush = async () => {
        const block = Buffer.concat(waiting);
        waiting = [];
        waitingBytes = 0;
        await writeAll(file, block, bytes);
        sum = crc32(block, sum);
        bytes += block.length;
      };
      for await (const batch of lines) {
        for (const line of batch) {
          if (count > 0) waiting.push(separator);
          waiting.push(line.bytes);
          waitingBytes += line.bytes.length;
          count += 1;
          if (waitingBytes >= writeBytes) await flush();
        }
      }
      waiting.push(tail);
      await flush();
    });
    this.written = { bytes, sum: hex(sum), count };
  }
}
