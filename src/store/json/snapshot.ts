/* What a copy of a folder consists of, also while a coordinator writes to it. Owns the order in which lengths are taken, so
   that what is within them is the folder at one moment: journal files only grow, files that the manifest names are
   replaced and never changed, and a day of the archive grows before the journal says so. It writes nothing. */

import { basename, join } from 'node:path';
import { messageOf } from '../../domain/errors.ts';
import { readLines } from '../../lib/lines.ts';
import { streamPrefix } from '../blobs.ts';
import { decodeManifest, type Manifest, whatToDo } from './checkpoint/manifest.ts';
import { StoreCorrupt } from './errors.ts';
import { codeOf, type Files, type OpenFile, openExisting, readWhole } from './files.ts';
import { isLostWrite } from './journal/lostWrite.ts';
import { decodeRecord, type JournalRecord } from './journal/record.ts';
import { type JournalFile, listJournal, missingRecords } from './journal/replay.ts';
import { archiveDayOf, idOfBlob, layoutOf, manifestName } from './layout.ts';

/** A file of a snapshot, open: its contents remain even when the coordinator removes it. */
export interface SnapshotFile {
  /** Relative to the folder, with slashes. */
  name: string;
  file: OpenFile;
  /** How much of it belongs to the snapshot. */
  bytes: number;
  /** CRC-32 of that part, 8 hex digits; null where no checksum is known. */
  sum: string | null;
}

/** A folder at one moment. */
export interface Snapshot {
  format: number;
  /** The last record of the journal in it. */
  seq: number;
  files: SnapshotFile[];
  /**
   * The bytes of uploaded files and outputs that there are by now, with those of every record in the snapshot but those that
   * were removed since. Each is open until the next one is asked for: there may be 100,000.
   */
  blobs(): AsyncGenerator<SnapshotFile>;
  /** Close its files. */
  close(): Promise<void>;
}

/** There is no data to copy. */
export class NothingStored extends Error {
  constructor(folder: string) {
    super(`${folder} has no data of a coordinator: there is no ${manifestName}`);
    this.name = 'NothingStored';
  }
}

/** A checkpoint that ends while files are opened makes it start again; opening takes milliseconds, a checkpoint longer. */
const attemptsMax = 100;

/**
 * Open what belongs to the folder at this moment. The folder may be in use by a coordinator or not.
 * @throws NothingStored, StoreCorrupt; the error of the file system.
 */
export async function takeSnapshot(files: Files, root: string): Promise<Snapshot> {
  for (let attempt = 1; ; attempt += 1) {
    const taking = new Taking(files, root);
    try {
      const snapshot = await taking.run();
      if (snapshot !== null) return snapshot;
    } catch (error) {
      await taking.close();
      // A file of a former checkpoint.
      if (codeOf(error) !== 'ENOENT' || attempt >= attemptsMax) throw error;
      continue;
    }
    await taking.close();
    if (attempt >= attemptsMax)
      throw new Error(`${root} changed ${attemptsMax} times while its files were opened`);
  }
}

/** A file of the journal with its length. */
type JournalPart = SnapshotFile & { firstSeq: number };

/** One attempt. */
class Taking {
  readonly #files: Files;
  readonly #root: string;
  readonly #opened: SnapshotFile[] = [];

  constructor(files: Files, root: string) {
    this.#files = files;
    this.#root = root;
  }

  async close(): Promise<void> {
    for (const { file } of this.#opened) await file.close();
    this.#opened.length = 0;
  }

  /** @returns null when files were replaced by a new checkpoint before they were open. */
  async run(): Promise<Snapshot | null> {
    const layout = layoutOf(this.#root);
    // First: they cover no more than the lines that counted then.
    await this.#openIndexes(layout.archive);
    const stored = await this.#unlessGone(this.#open(manifestName, null, null));
    if (stored === null) throw new NothingStored(this.#root);
    // From the open file: the next checkpoint puts another one in its place.
    const text = Buffer.alloc(stored.bytes);
    for (let at = 0; at < text.length; ) {
      const count = await stored.file.read(text.subarray(at), at);
      if (count === 0) throw new StoreCorrupt(layout.manifest, at, `it ends early; ${whatToDo}`);
      at += count;
    }
    const manifest = decodeManifest(layout.manifest, text.toString('utf8'));
    for (const { file, bytes, sum } of manifest.segments) await this.#open(`jobs/${file}`, bytes, sum);
    for (const { file, bytes, sum } of manifest.costs) await this.#open(`cost/${file}`, bytes, sum);
    for (const { file, bytes } of manifest.audit.files) await this.#open(`audit/${file}`, bytes, null);
    // Lines of archived jobs are on disk before the journal says that they are archived: none is missing that was there
    // after the look at the journal, and all are of this moment that were there before it.
    const before = await this.#openDays(layout.archive, []);
    const lengths = new Map(before.map(({ name, bytes }) => [name, bytes]));
    const journal = await this.#openJournal(await listJournal(this.#files, layout.journal));
    const days = await this.#openDays(layout.archive, before);
    const end = await this.#endJournal(journal, manifest, layout.journal).catch(async (error: unknown) => {
      const after = await readWhole(this.#files, layout.manifest);
      // A new checkpoint has taken the place of files before they were open; otherwise they are missing.
      if (after !== null && !text.equals(after)) return null;
      throw error;
    });
    if (end === null) return null;
    for (const day of days) await cutLaterJobs(day, lengths.get(day.name) ?? 0, end.lastOrdinal);
    const { format } = manifest;
    return {
      format,
      seq: end.seq,
      files: this.#opened,
      blobs: () => blobsIn(this.#files, layout.files),
      close: () => this.close(),
    };
  }

  async #open(name: string, bytes: number | null, sum: string | null): Promise<SnapshotFile> {
    const path = join(this.#root, name);
    const file = await this.#files.open(path, 'read');
    const opened = { name, file, bytes: 0, sum };
    this.#opened.push(opened);
    const size = await file.size();
    if (bytes !== null && size < bytes)
      throw new StoreCorrupt(path, size, `it is shorter than it was; ${whatToDo}`);
    opened.bytes = bytes ?? size;
    return opened;
  }

  async #openIndexes(folder: string): Promise<void> {
    for (const name of await this.#archiveNames(folder, true))
      await this.#unlessGone(this.#open(`archive/${name}`, null, null));
  }

  /** The days of the archive with their present lengths; those that were open before grow, and new ones are opened. */
  async #openDays(folder: string, opened: readonly SnapshotFile[]): Promise<SnapshotFile[]> {
    for (const day of opened) day.bytes = await day.file.size();
    const known = new Set(opened.map(({ name }) => name));
    const days = [...opened];
    for (const name of await this.#archiveNames(folder, false)) {
      const path = `archive/${name}`;
      const day = known.has(path) ? null : await this.#unlessGone(this.#open(path, null, null));
      if (day !== null) days.push(day);
    }
    return days;
  }

  async #openJournal(listed: readonly JournalFile[]): Promise<JournalPart[]> {
    const parts: JournalPart[] = [];
    for (const { name, firstSeq, bytes } of listed) {
      const opened = await this.#unlessGone(this.#open(`journal/${name}`, null, null));
      if (opened === null) continue;
      // What was added since is later than the look at the archive; what was cut off since was never acknowledged.
      opened.bytes = Math.min(opened.bytes, bytes);
      parts.push(Object.assign(opened, { firstSeq }));
    }
    return parts;
  }

  /**
   * Check every record, and leave out what a write that is under way has done so far.
   * @returns the last sequence number, and the ordinal of the last job. @throws StoreCorrupt
   */
  async #endJournal(
    parts: readonly JournalPart[],
    manifest: Manifest,
    folder: string,
  ): Promise<{ seq: number; lastOrdinal: number }> {
    const { seq: checkpointSeq } = manifest;
    let { lastOrdinal } = manifest;
    // As at a start: a file is in the checkpoint if the next one begins with the record after it, or before.
    const filled = parts.filter(({ bytes }) => bytes > 0);
    const needed = filled.filter(
      (_, index) => (filled[index + 1]?.firstSeq ?? Number.POSITIVE_INFINITY) > checkpointSeq + 1,
    );
    let nextSeq = needed[0]?.firstSeq ?? checkpointSeq + 1;
    if (nextSeq > checkpointSeq + 1) throw missingRecords(folder, checkpointSeq + 1, nextSeq - 1);
    for (const part of needed) {
      if (part.firstSeq !== nextSeq) throw missingRecords(folder, nextSeq, part.firstSeq - 1);
      const path = join(folder, basename(part.name));
      const { goodBytes, next } = await checkRecords(part, path, ({ seq, changes }) => {
        // A new job gets the next ordinal.
        const created = changes.filter((change) => change.kind === 'job' && change.created !== undefined);
        if (seq > checkpointSeq) lastOrdinal += created.length;
      });
      if (goodBytes < part.bytes && part !== needed.at(-1))
        throw new StoreCorrupt(part.name, goodBytes, `it ends within its records; ${whatToDo}`);
      part.bytes = goodBytes;
      nextSeq = next;
    }
    if (nextSeq <= checkpointSeq) throw missingRecords(folder, nextSeq, checkpointSeq);
    // An empty file with another number is left from a failed rotation.
    const begun = parts.find(({ bytes, firstSeq }) => bytes === 0 && firstSeq === nextSeq);
    if (needed.length === 0 && begun === undefined) throw missingRecords(folder, nextSeq, null);
    for (const part of parts) if (part !== begun && !needed.includes(part)) await this.#forget(part);
    return { seq: nextSeq - 1, lastOrdinal };
  }

  async #archiveNames(folder: string, isIndex: boolean): Promise<string[]> {
    const names = await namesIn(this.#files, folder);
    return names.filter((name) => archiveDayOf(name)?.isIndex === isIndex);
  }

  /** A checkpoint removes journal files, and somebody may move a day of the archive away. */
  async #unlessGone(opening: Promise<SnapshotFile>): Promise<SnapshotFile | null> {
    try {
      return await opening;
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return null;
      throw error;
    }
  }

  async #forget(part: SnapshotFile): Promise<void> {
    this.#opened.splice(this.#opened.indexOf(part), 1);
    await part.file.close();
  }
}

/**
 * Every whole blob but those of streams, which are for clients that are connected now. A blob is there before its record, so
 * after the look at the journal none is missing.
 */
async function* blobsIn(files: Files, folder: string): AsyncGenerator<SnapshotFile> {
  const names = (await namesIn(files, folder)).filter((name) => {
    const id = idOfBlob(name);
    return id !== null && !id.startsWith(streamPrefix);
  });
  for (const name of names) {
    const file = await openExisting(files, join(folder, name));
    // Somebody has deleted it.
    if (file === null) continue;
    try {
      yield { name: `files/${name}`, file, bytes: await file.size(), sum: null };
    } finally {
      await file.close();
    }
  }
}

async function namesIn(files: Files, folder: string): Promise<string[]> {
  try {
    return await files.list(folder);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  }
}

/** The whole records of a part of the journal. @throws StoreCorrupt for one that is damaged, and not only unfinished. */
async function checkRecords(
  { file, bytes: end, firstSeq }: JournalPart,
  path: string,
  onRecord: (record: JournalRecord) => void,
): Promise<{ goodBytes: number; next: number }> {
  const read = (into: Uint8Array, position: number) => readPart(file, into, position, end);
  let next = firstSeq;
  let goodBytes = 0;
  for await (const lines of readLines(read)) {
    for (const { bytes, offset, isWhole } of lines) {
      if (!isWhole) return { goodBytes, next };
      try {
        const record = decodeRecord(bytes);
        const { seq } = record;
        if (seq !== next) throw new Error(`record ${seq} is in the place of record ${next}`);
        onRecord(record);
      } catch (error) {
        if (await isLostWrite({ ...file, read }, offset, next)) return { goodBytes, next };
        throw new StoreCorrupt(path, offset, `${messageOf(error)}; ${whatToDo}`);
      }
      next += 1;
      goodBytes = offset + bytes.length + 1;
    }
  }
  return { goodBytes, next };
}

const archivedHead = /^\{"ordinal":(\d+),/;
const archivedHeadBytes = 32;

/**
 * Leave out jobs that were created later, and so archived later, as all after them are. Jobs that were only archived
 * later are in the journal, too, and do not count here, as after a crash.
 * @param from where lines begin that may be of a later moment.
 */
async function cutLaterJobs(day: SnapshotFile, from: number, lastOrdinal: number): Promise<void> {
  const read = (into: Uint8Array, position: number) => readPart(day.file, into, from + position, day.bytes);
  for await (const lines of readLines(read)) {
    for (const { bytes, offset, isWhole } of lines) {
      const ordinal = archivedHead.exec(bytes.toString('latin1', 0, archivedHeadBytes))?.[1];
      if (isWhole && ordinal !== undefined && Number(ordinal) <= lastOrdinal) continue;
      day.bytes = from + offset;
      return;
    }
  }
}

/** Read a file up to a position, however long it is by now. */
export async function readPart(
  file: OpenFile,
  into: Uint8Array,
  position: number,
  end: number,
): Promise<number> {
  const rest = end - position;
  return rest <= 0 ? 0 : file.read(rest < into.length ? into.subarray(0, rest) : into, position);
}
