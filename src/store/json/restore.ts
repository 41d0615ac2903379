/* Opens the folder at a start: reads the checkpoint, replays the journal after it, removes what a crash left. Owns the
   decision what is damage and what is only unfinished; it changes nothing on disk before everything was read and found
   good. */

import { join } from 'node:path';
import type { Low } from 'lowdb';
import type { Logger } from '../../lib/log.ts';
import { growOutsideMemoryFast } from '../../lib/outsideMemory.ts';
import type { Load, LogHost } from '../durableLog.ts';
import { checkAudit, type FoldedAudit } from './audit/auditFile.ts';
import {
  emptyManifest,
  type Manifest,
  manifestDatabase,
  signManifest,
  whatToDo,
} from './checkpoint/manifest.ts';
import { SegmentLoad } from './checkpoint/segmentLoad.ts';
import { readMonth } from './cost/costFile.ts';
import { StoreCorrupt } from './errors.ts';
import type { Files } from './files.ts';
import { type JournalFile, listJournal, missingRecords, replayFile } from './journal/replay.ts';
import {
  formatVersion,
  isAuditName,
  isCostName,
  isSegmentName,
  isTemporaryName,
  journalName,
  type Layout,
} from './layout.ts';

/** The folder after a start. */
export interface Restored extends RestoredJournal {
  /** The audit log of the checkpoint. */
  audit: FoldedAudit;
}

interface RestoredJournal {
  /** The file to append to. */
  active: JournalFile;
  nextSeq: number;
  /** Files before it that are in no checkpoint yet, oldest first. */
  sealed: JournalFile[];
}

/**
 * Restore what is on disk: the checkpoint, then the journal after it. A torn last record is cut off and logged;
 * leftovers of a crash are removed, but only after everything was read and found good.
 * @throws StoreCorrupt, StoreFormatTooNew; nothing was changed on disk then.
 */
export async function restore(
  files: Files,
  layout: Layout,
  host: Pick<LogHost, 'load' | 'auditKept'>,
  logger: Logger,
): Promise<Restored> {
  await files.makeFolder(layout.journal);
  await files.makeFolder(layout.jobs);
  await files.makeFolder(layout.cost);
  await files.makeFolder(layout.audit);
  const database = manifestDatabase(files, layout.manifest);
  const manifest = await readManifest(files, layout, database);
  const { load } = host;
  load.registry(manifest);
  await checkAudit(files, layout.audit, manifest.audit);
  host.auditKept(manifest.audit.seq);
  // The newest first, because some are kept whatever the clock says.
  for (const entry of manifest.costs.toReversed()) {
    if (load.keepsMonth(entry.month)) load.month(await readMonth(files, layout.cost, entry));
  }
  await loadSegments(files, layout, manifest, load);
  load.lastOrdinal(manifest.lastOrdinal);
  const journal = await replay(files, layout, manifest, load, logger);
  await raiseFormat(database, logger);
  await removeLeftovers(files, layout, manifest, journal, logger);
  return { ...journal, audit: manifest.audit };
}

/**
 * Read the manifest. An empty folder gets its first journal file and then its first manifest, so that later a missing
 * one of either is damage and not a new folder.
 */
async function readManifest(files: Files, layout: Layout, database: Low<Manifest>): Promise<Manifest> {
  await database.read();
  if (database.data !== emptyManifest) return database.data;
  const segments = (await files.list(layout.jobs)).filter(isSegmentName);
  const journal = (await listJournal(files, layout.journal)).filter(({ bytes }) => bytes > 0);
  if (segments.length > 0 || journal.length > 0) {
    throw new StoreCorrupt(
      layout.manifest,
      0,
      `it is missing, and there are jobs or a journal beside it; ${whatToDo}`,
    );
  }
  const file = await files.open(join(layout.journal, journalName(1)), 'edit');
  await file.close();
  await files.syncFolder(layout.journal);
  // Sync the folders before a manifest says that they have contents.
  await files.syncFolder(layout.root);
  await database.write();
  return database.data;
}

/** From here on the folder has the present format: an older program, which could not read it correctly, refuses it. */
async function raiseFormat(database: Low<Manifest>, logger: Logger): Promise<void> {
  const { format } = database.data;
  if (format === formatVersion) return;
  database.data = signManifest(database.data);
  await database.write();
  logger.info({ from: format, to: formatVersion }, 'raised the format of the data folder');
}

async function loadSegments(files: Files, layout: Layout, manifest: Manifest, load: Load): Promise<void> {
  const segments = new SegmentLoad(files, layout.jobs, load);
  growOutsideMemoryFast(true);
  try {
    for (const segment of manifest.segments) await segments.add(segment);
  } finally {
    growOutsideMemoryFast(false);
  }
}

async function replay(
  files: Files,
  layout: Layout,
  manifest: Manifest,
  load: Load,
  logger: Logger,
): Promise<RestoredJournal> {
  const found = await listJournal(files, layout.journal);
  const filled = found.filter(({ bytes }) => bytes > 0);
  // A file is wholly in the checkpoint when the next one starts at or before the first record after it.
  const needed = filled.filter(
    (_, i) => (filled[i + 1]?.firstSeq ?? Number.POSITIVE_INFINITY) > manifest.seq + 1,
  );
  const firstSeq = needed[0]?.firstSeq ?? manifest.seq + 1;
  if (firstSeq > manifest.seq + 1) throw missingRecords(layout.journal, manifest.seq + 1, firstSeq - 1);
  const kept: JournalFile[] = [];
  let nextSeq = firstSeq;
  let torn: Torn | null = null;
  for (const file of needed) {
    if (torn !== null)
      throw new StoreCorrupt(torn.path, torn.goodBytes, `it ends within its records; ${whatToDo}`);
    if (file.firstSeq !== nextSeq) throw missingRecords(layout.journal, nextSeq, file.firstSeq - 1);
    const replayed = await replayFile(files, layout.journal, file.name, ({ seq, changes }) => {
      if (seq <= manifest.seq) return;
      for (const change of changes) load.change(change);
    });
    if (replayed.tornBytes > 0) torn = { ...replayed, path: join(layout.journal, file.name) };
    kept.push({ ...file, bytes: replayed.goodBytes });
    nextSeq = replayed.nextSeq;
  }
  if (nextSeq <= manifest.seq) throw missingRecords(layout.journal, nextSeq, manifest.seq);
  // An empty file with another number is left from a failed rotation.
  const begun = found.find((file) => file.bytes === 0 && file.firstSeq === nextSeq);
  const active = begun ?? kept.pop();
  if (active === undefined) throw missingRecords(layout.journal, nextSeq, null);
  const last = needed[needed.length - 1];
  if (last !== undefined) await settle(files, join(layout.journal, last.name), torn, logger);
  await files.syncFolder(layout.journal);
  await files.syncFolder(layout.root);
  // Except the last one, which is read whether the checkpoint contains it or not.
  const sealed = kept.filter((_, i) => (kept[i + 1]?.firstSeq ?? active.firstSeq) > manifest.seq + 1);
  return { active, nextSeq, sealed };
}

/** Records at the end of the journal whose write a crash interrupted. */
interface Torn {
  path: string;
  goodBytes: number;
  tornBytes: number;
}

/**
 * Make durable what was read: a killed process may have left it only in the system's memory, and later data built on it
 * would survive a power failure without it. Torn records are cut off the last file before; in an earlier one, which was
 * whole when the next was started, they would be damage.
 */
async function settle(files: Files, path: string, torn: Torn | null, logger: Logger): Promise<void> {
  const file = await files.open(path, 'edit');
  try {
    if (torn !== null) await file.truncate(torn.goodBytes);
    await file.sync();
  } finally {
    await file.close();
  }
  if (torn === null) return;
  logger.warn(
    { file: path, offset: torn.goodBytes, bytes: torn.tornBytes },
    'cut off the end of the journal: a write that the end of the process interrupted, never acknowledged',
  );
}

/**
 * Remove what a crash left: temporary files, segments that no manifest names, journal files already in the checkpoint.
 */
async function removeLeftovers(
  files: Files,
  layout: Layout,
  manifest: Manifest,
  restored: RestoredJournal,
  logger: Logger,
): Promise<void> {
  const named = new Set(
    [...manifest.segments, ...manifest.costs, ...manifest.audit.files].map(({ file }) => file),
  );
  const journal = new Set([...restored.sealed, restored.active].map((file) => file.name));
  const leftovers = [
    ...(await files.list(layout.root)).filter(isTemporaryName).map((name) => join(layout.root, name)),
    ...(await files.list(layout.jobs))
      .filter((name) => isTemporaryName(name) || (isSegmentName(name) && !named.has(name)))
      .map((name) => join(layout.jobs, name)),
    ...(await files.list(layout.cost))
      .filter((name) => isTemporaryName(name) || (isCostName(name) && !named.has(name)))
      .map((name) => join(layout.cost, name)),
    ...(await files.list(layout.audit))
      .filter((name) => isAuditName(name) && !named.has(name))
      .map((name) => join(layout.audit, name)),
    ...(await listJournal(files, layout.journal))
      .filter(({ name }) => !journal.has(name))
      .map(({ name }) => join(layout.journal, name)),
  ];
  for (const path of leftovers) await files.remove(path);
  if (leftovers.length > 0)
    logger.info({ files: leftovers.length }, 'removed files that an interrupted checkpoint left');
}
