/* Distinguishes a last write interrupted by a power failure from damage, see
   docs/decisions/0008-groups-in-the-journal.md. Only what was never acknowledged may be cut off. */

import { readLines } from '../../../lib/lines.ts';
import type { OpenFile } from '../files.ts';
import { decodeRecord, type JournalRecord } from './record.ts';

/** The unit in which a disk writes. */
const sectorBytes = 512;

/**
 * Whether an unusable record belongs to a last write that a power failure interrupted. A group of records is one write,
 * and the system writes its pages in any order: a later one may be on disk while an earlier one is not, and reads as
 * zeros, which no record contains. Such a group was never acknowledged. Anything else is damage:
 * - a readable record that does not belong there;
 * - a later one that was written with a later group, which was only started after this one was durable;
 * - an unreadable record without a sector of zeros, or with zeros that do not fill sectors.
 * @param offset of the record. @param seq its expected sequence number.
 */
export async function isLostWrite(file: OpenFile, offset: number, seq: number): Promise<boolean> {
  for await (const lines of readLines((into, position) => file.read(into, offset + position))) {
    for (const line of lines) {
      // Where the file ends before its last write does, that page is lost too.
      if (!line.isWhole) return true;
      const record = recordOf(line.bytes);
      const isOfIt =
        record === null
          ? hasLostSectors(line.bytes, offset + line.offset, offset)
          : record.group <= seq && seq < record.seq;
      if (!isOfIt) return false;
    }
  }
  return true;
}

/** The record on a line; null when it is not a record. */
function recordOf(line: Buffer): JournalRecord | null {
  try {
    return decodeRecord(line);
  } catch {
    return null;
  }
}

/**
 * Whether a line has zeros, and all of them fill sectors to their ends.
 * @param at its position in the file. @param writtenFrom where the first lost byte may be: a write starts within a
 * sector.
 */
function hasLostSectors(line: Buffer, at: number, writtenFrom: number): boolean {
  let from = line.indexOf(0);
  if (from < 0) return false;
  while (from >= 0) {
    let to = from + 1;
    while (line[to] === 0) to += 1;
    const begins = at + from;
    if (begins !== writtenFrom && begins % sectorBytes !== 0) return false;
    if ((at + to) % sectorBytes !== 0) return false;
    from = line.indexOf(0, to);
  }
  return true;
}
