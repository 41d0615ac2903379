/* The lines of a segment after its changes. Owns what remains of an archived job: its idempotency key until that
   expires. Existing files are not changed; a new one is written. */

import { Low } from 'lowdb';
import { leavingJob, nextJob } from '../../changes/apply.ts';
import type { Files } from '../files.ts';
import type { SegmentJob, SegmentKey } from '../journal/record.ts';
import type { SegmentEntry } from './manifest.ts';
import { type JobLine, type JobLines, noLines, SegmentFile } from './segmentFile.ts';
import { requestBytes, type SegmentChange, type SegmentChanges } from './segmentPlans.ts';

/** Where a segment is written. */
export interface SegmentPlace {
  files: Files;
  folder: string;
  /** Of the new file. */
  name: string;
  /** Ordinal of its first job, which may be removed. */
  first: number;
}

/**
 * Write a new segment with the changes of its jobs. Obsolete lines are dropped, so that a segment may become empty.
 * @param entry the current segment, null for a new one.
 * @param now epoch ms, by which idempotency keys have expired. @returns the new segment.
 */
export async function writeSegment(
  { files, folder, name, first }: SegmentPlace,
  entry: SegmentEntry | null,
  changes: SegmentChanges,
  now: number,
): Promise<SegmentEntry> {
  const file = new SegmentFile(files, folder, entry, name);
  const segment = new Low<JobLines>(file, noLines());
  const merge = new Merge(changes, now, entry?.requestBytes ?? 0);
  await segment.read();
  segment.data = merge.lines(segment.data);
  await segment.write();
  if (file.written === null) throw new Error(`${name} was not written`);
  const { requestBytes: bytesOfRequests, forgetAt } = merge;
  return { file: name, first, ...file.written, forgetAt, requestBytes: bytesOfRequests };
}

/**
 * The lines of a segment after its changes: those of changed jobs are replaced, those of new jobs follow at the end.
 */
class Merge {
  /** Of the remaining jobs. */
  requestBytes: number;
  readonly #changes: SegmentChanges;
  readonly #now: number;
  #hasJobs = false;
  #keysUntil = 0;

  constructor(changes: SegmentChanges, now: number, bytesOfRequests: number) {
    this.#changes = changes;
    this.#now = now;
    this.requestBytes = bytesOfRequests;
  }

  /** See `SegmentEntry`; valid after the last line. */
  get forgetAt(): number | null {
    return this.#hasJobs ? null : this.#keysUntil;
  }

  async *lines(before: JobLines): AsyncGenerator<JobLine[]> {
    for await (const batch of before) {
      const merged: JobLine[] = [];
      for (const line of batch) this.#merge(line, merged);
      yield merged;
    }
    // The remaining changes created jobs, in this order.
    let batch: JobLine[] = [];
    for (const [ordinal, own] of this.#changes) {
      this.#add(this.#changed(undefined, own, ordinal), batch);
      if (batch.length < 100) continue;
      yield batch;
      batch = [];
    }
    yield batch;
  }

  #merge(line: JobLine, into: JobLine[]): void {
    const { ordinal, isKey } = headOf(line.bytes);
    const own = this.#changes.get(ordinal);
    if (own !== undefined) {
      this.#changes.delete(ordinal);
      this.#add(this.#changed(JSON.parse(line.bytes.toString('utf8')), own, ordinal), into);
    } else if (isKey) {
      this.#add(this.#remembered(JSON.parse(line.bytes.toString('utf8'))), into);
    } else {
      this.#hasJobs = true;
      into.push(line);
    }
  }

  /** @returns null when nothing remains of it. */
  #changed(
    before: SegmentJob | undefined,
    changes: readonly SegmentChange[],
    ordinal: number,
  ): SegmentJob | SegmentKey | null {
    let job = before;
    let left: SegmentJob | undefined;
    for (const change of changes) {
      if (change === 'archived') {
        left = leavingJob(job, ordinal);
        job = undefined;
        continue;
      }
      const idempotency = change.created?.idempotency ?? job?.idempotency;
      job = nextJob(job, change, ordinal);
      if (idempotency !== undefined && idempotency.expiresAt > this.#now) job.idempotency = idempotency;
    }
    if (job !== undefined && before === undefined) this.requestBytes += requestBytes(job.request);
    if (job === undefined && before !== undefined) this.requestBytes -= requestBytes(before.request);
    if (job !== undefined) return job;
    if (left === undefined) throw new Error(`job number ${ordinal} has no change`);
    return left.idempotency === undefined
      ? null
      : this.#remembered({ ordinal, idempotency: left.idempotency });
  }

  #remembered(key: SegmentKey): SegmentKey | null {
    return key.idempotency.expiresAt > this.#now ? key : null;
  }

  #add(line: SegmentJob | SegmentKey | null, into: JobLine[]): void {
    if (line === null) return;
    if ('id' in line) this.#hasJobs = true;
    else this.#keysUntil = Math.max(this.#keysUntil, line.idempotency.expiresAt);
    into.push({ bytes: Buffer.from(JSON.stringify(line)), offset: 0 });
  }
}

/** The first members of a line: `nextJob` makes the ordinal the first one and the id the second. */
const head = /^\{"ordinal":(\d{1,16}),"(id|idempotency)":/;
const headBytesMax = 50;

/** The ordinal of a line, and whether it is only a key, without parsing the line. */
function headOf(line: Buffer): { ordinal: number; isKey: boolean } {
  const match = head.exec(line.toString('latin1', 0, headBytesMax));
  if (match === null) throw new Error('a line of a segment does not begin with its ordinal');
  return { ordinal: Number(match[1]), isKey: match[2] === 'idempotency' };
}
