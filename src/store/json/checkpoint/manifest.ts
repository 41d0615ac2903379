/*
 * `coordinator.json`, the file that says which others count. Owns its checksum, and how manifests of older formats are
 * read. Replacing it is the checkpoint: after a crash it is the old one or the new one.
 */

import { crc32 } from 'node:zlib';
import { Low } from 'lowdb';
import { untouchedQueue } from '../../../domain/queue.ts';
import type { RegistryRecords } from '../../durableLog.ts';
import { StoreFormatTooNew } from '../../store.ts';
import { DurableJson } from '../durableFile.ts';
import { StoreCorrupt } from '../errors.ts';
import type { Files } from '../files.ts';
import { hex } from '../journal/record.ts';
import { formatVersion, manifestName } from '../layout.ts';

/** One file of jobs, as the manifest names it. */
export interface SegmentEntry {
  /** Its name in `jobs/`. */
  file: string;
  /** Ordinal of its first job. */
  first: number;
  /** How many lines it has: jobs, and keys of archived ones. */
  count: number;
  /** Epoch ms from which on nothing in it is needed, as all that is left are keys of archived jobs; null while it has jobs. */
  forgetAt: number | null;
  /** Bytes of the JSON of their requests. */
  requestBytes: number;
  /** Length of the file. */
  bytes: number;
  /** CRC-32 of the whole file, 8 hex digits. */
  sum: string;
}

/** One file of cost, as the manifest names it. */
export interface CostEntry {
  /** Its name in `cost/`. */
  file: string;
  /** The UTC month, `2026-11`. */
  month: string;
  /** Length of the file. */
  bytes: number;
  /** CRC-32 of the whole file, 8 hex digits. */
  sum: string;
}

/** One file of the audit log, as the manifest names it. */
export interface AuditFile {
  /** Its name in `audit/`. */
  file: string;
  /** The UTC month, `2026-11`. */
  month: string;
  /** Length of what counts; bytes after it are of a checkpoint that did not end. Each line has a checksum of its own. */
  bytes: number;
}

/** `coordinator.json`: the one file that says what the checkpoint consists of. Replacing it is the checkpoint. */
export interface Manifest extends RegistryRecords {
  format: number;
  /** The last record of the journal that the checkpoint has in it. */
  seq: number;
  /** The last ordinal that was given; its job may be archived. */
  lastOrdinal: number;
  segments: SegmentEntry[];
  /** In order of the months. */
  costs: CostEntry[];
  /** The audit log: the number of the last entry that a checkpoint has taken in, and the files in order of the months. */
  audit: { seq: number; files: AuditFile[] };
  /** CRC-32 of the JSON of everything else, see `sumOf`. */
  sum: string;
}

/** The manifest of a store that has no checkpoint yet. */
export const emptyManifest: Manifest = signManifest({
  seq: 0,
  workers: [],
  keys: [],
  lastOrdinal: 0,
  segments: [],
  costs: [],
  audit: { seq: 0, files: [] },
  queue: untouchedQueue,
  providers: [],
});

/** Put format and checksum to the contents of a manifest. */
export function signManifest(contents: Omit<Manifest, 'format' | 'sum'>): Manifest {
  const unsigned = inOrder({ ...contents, format: formatVersion });
  return { ...unsigned, sum: sumOf(unsigned) };
}

/** What an older format does not have is undefined, and so not in the text. */
function sumOf(unsigned: Omit<Manifest, 'sum'>): string {
  return hex(crc32(JSON.stringify(inOrder(unsigned))));
}

function inOrder(unsigned: Omit<Manifest, 'sum'>): Omit<Manifest, 'sum'> {
  const { format, seq, workers, keys, lastOrdinal, segments, costs, audit, queue, providers } = unsigned;
  return { format, seq, workers, keys, lastOrdinal, segments, costs, audit, queue, providers };
}

/**
 * The manifest as a lowdb database: `read` it, `update` it. `data` stays `emptyManifest` when there is no file.
 * Its `read` throws StoreCorrupt and StoreFormatTooNew.
 */
export function manifestDatabase(files: Files, path: string): Low<Manifest> {
  return new Low<Manifest>(new DurableJson(files, path, (text) => decodeManifest(path, text)), emptyManifest);
}

function decodeManifest(path: string, text: string): Manifest {
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch (error) {
    const offset =
      error instanceof Error ? Number(/position (\d+)/.exec(error.message)?.[1] ?? text.length) : 0;
    throw new StoreCorrupt(path, offset, `it is not JSON; ${whatToDo}`);
  }
  if (read === null || typeof read !== 'object' || !('format' in read) || typeof read.format !== 'number') {
    throw new StoreCorrupt(path, 0, `it is not a ${manifestName}; ${whatToDo}`);
  }
  if (read.format > formatVersion) {
    throw new StoreFormatTooNew(
      `${path} has format ${read.format}, this version reads up to ${formatVersion}: run the version that wrote it, or a newer one`,
    );
  }
  // Everything else stands under the checksum, so it is what this program wrote.
  const manifest = read as Manifest;
  if (sumOf(manifest) !== manifest.sum) {
    throw new StoreCorrupt(path, 0, `its checksum is not the one it was written with; ${whatToDo}`);
  }
  return completed(manifest);
}

/** A manifest with what has been added since its format; the format stays the old one until it is signed. */
function completed(manifest: Manifest): Manifest {
  const { audit, queue, providers } = { ...emptyManifest, ...manifest };
  return { ...(manifest.format === 1 ? withArchive(manifest) : manifest), audit, queue, providers };
}

function withArchive(manifest: Manifest): Manifest {
  const last = manifest.segments[manifest.segments.length - 1];
  return {
    ...manifest,
    // Format 1 had no archive, so ordinals had no gaps.
    lastOrdinal: last === undefined ? 0 : last.first + last.count - 1,
    segments: manifest.segments.map((segment) => ({ ...segment, forgetAt: null })),
    costs: [],
  };
}

/** The end of every message about damage. */
export const whatToDo = 'nothing was changed; restore the folder from a backup, see docs/operations.md';
