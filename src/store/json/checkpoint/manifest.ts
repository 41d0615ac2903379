/* `coordinator.json`, the file that says which others count. Owns its checksum, and reading manifests of older formats.
   Replacing it is the checkpoint: after a crash it is the old one or the new one. */

import { crc32 } from 'node:zlib';
import { Low } from 'lowdb';
import { untouchedQueue } from '../../../domain/queue.ts';
import type { RegistryRecords } from '../../durableLog.ts';
import { StoreFormatTooNew } from '../../storeErrors.ts';
import { DurableJson } from '../durableFile.ts';
import { StoreCorrupt } from '../errors.ts';
import type { Files } from '../files.ts';
import { hex } from '../journal/record.ts';
import { formatVersion, manifestName } from '../layout.ts';

/** A file of jobs in the manifest. */
export interface SegmentEntry {
  /** Its name in `jobs/`. */
  file: string;
  /** Ordinal of its first job. */
  first: number;
  /** How many lines it has: jobs, and keys of archived ones. */
  count: number;
  /**
   * Epoch ms after which the file is obsolete, because only keys of archived jobs are left in it; null while it has
   * jobs.
   */
  forgetAt: number | null;
  /** Bytes of the JSON of their requests. */
  requestBytes: number;
  /** Length of the file. */
  bytes: number;
  /** CRC-32 of the whole file, 8 hex digits. */
  sum: string;
}

/** A file of cost in the manifest. */
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

/** A file of the audit log in the manifest. */
export interface AuditFile {
  /** Its name in `audit/`. */
  file: string;
  /** The UTC month, `2026-11`. */
  month: string;
  /** Length of what counts; bytes after it are of an unfinished checkpoint. Each line has its own checksum. */
  bytes: number;
}

/** `coordinator.json`: the one file that lists the parts of the checkpoint. Replacing it is the checkpoint. */
export interface Manifest extends RegistryRecords {
  format: number;
  /** The last record of the journal in the checkpoint. */
  seq: number;
  /** The last used ordinal; its job may be archived. */
  lastOrdinal: number;
  segments: SegmentEntry[];
  /** In order of the months. */
  costs: CostEntry[];
  /** The audit log: the number of the last entry in a checkpoint, and the files in order of the months. */
  audit: { seq: number; files: AuditFile[] };
  /** CRC-32 of the JSON of everything else, see `sumOf`. */
  sum: string;
}

/** The manifest of a store without a checkpoint. */
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
  runs: [],
  files: [],
  annotations: [],
  webhooks: [],
  deliveries: [],
});

/** Add format and checksum to the contents of a manifest. */
export function signManifest(contents: Omit<Manifest, 'format' | 'sum'>): Manifest {
  const unsigned = inOrder({ ...contents, format: formatVersion });
  return { ...unsigned, sum: sumOf(unsigned) };
}

/** Members that an older format lacks are undefined, and so not in the text. */
function sumOf(unsigned: Omit<Manifest, 'sum'>): string {
  return hex(crc32(JSON.stringify(inOrder(unsigned))));
}

function inOrder(unsigned: Omit<Manifest, 'sum'>): Omit<Manifest, 'sum'> {
  const { format, seq, workers, keys, lastOrdinal, segments, costs, audit } = unsigned;
  const { queue, providers, runs, files, annotations, webhooks, deliveries } = unsigned;
  const inner = { format, seq, workers, keys, lastOrdinal, segments, costs, audit };
  return { ...inner, queue, providers, runs, files, annotations, webhooks, deliveries };
}

/**
 * The manifest as a lowdb database: `read` it, `update` it. `data` stays `emptyManifest` when there is no file.
 * Its `read` throws StoreCorrupt and StoreFormatTooNew.
 */
export function manifestDatabase(files: Files, path: string): Low<Manifest> {
  return new Low<Manifest>(new DurableJson(files, path, (text) => decodeManifest(path, text)), emptyManifest);
}

/** The manifest in a text. @param path for messages. @throws StoreCorrupt, StoreFormatTooNew */
export function decodeManifest(path: string, text: string): Manifest {
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
  // The checksum covers everything else, so this program wrote it.
  const manifest = read as Manifest;
  if (sumOf(manifest) !== manifest.sum) {
    throw new StoreCorrupt(path, 0, `its checksum is wrong; ${whatToDo}`);
  }
  return completed(manifest);
}

/** A manifest with the members added since its format; the format stays the old one until it is signed. */
function completed(manifest: Manifest): Manifest {
  const { audit, queue, providers, ...others } = { ...emptyManifest, ...manifest };
  const { runs, files, annotations, webhooks, deliveries } = others;
  const stored = manifest.format === 1 ? withArchive(manifest) : manifest;
  return { ...stored, audit, queue, providers, runs, files, annotations, webhooks, deliveries };
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
