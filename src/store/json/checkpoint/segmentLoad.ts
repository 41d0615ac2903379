/* Passes the jobs of a segment to memory when the store opens. Ready jobs, which may be a million, are only looked through;
   every byte is verified all the same. */

import { join } from 'node:path';
import { messageOf } from '../../../domain/errors.ts';
import type { Load } from '../../durableLog.ts';
import { StoreCorrupt } from '../errors.ts';
import type { Files, OpenFile } from '../files.ts';
import { jobOf, type SegmentJob, type SegmentKey } from '../journal/record.ts';
import { HeadReader, type LineHead } from './jobHeads.ts';
import { type SegmentEntry, whatToDo } from './manifest.ts';
import { jobBytesMin, openSegment, SegmentCheck } from './segmentFile.ts';
import { UnreadLines } from './unreadLines.ts';

/**
 * Bytes read at once, and kept until a quarter of the jobs in them was needed: some 600 jobs of 1 KB, of which the rest is
 * then read in some 4 ms.
 */
const blockBytes = 1024 * 1024;
/** Share of a block that ready jobs must have: it takes its memory whole. */
const readyShareMin = 3 / 4;

const newline = 0x0a;
const comma = 0x2c;

/** A line in a block. */
interface BlockLine {
  from: number;
  to: number;
  /** null when it has to be parsed. */
  head: LineHead | null;
}

/** Loads segments. */
export class SegmentLoad {
  readonly #files: Files;
  readonly #folder: string;
  readonly #load: Load;
  readonly #heads = new HeadReader();
  readonly #blocks = new Blocks();

  constructor(files: Files, folder: string, load: Load) {
    this.#files = files;
    this.#folder = folder;
    this.#load = load;
  }

  /** @throws StoreCorrupt when the segment is missing or damaged. What was loaded by then must not be used. */
  async add(segment: SegmentEntry): Promise<void> {
    const path = join(this.#folder, segment.file);
    const file = await openSegment(this.#files, path);
    try {
      await new Loading(path, this.#heads, this.#load, this.#blocks).run(file, segment);
    } finally {
      await file.close();
    }
  }
}

/** Two buffers in turn: one is read into while the other is looked through. */
class Blocks {
  readonly #buffers = [Buffer.allocUnsafeSlow(blockBytes), Buffer.allocUnsafeSlow(blockBytes)] as const;
  #turn: 0 | 1 = 0;

  /** @returns the bytes from `position` on, valid until the call after the next; none at the end of the file. */
  read(file: OpenFile, position: number): Promise<Buffer> {
    this.#turn = this.#turn === 0 ? 1 : 0;
    const block = this.#buffers[this.#turn];
    const reading = file.read(block, position).then((count) => block.subarray(0, count));
    // An error is thrown where the block is awaited, perhaps after the next turn.
    reading.catch(() => {});
    return reading;
  }
}

/** One segment being loaded. */
class Loading {
  readonly #path: string;
  readonly #heads: HeadReader;
  readonly #load: Load;
  readonly #blocks: Blocks;
  readonly #check: SegmentCheck;
  readonly #unread: UnreadLines[] = [];
  /** The parts of a line that continues in the next block, and where it begins in the file. */
  #carried: Buffer[] = [];
  #carriedFrom = 0;

  constructor(path: string, heads: HeadReader, load: Load, blocks: Blocks) {
    this.#path = path;
    this.#blocks = blocks;
    this.#heads = heads;
    this.#load = load;
    this.#check = new SegmentCheck(path);
  }

  async run(file: OpenFile, segment: SegmentEntry): Promise<void> {
    let ahead = this.#blocks.read(file, 0);
    try {
      let position = 0;
      for (let block = await ahead; block.length > 0; block = await ahead) {
        // The next one is read meanwhile.
        ahead = this.#blocks.read(file, position + block.length);
        this.#check.add(block);
        this.#add(block, position);
        position += block.length;
      }
      this.#check.end(segment);
    } catch (error) {
      // The checksum does not say where the damage is.
      for (const lines of this.#unread) lines.check();
      throw error;
    } finally {
      await ahead.catch(() => {});
    }
  }

  /** @param position of the block in the file. */
  #add(block: Buffer, position: number): void {
    const begin = block.indexOf(newline) + 1;
    if (begin === 0) {
      this.#carried.push(Buffer.from(block));
      return;
    }
    this.#parse(Buffer.concat([...this.#carried, block.subarray(0, begin - 1)]), this.#carriedFrom);
    const lines: BlockLine[] = [];
    let readyBytes = 0;
    let from = begin;
    for (let end = block.indexOf(newline, from); end >= 0; end = block.indexOf(newline, from)) {
      const to = block[end - 1] === comma ? end - 1 : end;
      const head = this.#heads.read(block, from, to);
      if (head !== null) readyBytes += to - from;
      lines.push({ from, to, head });
      from = end + 1;
    }
    const isKept = readyBytes >= block.length * readyShareMin;
    const unread = isKept ? new UnreadLines(this.#path, block, position) : null;
    if (unread !== null) this.#unread.push(unread);
    for (const line of lines) this.#addLine(line, block, position, unread);
    // A copy: the next block but one is read into the same buffer.
    this.#carried = [Buffer.from(block.subarray(from))];
    this.#carriedFrom = position + from;
  }

  #addLine({ from, to, head }: BlockLine, block: Buffer, position: number, unread: UnreadLines | null): void {
    if (unread === null || head === null) {
      this.#parse(block.subarray(from, to), position + from);
      return;
    }
    this.#check.count += 1;
    this.#load.unread(unread, unread.add(head, from, to));
    if (head.idempotency !== null) this.#load.idempotency(head.idempotency);
  }

  /** @param offset in the file. */
  #parse(line: Buffer, offset: number): void {
    if (line.length < jobBytesMin) return;
    this.#check.count += 1;
    const bytes = line[line.length - 1] === comma ? line.subarray(0, -1) : line;
    try {
      const parsed: SegmentJob | SegmentKey = JSON.parse(bytes.toString('utf8'));
      if ('id' in parsed) this.#load.job(jobOf(parsed));
      if (parsed.idempotency !== undefined) this.#load.idempotency(parsed.idempotency);
    } catch (error) {
      throw new StoreCorrupt(this.#path, offset, `${messageOf(error)}; ${whatToDo}`);
    }
  }
}
