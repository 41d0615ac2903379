/*
 * Folding sealed files of the journal into the checkpoint. Owns the order of its steps: new files first, then the
 * manifest, then the removal of what it no longer names, so that a crash at any of them leaves the old checkpoint with
 * its journal, or the new one.
 */

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

/** What a checkpoint is to be made of. Plain data: it goes to another thread. */
export interface CheckpointPlan {
  /** The folder of the store. */
  root: string;
  /** Names of the sealed files of the journal, oldest first, beginning with the first that no checkpoint has in it. */
  journals: string[];
  /** Bytes of journal that are folded in at once: bounds the memory, see `makeCheckpoint`. */
  roundBytesMax: number;
  /** Epoch ms: idempotency keys that have expired by then are left out. */
  now: number;
  /** Epoch ms: months of the audit log that ended by then are removed. */
  auditBefore: number;
}

/** What a checkpoint came to. */
export interface CheckpointReport {
  /** The last record of the journal that is in it. */
  seq: number;
  segments: number;
  bytes: number;
  audit: FoldedAudit;
  /** Files that are not needed any more and could not be removed, with the reason; the next start removes them. */
  leftovers: string[];
}

/**
 * Fold sealed files of the journal into the checkpoint: write every segment that has a changed job anew under a new
 * name, then replace the manifest, which alone says what counts, then remove what it names no more. A crash at any
 * step leaves the old checkpoint with its journal, or the new one. Jobs that did not change are copied as bytes.
 *
 * A long journal is folded in by rounds, each a whole checkpoint up to some record, so that memory is bounded by the
 * changes of one round (about 3 bytes for a byte of journal) and a chunk of a segment, whatever waits.
 * @throws StoreCorrupt when what it reads is damaged, or what the file system said; what stood stands then, or what
 * the last whole round made of it.
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

/** A checkpoint on its way to a later record of the journal. */
class Folding {
  readonly report: CheckpointReport;
  /** Of journal that was added since the last round. */
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

  /** Begin from the checkpoint that stands. */
  static async begin(files: Files, layout: Layout, plan: CheckpointPlan): Promise<Folding> {
    const manifest = manifestDatabase(files, layout.manifest);
    await manifest.read();
    return new Folding(files, layout, plan, manifest);
  }

  /** Take in a record. @throws Error when it is not the next one. */
  add({ seq, changes }: JournalRecord, lineBytes: number): void {
    // Of an attempt that failed after one of its rounds, which is in the checkpoint that this one began from.
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

  /** Make what was added the checkpoint. */
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

  /** Remove files that are not needed any more; what cannot be removed is reported. */
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
