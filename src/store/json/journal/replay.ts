/* Reads the files of the journal in order. Owns the rule that no number is missing; it measures what a torn write left
   at an end, and does not judge it. */

import { join } from 'node:path';
import { messageOf } from '../../../domain/errors.ts';
import { readLines } from '../../../lib/lines.ts';
import { whatToDo } from '../checkpoint/manifest.ts';
import { StoreCorrupt } from '../errors.ts';
import type { Files } from '../files.ts';
import { firstSeqOf, journalName } from '../layout.ts';
import { isLostWrite } from './lostWrite.ts';
import { decodeRecord, type JournalRecord } from './record.ts';

/** A file of the journal. */
export interface JournalFile {
  name: string;
  firstSeq: number;
  /** Of its whole records. */
  bytes: number;
}

/** The result of reading one file of the journal. */
export interface Replayed {
  /** The sequence number after its last record. */
  nextSeq: number;
  /** The end of its last whole record. */
  goodBytes: number;
  /**
   * Bytes after that: records whose write a crash interrupted. Never acknowledged, because that needs all of it on
   * disk.
   */
  tornBytes: number;
}

/** The journal files in a folder, oldest first, with their lengths; other files are ignored. */
export async function listJournal(files: Files, folder: string): Promise<JournalFile[]> {
  const found: JournalFile[] = [];
  for (const name of await files.list(folder)) {
    const firstSeq = firstSeqOf(name);
    if (firstSeq === null) continue;
    const file = await files.open(join(folder, name), 'read');
    try {
      found.push({ name, firstSeq, bytes: await file.size() });
    } finally {
      await file.close();
    }
  }
  return found.sort((a, b) => a.firstSeq - b.firstSeq);
}

/**
 * Read one journal file and pass every record to `onRecord`, in order, with the bytes of its line; after some hundreds
 * of them `pause` is awaited. A file of any size is read in constant memory. Bytes after the last newline, and the rest
 * of a lost write (`isLostWrite`), are not records; the caller decides whether they are allowed there.
 * @throws StoreCorrupt for any other damaged record, a gap in the sequence, or a record for which `onRecord` threw.
 */
export async function replayFile(
  files: Files,
  folder: string,
  name: string,
  onRecord: (record: JournalRecord, lineBytes: number) => void,
  pause?: () => Promise<void>,
): Promise<Replayed> {
  const path = join(folder, name);
  let nextSeq = firstSeqOf(name) ?? 1;
  let goodBytes = 0;
  let tornBytes = 0;
  const file = await files.open(path, 'read');
  try {
    for await (const lines of readLines((into, position) => file.read(into, position))) {
      for (const { bytes, offset, isWhole } of lines) {
        if (!isWhole) {
          tornBytes = bytes.length;
          break;
        }
        try {
          const record = decodeRecord(bytes);
          if (record.seq !== nextSeq)
            throw new Error(`record ${record.seq} is in the place of record ${nextSeq}`);
          onRecord(record, bytes.length);
        } catch (error) {
          if (await isLostWrite(file, offset, nextSeq)) {
            return { nextSeq, goodBytes: offset, tornBytes: (await file.size()) - offset };
          }
          throw new StoreCorrupt(path, offset, `${messageOf(error)}; ${whatToDo}`);
        }
        nextSeq += 1;
        goodBytes = offset + bytes.length + 1;
      }
      await pause?.();
    }
  } finally {
    await file.close();
  }
  return { nextSeq, goodBytes, tornBytes };
}

/** The error when records are missing between two files, or before the first. */
export function missingRecords(folder: string, from: number, to: number | null): StoreCorrupt {
  const what = to === null ? `record ${from} and later ones are` : `records ${from} to ${to} are`;
  return new StoreCorrupt(join(folder, journalName(from)), 0, `${what} missing; ${whatToDo}`);
}
