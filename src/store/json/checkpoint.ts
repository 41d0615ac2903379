import { join } from 'node:path';
import { Low } from 'lowdb';
import { messageOf } from '../../domain/errors.ts';
import type { JobRequest } from '../../domain/job.ts';
import { StoreCorrupt } from '../store.ts';
import { applyToRegistry, createRegistry, nextJob } from './apply.ts';
import type { Files } from './files.ts';
import { layoutOf, segmentJobsMax, segmentName, segmentRequestBytesMax } from './layout.ts';
import { manifestDatabase, type SegmentEntry, signManifest, whatToDo } from './manifest.ts';
import type { SegmentJob, StoredJobChange } from './record.ts';
import { replayFile } from './replay.ts';
import { type JobLine, type JobLines, noLines, SegmentFile } from './segmentFile.ts';

/** What a checkpoint is to be made of. Plain data: it goes to another thread. */
export interface CheckpointPlan {
  /** The folder of the store. */
  root: string;
  /** Names of the sealed files of the journal, oldest first, beginning with the first that no checkpoint has in it. */
  journals: string[];
  /** Epoch ms: idempotency keys that have expired by then are left out. */
  now: number;
}

/** What a checkpoint came to. */
export interface CheckpointReport {
  /** The last record of the journal that is in it. */
  seq: number;
  segments: number;
  bytes: number;
  /** Files that are not needed any more and could not be removed, with the reason; the next start removes them. */
  leftovers: string[];
}

/** The changes of the jobs of one segment, by ordinal, each job's in order. */
type SegmentChanges = Map<number, StoredJobChange[]>;

/**
 * Fold sealed files of the journal into the checkpoint: write every segment that has a changed job anew under a new
 * name, then replace the manifest, which alone says what counts, then remove what it names no more. A crash at any
 * step leaves the old checkpoint with its journal, or the new one. Jobs that did not change are copied as bytes.
 * Memory: the changes of the files given, and of a segment a chunk at a time.
 * @throws StoreCorrupt when what it reads is damaged, or what the file system said; what stood stands then.
 */
export async function makeCheckpoint(files: Files, plan: CheckpointPlan): Promise<CheckpointReport> {
  const layout = layoutOf(plan.root);
  const database = manifestDatabase(files, layout.manifest);
  await database.read();
  const before = database.data;
  const registry = createRegistry(before.workers, before.keys);
  const plans = new SegmentPlans(before.segments);
  let seq = before.seq;
  for (const name of plan.journals) {
    const path = join(layout.journal, name);
    const { tornBytes, goodBytes } = await replayFile(files, layout.journal, name, (record) => {
      // An attempt that failed after its manifest was in place is made again: its records are in there.
      if (record.seq <= before.seq) return;
      if (record.seq !== seq + 1) throw new Error(`record ${record.seq} follows ${seq}`);
      seq = record.seq;
      for (const change of record.changes) {
        applyToRegistry(registry, change);
        if (change.kind === 'job') plans.add(change);
      }
    });
    if (tornBytes > 0) throw new StoreCorrupt(path, goodBytes, `it ends within a record; ${whatToDo}`);
  }
  const segments: SegmentEntry[] = [];
  const replaced: string[] = [];
  let bytes = 0;
  let written = 0;
  for (const [index, { entry, changes }] of plans.all.entries()) {
    if (changes.size === 0) {
      if (entry !== null) segments.push(entry);
      continue;
    }
    const segment = await writeSegment(files, layout.jobs, segmentName(index, seq), entry, changes, plan.now);
    if (entry !== null) replaced.push(entry.file);
    segments.push(segment);
    bytes += segment.bytes;
    written += 1;
  }
  const { workers, keys } = registry;
  database.data = signManifest({ seq, workers: [...workers.values()], keys: [...keys.values()], segments });
  await database.write();
  const leftovers = await removeAll(files, [
    ...replaced.map((file) => join(layout.jobs, file)),
    ...plan.journals.map((name) => join(layout.journal, name)),
  ]);
  return { seq, segments: written, bytes, leftovers };
}

/** Which change goes to which segment; closes segments and begins new ones as jobs are created. */
class SegmentPlans {
  readonly all: { entry: SegmentEntry | null; first: number; changes: SegmentChanges }[] = [];
  /** Of jobs that the journals create, by id: their later changes may be in the same record, without an ordinal. */
  readonly #created = new Map<string, number>();
  #lastOrdinal = 0;
  /** Of the last segment. */
  #requestBytes = 0;

  constructor(entries: readonly SegmentEntry[]) {
    for (const entry of entries) {
      this.all.push({ entry, first: entry.first, changes: new Map() });
      this.#lastOrdinal = entry.first + entry.count - 1;
      this.#requestBytes = entry.requestBytes;
    }
  }

  /** @throws Error when the change is of a job that nobody created. */
  add(change: StoredJobChange): void {
    const ordinal =
      change.created === undefined ? this.#ordinalOf(change) : this.#create(change.id, change.created);
    const segment = this.#segmentOf(ordinal);
    const earlier = segment.changes.get(ordinal);
    if (earlier === undefined) segment.changes.set(ordinal, [change]);
    else earlier.push(change);
  }

  #ordinalOf(change: StoredJobChange): number {
    const ordinal = change.ordinal ?? this.#created.get(change.id);
    if (ordinal === undefined || ordinal > this.#lastOrdinal)
      throw new Error(`job ${change.id} was never created`);
    return ordinal;
  }

  #create(id: string, { request }: { request: JobRequest }): number {
    this.#lastOrdinal += 1;
    this.#created.set(id, this.#lastOrdinal);
    const last = this.all[this.all.length - 1];
    const isFull =
      last === undefined ||
      this.#lastOrdinal - last.first >= segmentJobsMax ||
      this.#requestBytes >= segmentRequestBytesMax;
    if (isFull) {
      this.all.push({ entry: null, first: this.#lastOrdinal, changes: new Map() });
      this.#requestBytes = 0;
    }
    this.#requestBytes += requestBytes(request);
    return this.#lastOrdinal;
  }

  #segmentOf(ordinal: number): { changes: SegmentChanges } {
    let low = 0;
    let high = this.all.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if ((this.all[middle]?.first ?? 0) <= ordinal) low = middle;
      else high = middle - 1;
    }
    const segment = this.all[low];
    if (segment === undefined) throw new Error(`there is no segment for job number ${ordinal}`);
    return segment;
  }
}

function requestBytes(request: JobRequest): number {
  return Buffer.byteLength(JSON.stringify(request));
}

async function writeSegment(
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

async function removeAll(files: Files, paths: readonly string[]): Promise<string[]> {
  const leftovers: string[] = [];
  for (const path of paths) {
    try {
      await files.remove(path);
    } catch (error) {
      leftovers.push(`${path}: ${messageOf(error)}`);
    }
  }
  return leftovers;
}
