import { Low } from 'lowdb';
import { nextJob } from './apply.ts';
import type { Files } from './files.ts';
import type { SegmentEntry } from './manifest.ts';
import type { SegmentJob, StoredJobChange } from './record.ts';
import { type JobLine, type JobLines, noLines, SegmentFile } from './segmentFile.ts';
import { requestBytes, type SegmentChanges } from './segmentPlans.ts';

/**
 * Write a segment anew with the changes of its jobs. @param entry the segment as it stands, null for a new one.
 * @param name of the new file. @param now epoch ms, by which idempotency keys have expired. @returns the new segment.
 */
export async function writeSegment(
  files: Files,
  folder: string,
  name: string,
  entry: SegmentEntry | null,
  changes: SegmentChanges,
  now: number,
): Promise<SegmentEntry> {
  const file = new SegmentFile(files, folder, entry, name);
  const segment = new Low<JobLines>(file, noLines());
  const sizes = { requestBytes: entry?.requestBytes ?? 0 };
  await segment.read();
  segment.data = mergeLines(segment.data, changes, now, sizes);
  await segment.write();
  if (file.written === null) throw new Error(`${name} was not written`);
  const first = entry?.first ?? Math.min(...changes.keys());
  return { file: name, first, ...file.written, requestBytes: sizes.requestBytes };
}

/** The lines of a segment after the changes: those of changed jobs are new, those of new jobs follow at the end. */
async function* mergeLines(
  lines: JobLines,
  changes: SegmentChanges,
  now: number,
  sizes: { requestBytes: number },
): AsyncGenerator<JobLine[]> {
  for await (const batch of lines) {
    yield batch.map((line) => {
      const ordinal = ordinalOf(line.bytes);
      const own = changes.get(ordinal);
      if (own === undefined) return line;
      changes.delete(ordinal);
      return lineOf(changed(JSON.parse(line.bytes.toString('utf8')), own, ordinal, now));
    });
  }
  // Those that remain were created by these changes, in this order.
  let batch: JobLine[] = [];
  for (const [ordinal, own] of changes) {
    const job = changed(undefined, own, ordinal, now);
    sizes.requestBytes += requestBytes(job.request);
    batch.push(lineOf(job));
    if (batch.length < 100) continue;
    yield batch;
    batch = [];
  }
  yield batch;
}

function changed(
  before: SegmentJob | undefined,
  changes: readonly StoredJobChange[],
  ordinal: number,
  now: number,
): SegmentJob {
  let job = before;
  for (const change of changes) {
    const idempotency = change.created?.idempotency ?? job?.idempotency;
    job = nextJob(job, change, ordinal);
    if (idempotency !== undefined && idempotency.expiresAt > now) job.idempotency = idempotency;
  }
  if (job === undefined) throw new Error(`job number ${ordinal} has no change`);
  return job;
}

/** `nextJob` makes the ordinal the first member, where `ordinalOf` looks for it. */
function lineOf(job: SegmentJob): JobLine {
  return { bytes: Buffer.from(JSON.stringify(job)), offset: 0 };
}

const beforeOrdinal = '{"ordinal":'.length;

/** The ordinal of a line without parsing the line. */
function ordinalOf(line: Buffer): number {
  const ordinal = Number.parseInt(line.toString('latin1', beforeOrdinal, beforeOrdinal + 16), 10);
  if (!Number.isSafeInteger(ordinal)) throw new Error('a line of a segment does not begin with its ordinal');
  return ordinal;
}
