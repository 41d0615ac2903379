import { crc32 } from 'node:zlib';
import { Low } from 'lowdb';
import type { KeyRecord } from '../../domain/key.ts';
import type { WorkerRecord } from '../../domain/worker.ts';
import { StoreCorrupt, StoreFormatTooNew } from '../store.ts';
import { DurableJson } from './durableFile.ts';
import type { Files } from './files.ts';
import { formatVersion, manifestName } from './layout.ts';
import { hex } from './record.ts';

/** One file of jobs, as the manifest names it. */
export interface SegmentEntry {
  /** Its name in `jobs/`. */
  file: string;
  /** Ordinal of its first job. */
  first: number;
  /** How many jobs it has; their ordinals have no gaps. */
  count: number;
  /** Bytes of the JSON of their requests. */
  requestBytes: number;
  /** Length of the file. */
  bytes: number;
  /** CRC-32 of the whole file, 8 hex digits. */
  sum: string;
}

/** `coordinator.json`: the one file that says what the checkpoint consists of. Replacing it is the checkpoint. */
export interface Manifest {
  format: number;
  /** The last record of the journal that the checkpoint has in it. */
  seq: number;
  workers: WorkerRecord[];
  keys: KeyRecord[];
  segments: SegmentEntry[];
  /** CRC-32 of the JSON of everything above. */
  sum: string;
}

/** The manifest of a store that has no checkpoint yet. */
export const emptyManifest: Manifest = signManifest({ seq: 0, workers: [], keys: [], segments: [] });

/** Put format and checksum to the contents of a manifest. */
export function signManifest(contents: Omit<Manifest, 'format' | 'sum'>): Manifest {
  const { seq, workers, keys, segments } = contents;
  const unsigned = { format: formatVersion, seq, workers, keys, segments };
  return { ...unsigned, sum: sumOf(unsigned) };
}

function sumOf(unsigned: Omit<Manifest, 'sum'>): string {
  const { format, seq, workers, keys, segments } = unsigned;
  return hex(crc32(JSON.stringify({ format, seq, workers, keys, segments })));
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
  return manifest;
}

/** The end of every message about damage. */
export const whatToDo = 'nothing was changed; restore the folder from a backup, see docs/operations.md';
