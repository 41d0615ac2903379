/* A sorted run of an index as bytes: writing, reading and searching it. A run has a checksum; a damaged one means that
   the index is rebuilt. */

import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { OpenFile } from '../files.ts';

/** Entries of a run at most: 208 KiB, read and searched in half a millisecond. */
export const runEntriesMax = 8_192;

/** The position of a job in an archive file; bytes, without the newline. */
export interface Place {
  offset: number;
  length: number;
}

/** A job by its key, see `keyOf`. */
export interface IndexEntry extends Place {
  key: string;
}

/** A sorted part of an index file, as kept in memory. */
export interface SortedRun {
  /** Of its header in the index file. */
  position: number;
  count: number;
  /** The end of the part of the archive file covered by it and the runs before, bytes. */
  to: number;
  /** CRC-32 of its entries. */
  sum: number;
  first: string;
  last: string;
}

/** The index file is not as written: rebuild it from the archive file. */
export class IndexDamaged extends Error {}

const magic = Buffer.from('svcindx1');
const keyBytes = 16;
/** Key, offset (6 bytes), length (4 bytes). */
const entryBytes = keyBytes + 10;
/** Magic, `to` (8), count (4), sum (4), first and last key, CRC-32 of all that (4). */
const headBytes = 8 + 8 + 4 + 4 + 2 * keyBytes + 4;

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/**
 * The search key of an id: 16 bytes as hex. A UUID is its own key; version 7 sorts by the time of creation, so the keys
 * of one run are close together and most runs need not be read. Other ids are hashed.
 */
export function keyOf(id: string): string {
  return uuid.test(id) ? id.replaceAll('-', '') : hash('sha256', id).slice(0, 2 * keyBytes);
}

/** Bytes of a run in its file. */
export function runBytes({ count }: SortedRun): number {
  return headBytes + count * entryBytes;
}

/** A run in its written form. @param entries at least one. @param to see `SortedRun`. */
export function encodeRun(
  entries: IndexEntry[],
  position: number,
  to: number,
): { run: SortedRun; bytes: Buffer } {
  entries.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : a.offset - b.offset));
  const bytes = Buffer.alloc(headBytes + entries.length * entryBytes);
  let at = headBytes;
  for (const { key, offset, length } of entries) {
    bytes.write(key, at, 'hex');
    bytes.writeUIntBE(offset, at + keyBytes, 6);
    bytes.writeUInt32BE(length, at + keyBytes + 6);
    at += entryBytes;
  }
  const first = entries[0]?.key ?? '';
  const last = entries[entries.length - 1]?.key ?? '';
  const sum = crc32(bytes.subarray(headBytes));
  magic.copy(bytes);
  bytes.writeBigUInt64BE(BigInt(to), 8);
  bytes.writeUInt32BE(entries.length, 16);
  bytes.writeUInt32BE(sum, 20);
  bytes.write(first, 24, 'hex');
  bytes.write(last, 24 + keyBytes, 'hex');
  bytes.writeUInt32BE(crc32(bytes.subarray(0, headBytes - 4)), headBytes - 4);
  return { run: { position, count: entries.length, to, sum, first, last }, bytes };
}

/** The runs of an index file, only their heads. A run cut off by a crash does not count. @throws IndexDamaged. */
export async function readRuns(file: OpenFile): Promise<SortedRun[]> {
  const size = await file.size();
  const runs: SortedRun[] = [];
  const head = Buffer.alloc(headBytes);
  for (let position = 0; position + headBytes <= size; ) {
    await fill(file, head, position);
    if (
      !head.subarray(0, 8).equals(magic) ||
      crc32(head.subarray(0, -4)) !== head.readUInt32BE(headBytes - 4)
    )
      throw new IndexDamaged('the head of a run is not the one that was written');
    const run: SortedRun = {
      position,
      count: head.readUInt32BE(16),
      to: Number(head.readBigUInt64BE(8)),
      sum: head.readUInt32BE(20),
      first: head.toString('hex', 24, 24 + keyBytes),
      last: head.toString('hex', 24 + keyBytes, 24 + 2 * keyBytes),
    };
    position += runBytes(run);
    if (position <= size) runs.push(run);
  }
  return runs;
}

/** The places of a key in a run. @throws IndexDamaged. */
export async function searchRun(file: OpenFile, run: SortedRun, key: string): Promise<Place[]> {
  const bytes = Buffer.alloc(run.count * entryBytes);
  await fill(file, bytes, run.position + headBytes);
  if (crc32(bytes) !== run.sum) throw new IndexDamaged('a run is not the one that was written');
  const wanted = Buffer.from(key, 'hex');
  const compare = (index: number) =>
    bytes.compare(wanted, 0, keyBytes, index * entryBytes, index * entryBytes + keyBytes);
  let low = 0;
  let high = run.count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compare(middle) < 0) low = middle + 1;
    else high = middle;
  }
  const places: Place[] = [];
  for (let index = low; index < run.count && compare(index) === 0; index += 1) {
    const at = index * entryBytes + keyBytes;
    places.push({ offset: bytes.readUIntBE(at, 6), length: bytes.readUInt32BE(at + 6) });
  }
  return places;
}

/** @throws IndexDamaged when the file ends before. */
async function fill(file: OpenFile, into: Buffer, position: number): Promise<void> {
  let done = 0;
  while (done < into.length) {
    const count = await file.read(into.subarray(done), position + done);
    if (count === 0) throw new IndexDamaged('it ends within a run');
    done += count;
  }
}
