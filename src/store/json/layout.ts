/* Names of the store's files and folders, and the version of their format. Files with other names are not ours and
   never touched. */

import { join } from 'node:path';

/**
 * Of `coordinator.json` and the files it names. A higher number is refused: a newer version wrote it. 2: jobs leave for
 * the archive, so that ordinals have gaps; cost has its own files, and the ledger is differences. 3: a record of the
 * journal names its group. 4: the audit log, in its own files; jobs name the key that created them. 5: whether the
 * queue is paused; holds on providers. 6: runs, with the totals of their jobs; jobs name their run. 7:
 * files, notes about answers; runs of batches; webhooks and their deliveries. 8: changes in the journal say how a life
 * differs from the one before.
 */
export const formatVersion = 8;

/** Jobs of a segment file: at some 2.5 KB each 25 MB, rewritten in a quarter of a second when one of them changes. */
export const segmentJobsMax = 10_000;
/** Bytes of requests after which a segment is closed before it has that many jobs. */
export const segmentRequestBytesMax = 64 * 1024 * 1024;

/** The folders and files of a store. */
export interface Layout {
  root: string;
  manifest: string;
  journal: string;
  jobs: string;
  cost: string;
  archive: string;
  audit: string;
  files: string;
}

/** The paths in the folder of a store. */
export function layoutOf(root: string): Layout {
  return {
    root,
    manifest: join(root, manifestName),
    journal: join(root, 'journal'),
    jobs: join(root, 'jobs'),
    cost: join(root, 'cost'),
    archive: join(root, 'archive'),
    audit: join(root, 'audit'),
    files: join(root, 'files'),
  };
}

export const manifestName = 'coordinator.json';

const journalPattern = /^(\d{16})\.ndjson$/;
const segmentPattern = /^\d{6}-\d+\.json$/;
const costPattern = /^\d{4}-\d\d-\d+\.json$/;
const archivePattern = /^(\d{4}-\d{2}-\d{2})\.(ndjson|idx)$/;
const auditPattern = /^\d{4}-\d\d\.ndjson$/;
const blobPattern = /^([\w-]+)\.bin$/;
const temporaryPattern = /\.tmp$/;

/** Name of the journal file whose first record has this sequence number; names sort in the order of the records. */
export function journalName(firstSeq: number): string {
  return `${String(firstSeq).padStart(16, '0')}.ndjson`;
}

/** The sequence number a journal file is named after; null for other files. */
export function firstSeqOf(name: string): number | null {
  const match = journalPattern.exec(name);
  return match === null ? null : Number(match[1]);
}

/** Name of a segment file. @param index 0 for the first. @param seq the last record of the journal in it. */
export function segmentName(index: number, seq: number): string {
  return `${String(index).padStart(6, '0')}-${seq}.json`;
}

/** Whether a file in `jobs/` is one of ours, and not a user's. */
export function isSegmentName(name: string): boolean {
  return segmentPattern.test(name);
}

/** Name of the file of a month's cost. @param seq the last record of the journal in it. */
export function costName(month: string, seq: number): string {
  return `${month}-${seq}.json`;
}

/** Whether a file in `cost/` is one of ours, and not a user's. */
export function isCostName(name: string): boolean {
  return costPattern.test(name);
}

/** Name of the archive of a day, and of its index. @param day `2026-11-21`. */
export function archiveNames(day: string): { lines: string; index: string } {
  return { lines: `${day}.ndjson`, index: `${day}.idx` };
}

/** The day of a file in `archive/`; null for files that are not ours, such as compressed ones. */
export function archiveDayOf(name: string): { day: string; isIndex: boolean } | null {
  const match = archivePattern.exec(name);
  return match?.[1] === undefined ? null : { day: match[1], isIndex: match[2] === 'idx' };
}

/** Name of the file of a month's entries of the audit log. @param month `2026-11`. */
export function auditName(month: string): string {
  return `${month}.ndjson`;
}

/** Whether a file in `audit/` is one of ours, and not a user's. */
export function isAuditName(name: string): boolean {
  return auditPattern.test(name);
}

/** Name of the file of a blob. @throws Error for an id that makes no safe name. */
export function blobName(id: string): string {
  const name = `${id}.bin`;
  if (!blobPattern.test(name)) throw new Error('the id of a blob is made of letters, digits, - and _');
  return name;
}

/** The id of the blob in a file of `files/`; null for files that are not ours. */
export function idOfBlob(name: string): string | null {
  return blobPattern.exec(name)?.[1] ?? null;
}

/** Whether an unfinished replacement left the file. */
export function isTemporaryName(name: string): boolean {
  return temporaryPattern.test(name);
}
