/* Folds sealed journal files into the checkpoint. Owns the order of its steps: new files first, then the manifest, then
   the removal of files that it no longer names, so that a crash at any step leaves the old checkpoint with its journal,
   or the new one. */

import { join } from 'node:path';
import type { Low } from 'lowdb';
import { messageOf } from '../../../domain/errors.ts';
import { applyToRegistry, createRegistry, type Registry, recordsOf } from '../../changes/apply.ts';
import { AuditFolding, type FoldedAudit } from '../audit/auditFile.ts';
import { CostFolding } from '../cost/costFile.ts';
import { StoreCorrupt } from '../errors.ts';
import type { Files } from '../files.ts';
import type { JournalRecord } from '../journal/record.ts';
import { replayFile } from '../journal/replay.ts';
import { type Layout, layoutOf, segmentName } from '../layout.ts';
import { type Manifest, manifestDatabase, type SegmentEntry, signManifest, whatToDo } from './manifest.ts';
import { writeSegment } from './segmentMerge.ts';
import { SegmentPlans } from './segmentPlans.ts';

/** The input of a checkpoint. Plain data: it is sent to another thread. */
export interface CheckpointPlan {
  /** The folder of the store. */
  root: string;
  /** Names of the sealed journal files, oldest first, starting with the first that is in no checkpoint. */
  journals: string[];
  /** Bytes of journal folded at once: bounds the memory, see `makeCheckpoint`. */
  roundBytesMax: number;
  /** Epoch ms: idempotency keys that have expired by then are dropped. */
  now: number;
  /** Epoch ms: months of the audit log that ended by then are removed. */
  auditBefore: number;
}

/** The result of a checkpoint. */
export interface CheckpointReport {
  /** The last record of the journal in it. */
  seq: number;
  segments: number;
  bytes: number;
  audit: FoldedAudit;
  /** Obsolete files that could not be removed, with the reason; the next start removes them. */
  leftovers: string[];
}

/**
 * Fold sealed journal files into the checkpoint: write every segment that has a changed job under a new name, then
 * replace the manifest, which alone says what counts, then remove what it no longer names. A crash at any step leaves
 * the old checkpoint with its journal, or the new one. Unchanged jobs are copied as bytes.
 *
 * A long journal is folded in rounds, each a whole checkpoint up to some record, so that memory is bounded by the
 * changes of one round (about 3 bytes for a byte of journal) and a chunk of a segment, however much waits.
 * @throws StoreCorrupt when its input is damaged, or the error of the file system; the old checkpoint, or that of the
 * last whole round, then remains.
 */
export async function makeCheckpoint(files: Files, plan: CheckpointPlan): Promise<CheckpointReport> {
  const layout = layoutOf(plan.root);
  const folding = await Folding.begin(files, layout, plan);
  for (const name of plan.journals) {
    const { tornBytes, goodBytes } = await replayFile(
      files,
      layout.journal,
      name,
      (record, lineBytes) => folding.add(record, lineBytes),
      async () => {
        if (folding.bytes >= plan.roundBytesMax) await folding.finish();
      },
    );
    if (tornBytes > 0) {
      throw new StoreCorrupt(join(layout.journal, name), goodBytes, `it ends within a record; ${whatToDo}`);
    }
  }
  await folding.finish();
  await folding.removeAll(plan.journals.map((name) => join(layout.journal, name)));
  return folding.report;
}

/** A checkpoint being advanced to a later record of the journal. */
class Folding {
  readonly report: CheckpointReport;
  /** Bytes of journal since the last round. */
  bytes = 0;
  readonly #files: Files;
  readonly #layout: Layout;
  readonly #plan: CheckpointPlan;
  readonly #manifest: Low<Manifest>;
  readonly #registry: Registry;
  readonly #costs: CostFolding;
  readonly #audit: AuditFolding;
  #segments: SegmentPlans;

  private constructor(files: Files, layout: Layout, plan: CheckpointPlan, manifest: Low<Manifest>) {
    const { seq, lastOrdinal, segments, costs, audit } = manifest.data;
    this.#files = files;
    this.#layout = layout;
    this.#plan = plan;
    this.#manifest = manifest;
    this.#costs = new CostFolding(files, layout.cost, costs);
    this.#audit = new AuditFolding(files, layout.audit, audit);
    this.#registry = createRegistry({ costs: this.#costs, audit: this.#audit }, manifest.data);
    this.#segments = new SegmentPlans(segments, lastOrdinal);
    this.report = { seq, segments: 0, bytes: 0, audit, leftovers: [] };
  }

  /** Start from the current checkpoint. */
  static async begin(files: Files, layout: Layout, plan: CheckpointPlan): Promise<Folding> {
    const manifest = manifestDatabase(files, layout.manifest);
    await manifest.read();
    return new Folding(files, layout, plan, manifest);
  }

  /** Add a record. @throws Error when it is not the next one. */
  add({ seq, changes }: JournalRecord, lineBytes: number): void {
    // Already folded by a round of an earlier, failed attempt.
    if (seq <= this.report.seq) return;
    if (seq !== this.report.seq + 1) throw new Error(`record ${seq} follows ${this.report.seq}`);
    this.report.seq = seq;
    this.bytes += lineBytes;
    for (const change of changes) {
      applyToRegistry(this.#registry, change);
      if (change.kind === 'job') this.#segments.add(change);
      if (change.kind === 'archived') this.#segments.archive(change.ordinals);
    }
  }

  /** Make the added records part of the checkpoint. */
  async finish(): Promise<void> {
    const { report } = this;
    const segments: SegmentEntry[] = [];
    const dropped: SegmentEntry[] = [];
    for (const [index, { entry, first, changes }] of this.#segments.all.entries()) {
      if (changes.size === 0) {
        if (entry !== null) (this.#isNeeded(entry) ? segments : dropped).push(entry);
        continue;
      }
      const name = segmentName(index, report.seq);
      const place = { files: this.#files, folder: this.#layout.jobs, name, first };
      const segment = await writeSegment(place, entry, changes, this.#plan.now);
      if (entry !== null) dropped.push(entry);
      (this.#isNeeded(segment) ? segments : dropped).push(segment);
      report.segments += 1;
      report.bytes += segment.bytes;
    }
    const { lastOrdinal } = this.#segments;
    const { costs, former } = await this.#costs.finish(report.seq);
    const { audit, former: overAudit } = await this.#audit.finish(this.#plan.auditBefore);
    this.#manifest.data = signManifest({
      seq: report.seq,
      ...recordsOf(this.#registry),
      lastOrdinal,
      segments,
      costs,
      audit,
    });
    await this.#manifest.write();
    report.audit = audit;
    this.#segments = new SegmentPlans(segments, lastOrdinal);
    this.bytes = 0;
    await this.removeAll([
      ...dropped.map(({ file }) => join(this.#layout.jobs, file)),
      ...former,
      ...overAudit,
    ]);
  }

  #isNeeded({ forgetAt }: SegmentEntry): boolean {
    return forgetAt === null || forgetAt > this.#plan.now;
  }

  /** Remove obsolete files; failures are reported. */
  async removeAll(paths: readonly string[]): Promise<void> {
    for (const path of paths) {
      try {
        await this.#files.remove(path);
      } catch (error) {
        this.report.leftovers.push(`${path}: ${messageOf(error)}`);
      }
    }
  }
}
