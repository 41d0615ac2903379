/* The archived jobs: the file of each day, and the days in which a job may be. Lines are durable before the commit that
   removes their jobs from memory; a crash in between leaves lines of jobs that are still in memory, which do not count. */

import { dirname, join } from 'node:path';
import { messageOf, StoreUnavailable } from '../../../domain/errors.ts';
import type { JobRecord } from '../../../domain/job.ts';
import { KeyedQueue } from '../../../lib/keyedQueue.ts';
import type { Logger } from '../../../lib/log.ts';
import { endedAt } from '../../changes/apply.ts';
import { codeOf, type Files } from '../files.ts';
import { archiveDayOf, archiveNames } from '../layout.ts';
import { ArchiveDay, type StagedLines } from './day.ts';
import { IndexDamaged, runEntriesMax } from './run.ts';

/** Bytes of lines without an index: the most a start reads of the archives, some 0.1 s. */
const recentBytesMax = 64 * 1024 * 1024;

/** The clock may be set back between a job's start and its end. */
const clockJumpMs = 86_400_000;

/** What `Archive` works with. */
export interface ArchiveOptions {
  files: Files;
  /** Created with the first archived job. */
  folder: string;
  /** Whether a job is not archived. */
  isHot: (id: string) => boolean;
  logger: Logger;
}

/**
 * The jobs that have left memory, in one file for each day on which jobs ended (UTC). Memory holds some 200 bytes for
 * 8,192 jobs; to find a job, the parts of indexes that may contain its id are read, mostly one.
 */
export class Archive {
  readonly #options: ArchiveOptions;
  readonly #days = new Map<string, ArchiveDay>();
  readonly #queue = new KeyedQueue();
  readonly #stop = new AbortController();
  #isLoaded = false;
  #hasFolder = false;

  constructor(options: ArchiveOptions) {
    this.#options = options;
  }

  /** Find the days. The indexes are read in the background: the start does not wait for them. */
  async open(): Promise<void> {
    const { files, folder } = this.#options;
    let names: string[] = [];
    try {
      names = await files.list(folder);
      this.#hasFolder = true;
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error;
    }
    const found = names.map(archiveDayOf).filter((one) => one !== null);
    for (const { day, isIndex } of found) if (!isIndex) this.#day(day);
    for (const { day, isIndex } of found) {
      // Its archive was removed.
      if (isIndex && !this.#days.has(day)) await files.remove(join(folder, archiveNames(day).index));
    }
    if (this.#days.size === 0) return;
    this.#load().catch((error: unknown) => this.#unreadable(error));
  }

  /** Wait for running work; reading indexes ends at once. */
  async close(): Promise<void> {
    this.#stop.abort(new StoreUnavailable('the store is closed'));
    await this.alone(async () => {});
  }

  /** Run a task while no other writing task runs. */
  alone<T>(task: () => Promise<T>): Promise<T> {
    return this.#queue.run('', task);
  }

  /**
   * Write jobs, durable when it resolves; call the result when the outcome of their commit is known. Only within
   * `alone`.
   * @throws the error of the file system; the archives are unchanged then.
   */
  async add(jobs: readonly JobRecord[]): Promise<StagedLines> {
    const { files, folder } = this.#options;
    await this.#loadDays();
    if (!this.#hasFolder) {
      await files.makeFolder(folder);
      await files.syncFolder(dirname(folder));
      this.#hasFolder = true;
    }
    const staged: StagedLines[] = [];
    const drop = () => {
      for (const one of staged) one.drop();
    };
    try {
      for (const [day, own] of Map.groupBy(jobs, dayOf)) staged.push(await this.#day(day).append(own));
    } catch (error) {
      drop();
      throw error;
    }
    return {
      drop,
      keep: () => {
        for (const one of staged) one.keep();
      },
    };
  }

  /** Move lines from memory to the index files when there are many. Only within `alone`. */
  async writeLongIndexes(): Promise<void> {
    let count = 0;
    let bytes = 0;
    for (const { recent } of this.#days.values()) {
      count += recent.count;
      bytes += recent.bytes;
    }
    if (count < runEntriesMax && bytes < recentBytesMax) return;
    for (const day of this.#days.values()) await day.writeIndex();
  }

  /** An archived job. @throws StoreUnavailable when an archive cannot be read. */
  async find(id: string): Promise<JobRecord | undefined> {
    if (this.#days.size === 0) return undefined;
    try {
      if (!this.#isLoaded) await this.#load();
      let found: JobRecord | undefined;
      for (const day of this.#days.values()) {
        const job = await this.#findIn(day, id);
        if (job !== undefined && (found === undefined || job.version > found.version)) found = job;
      }
      return found;
    } catch (error) {
      throw this.#unreadable(error);
    }
  }

  /**
   * All archived jobs, the last day first, within a day in archived order.
   * @param createdAfter epoch ms: earlier days are omitted, because no job ends before it is created.
   * @throws StoreUnavailable when an archive cannot be read.
   */
  async *jobs(createdAfter: number | null): AsyncGenerator<JobRecord[]> {
    try {
      if (!this.#isLoaded) await this.#load();
      yield* this.#jobsOfDays(createdAfter);
    } catch (error) {
      throw this.#unreadable(error);
    }
  }

  async *#jobsOfDays(createdAfter: number | null): AsyncGenerator<JobRecord[]> {
    const first = createdAfter === null ? '' : dayAt(createdAfter - clockJumpMs);
    const days = [...this.#days].filter(([day]) => day >= first).sort(([a], [b]) => (a < b ? 1 : -1));
    for (const [, day] of days) yield* day.jobs();
  }

  #day(day: string): ArchiveDay {
    const known = this.#days.get(day);
    if (known !== undefined) return known;
    const { files, folder, isHot, logger } = this.#options;
    const { lines, index } = archiveNames(day);
    const { signal } = this.#stop;
    const made = new ArchiveDay({
      files,
      path: join(folder, lines),
      indexPath: join(folder, index),
      isHot,
      logger,
      signal,
    });
    this.#days.set(day, made);
    return made;
  }

  #unreadable(error: unknown): StoreUnavailable {
    if (error instanceof StoreUnavailable) return error;
    const detail = messageOf(error);
    this.#options.logger.error({ error: detail }, 'an archive cannot be read');
    return new StoreUnavailable(`the archive cannot be read: ${detail}`, error);
  }

  #load(): Promise<void> {
    return this.alone(() => this.#loadDays());
  }

  async #loadDays(): Promise<void> {
    if (this.#isLoaded) return;
    for (const day of this.#days.values()) await day.load();
    this.#isLoaded = true;
  }

  async #findIn(day: ArchiveDay, id: string): Promise<JobRecord | undefined> {
    try {
      return await day.find(id);
    } catch (error) {
      if (!(error instanceof IndexDamaged)) throw error;
      this.#options.logger.warn({ error: error.message }, 'rebuilding the index of an archive');
      await this.alone(() => day.rebuild());
      return day.find(id);
    }
  }
}

function dayOf(job: JobRecord): string {
  return dayAt(endedAt(job));
}

/** The day of a time, UTC: `2026-11-21`. */
function dayAt(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}
