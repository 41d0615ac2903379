/* A line of the journal, read and verified, and the lines of the segments. A record with a wrong checksum is rejected
   here. */

import { crc32 } from 'node:zlib';
import type { JobRecord } from '../../../domain/job.ts';
import type { StoredChange } from '../../durableLog.ts';
import type { IdempotencyRecord } from '../../store.ts';
import { upgradeLedger } from './formerLedger.ts';

/** The line of a job in a segment file. */
export interface SegmentJob extends JobRecord {
  /** The key it was dispatched with, until that expires. */
  idempotency?: IdempotencyRecord | undefined;
}

/** What remains on the line of a job that was archived before its idempotency key has expired. */
export interface SegmentKey {
  ordinal: number;
  idempotency: IdempotencyRecord;
}

/** A record of the journal, verified. */
export interface JournalRecord {
  seq: number;
  /** The first of the records that were written and synced together; itself in format 1 and 2. */
  group: number;
  changes: StoredChange[];
}

/** The job of a line, in the form in which `nextJob` makes it. */
export function jobOf({
  ordinal,
  id,
  version,
  createdAt,
  createdBy,
  run,
  request,
  state,
  life,
}: SegmentJob): JobRecord {
  return {
    ordinal,
    id,
    version,
    createdAt,
    // Before format 4 there was none.
    createdBy: createdBy ?? null,
    ...(run === undefined ? {} : { run }),
    request,
    state,
    life,
  };
}

/** A checksum in its written form: 8 hex digits. */
export function hex(sum: number): string {
  return sum.toString(16).padStart(8, '0');
}

const head = /^\{"seq":((\d{1,16})(?:,"group":(\d{1,16}))?),"sum":"([0-9a-f]{8})","changes":$/;
/** `{"seq":`, 16 digits, `,"group":`, 16 digits, `,"sum":"`, 8 digits, `","changes":` */
const headBytesMax = 7 + 16 + 9 + 16 + 8 + 8 + 12;
const headEnd = '"changes":';
const closingBrace = 0x7d;

/**
 * Decode a line of the journal. The checksum, CRC-32 of the numbers as written followed by the changes, is computed
 * from the bytes themselves, before they are decoded.
 * @throws Error that says what is wrong with it.
 */
export function decodeRecord(line: Buffer): JournalRecord {
  const start = line.subarray(0, headBytesMax).toString('latin1');
  const changesAt = start.indexOf(headEnd) + headEnd.length;
  const match = head.exec(start.slice(0, changesAt));
  if (match === null || line[line.length - 1] !== closingBrace) throw new Error('it is not a record');
  const [, numbers = '', seq, group = seq, sum] = match;
  const changes = line.subarray(changesAt, -1);
  if (hex(crc32(changes, crc32(numbers))) !== sum) throw new Error('its checksum is wrong');
  const stored: StoredChange[] = JSON.parse(changes.toString('utf8'));
  for (const change of stored) upgradeLedger(change);
  return { seq: Number(seq), group: Number(group), changes: stored };
}
