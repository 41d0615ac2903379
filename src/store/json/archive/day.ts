/* The archive of one day, its lines and their index. Owns what counts of the file: lines left by a refused or
   interrupted archiving are cut off, and the index can always be rebuilt from the lines. */

import { dirname } from 'node:path';
import { messageOf } from '../../../domain/errors.ts';
import type { JobRecord } from '../../../domain/job.ts';
import { type Line, readLines } from '../../../lib/lines.ts';
import type { Logger } from '../../../lib/log.ts';
import { nextTurn } from '../../../lib/nextTurn.ts';
import { type Files, openExisting, writeAll } from '../files.ts';
import {
  encodeRun,
  IndexDamaged,
  type IndexEntry,
  keyOf,
  type Place,
  readRuns,
  runBytes,
  runEntriesMax,
  type SortedRun,
  searchRun,
} from './run.ts';

/** Collected before a write: some 2 ms of JSON.stringify. */
const writeBytes = 512 * 1024;
/** Lines encoded between two turns of the event loop: about 1 ms. */
const linesPerTurn = 100;

/** What an `ArchiveDay` works with. */
export interface ArchiveDayOptions {
  files: Files;
  /** The file with the jobs that ended on that day. */
  path: string;
  indexPath: string;
  /** Whether a job is not archived. */
  isHot: (id: string) => boolean;
  logger: Logger;
  signal: AbortSignal;
}

/** Durable lines whose commit is not made yet. */
export interface StagedLines {
  /** The commit was made. */
  keep(): void;
  /** It was refused; the lines are cut off before the next write. */
  drop(): void;
}

/**
 * The jobs that ended on one day, in archived order, one a line; and their index by id: sorted runs, each over the
 * lines after those of the run before, and in memory the lines since the last run. A run is written once and never
 * changed. The index can always be rebuilt from the lines.
 *
 * A line counts when its job is no longer hot: the rest of an archiving that was not committed is cut off after a
 * crash. Of `load`, `append` to `keep` or `drop`, `writeIndex` and `rebuild` one at a time; reads at any time after
 * `load`.
 */
export class ArchiveDay {
  readonly #options: ArchiveDayOptions;
  #isLoaded = false;
  /** Of the lines that count. */
  #bytes = 0;
  #runs: SortedRun[] = [];
  /** Lines after the last run, by key. */
  readonly #recent = new Map<string, Place[]>();
  #recentCount = 0;

  constructor(options: ArchiveDayOptions) {
    this.#options = options;
  }

  /** Lines without a run. */
  get recent(): { count: number; bytes: number } {
    return { count: this.#recentCount, bytes: this.#bytes - this.#indexedBytes };
  }

  get #indexedBytes(): number {
    return this.#runs[this.#runs.length - 1]?.to ?? 0;
  }

  get #indexEnd(): number {
    const last = this.#runs[this.#runs.length - 1];
    return last === undefined ? 0 : last.position + runBytes(last);
  }

  /** Read the heads of the index and the lines after it; all lines when there is no index. */
  async load(): Promise<void> {
    const { files, path } = this.#options;
    if (this.#isLoaded) return;
    this.#forget();
    const file = await openExisting(files, path);
    if (file === null) {
      this.#isLoaded = true;
      return;
    }
    try {
      const size = await file.size();
      this.#runs = await this.#loadRuns(size);
      const base = this.#indexedBytes;
      this.#bytes = base;
      for await (const lines of readLines((into, position) => file.read(into, base + position))) {
        this.#options.signal.throwIfAborted();
        for (const line of lines) this.#loadLine(line, base);
        if (this.#recentCount >= runEntriesMax) await this.writeIndex();
      }
      this.#isLoaded = true;
    } finally {
      await file.close();
    }
  }

  /** Rebuild the index from the lines. */
  async rebuild(): Promise<void> {
    const { files, indexPath } = this.#options;
    const index = await openExisting(files, indexPath);
    await index?.close();
    if (index !== null) await files.remove(indexPath);
    this.#isLoaded = false;
    await this.load();
  }

  /**
   * Append jobs, durable when it resolves; from then on they are found, and count once the commit is made.
   * @throws the error of the file system; nothing counts then.
   */
  async append(jobs: readonly JobRecord[]): Promise<StagedLines> {
    const { files, path } = this.#options;
    await this.load();
    const file = await files.open(path, 'edit');
    const entries: IndexEntry[] = [];
    let end = 0;
    try {
      const size = await file.size();
      // Another program has moved or cut the file: its current contents count.
      if (size < this.#bytes) await this.rebuild();
      if (size > this.#bytes) await file.truncate(this.#bytes);
      end = this.#bytes;
      let waiting: Buffer[] = [];
      let waitingBytes = 0;
      const flush = async () => {
        await writeAll(file, Buffer.concat(waiting), end - waitingBytes);
        waiting = [];
        waitingBytes = 0;
      };
      for (const job of jobs) {
        const line = Buffer.from(`${JSON.stringify(job)}\n`);
        entries.push({ key: keyOf(job.id), offset: end, length: line.length - 1 });
        waiting.push(line);
        waitingBytes += line.length;
        end += line.length;
        if (waitingBytes >= writeBytes) await flush();
        else if (entries.length % linesPerTurn === 0) await nextTurn();
      }
      await flush();
      await file.sync();
    } finally {
      await file.close();
    }
    if (this.#bytes === 0) await files.syncFolder(dirname(path));
    for (const entry of entries) this.#add(entry);
    return {
      keep: () => {
        this.#bytes = end;
      },
      drop: () => {
        for (const entry of entries) this.#drop(entry);
      },
    };
  }

  /** Write a run of the lines that have none. If it cannot be written they stay in memory until the next time. */
  async writeIndex(): Promise<void> {
    const entries = [...this.#recent].flatMap(([key, places]) => places.map((place) => ({ key, ...place })));
    if (entries.length === 0) return;
    const { run, bytes } = encodeRun(entries, this.#indexEnd, this.#bytes);
    try {
      await this.#writeRun(run, bytes);
    } catch (error) {
      const { logger, indexPath } = this.#options;
      logger.warn({ file: indexPath, error: messageOf(error) }, 'the index of an archive cannot be written');
      return;
    }
    this.#runs.push(run);
    this.#recent.clear();
    this.#recentCount = 0;
  }

  /** The last line of a job. @throws IndexDamaged; errors of the file system. */
  async find(id: string): Promise<JobRecord | undefined> {
    const key = keyOf(id);
    const places = [...(this.#recent.get(key) ?? [])];
    const runs = this.#runs.filter(({ first, last }) => first <= key && key <= last);
    if (runs.length > 0) places.push(...(await this.#searchRuns(runs, key)));
    if (places.length === 0) return undefined;
    const file = await openExisting(this.#options.files, this.#options.path);
    if (file === null) return undefined;
    try {
      let found: JobRecord | undefined;
      for (const { offset, length } of places) {
        const line = Buffer.alloc(length);
        await file.read(line, offset);
        const job = jobOf(line);
        if (job?.id === id && (found === undefined || job.version >= found.version)) found = job;
      }
      return found;
    } finally {
      await file.close();
    }
  }

  /** All jobs, in the order of the lines. */
  async *jobs(): AsyncGenerator<JobRecord[]> {
    const end = this.#bytes;
    const file = await openExisting(this.#options.files, this.#options.path);
    if (file === null) return;
    try {
      const lines = readLines(async (into, position) => {
        const rest = end - position;
        return rest <= 0 ? 0 : file.read(rest < into.length ? into.subarray(0, rest) : into, position);
      });
      for await (const batch of lines) {
        yield batch.flatMap(({ bytes }) => jobOf(bytes) ?? []);
      }
    } finally {
      await file.close();
    }
  }

  async #writeRun(run: SortedRun, bytes: Buffer): Promise<void> {
    const { files, indexPath } = this.#options;
    const file = await files.open(indexPath, 'edit');
    try {
      if ((await file.size()) !== run.position) await file.truncate(run.position);
      await writeAll(file, bytes, run.position);
      await file.sync();
    } finally {
      await file.close();
    }
    if (run.position === 0) await files.syncFolder(dirname(indexPath));
  }

  #forget(): void {
    this.#bytes = 0;
    this.#runs = [];
    this.#recent.clear();
    this.#recentCount = 0;
  }

  /** The runs of the index if they fit the lines; none when they do not, or without an index. */
  async #loadRuns(size: number): Promise<SortedRun[]> {
    const { files, indexPath, logger } = this.#options;
    const file = await openExisting(files, indexPath);
    if (file === null) return [];
    try {
      const runs = await readRuns(file);
      if ((runs[runs.length - 1]?.to ?? 0) <= size) return runs;
      logger.warn({ file: indexPath }, 'the index of an archive covers more than its file; rebuilding it');
    } catch (error) {
      if (!(error instanceof IndexDamaged)) throw error;
      logger.warn({ file: indexPath, error: error.message }, 'rebuilding the index of an archive');
    } finally {
      await file.close();
    }
    return [];
  }

  #loadLine({ bytes, offset, isWhole }: Line, base: number): void {
    const id = isWhole ? idOf(bytes) : null;
    if (id === null || this.#options.isHot(id)) return;
    this.#add({ key: keyOf(id), offset: base + offset, length: bytes.length });
    this.#bytes = base + offset + bytes.length + 1;
  }

  async #searchRuns(runs: readonly SortedRun[], key: string): Promise<Place[]> {
    const file = await openExisting(this.#options.files, this.#options.indexPath);
    if (file === null) throw new IndexDamaged('it is gone');
    try {
      const places: Place[] = [];
      for (const run of runs) places.push(...(await searchRun(file, run, key)));
      return places;
    } finally {
      await file.close();
    }
  }

  #add({ key, offset, length }: IndexEntry): void {
    const places = this.#recent.get(key);
    if (places === undefined) this.#recent.set(key, [{ offset, length }]);
    else places.push({ offset, length });
    this.#recentCount += 1;
  }

  #drop({ key, offset }: IndexEntry): void {
    const places = this.#recent.get(key)?.filter((place) => place.offset !== offset) ?? [];
    if (places.length === 0) this.#recent.delete(key);
    else this.#recent.set(key, places);
    this.#recentCount -= 1;
  }
}

/** The job of a line; undefined when it was edited. */
function jobOf(line: Buffer): JobRecord | undefined {
  try {
    const job: JobRecord = JSON.parse(line.toString('utf8'));
    // Before format 4 there was none.
    job.createdBy ??= null;
    return job;
  } catch {
    return undefined;
  }
}

/** Ordinal and id are the first members, see `nextJob`. */
const head = /^\{"ordinal":\d+,"id":("(?:[^"\\]|\\.)*")/;
const headBytesMax = 1_024;
const closingBrace = 0x7d;

/** The id of a line without parsing it; null when it is not a whole line. */
function idOf(line: Buffer): string | null {
  if (line[line.length - 1] !== closingBrace) return null;
  const id = head.exec(line.toString('utf8', 0, headBytesMax))?.[1];
  return id === undefined ? null : JSON.parse(id);
}
