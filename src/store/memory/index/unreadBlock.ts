/* Jobs in memory as their log stored them, until one of them is needed. Owns when the rest of them is read too, so that
   jobs are never in memory twice for long. Only in memory, loaded again at each start. */

import type { JobHead, JobRecord } from '../../../domain/job.ts';
import type { UnreadJobs } from '../../durableLog.ts';

/**
 * Share of the jobs of a block after which all of them are read: the block takes its memory until then, so jobs and block
 * together take at most this much more than the block alone.
 */
const readShareMax = 1 / 4;

/** Some jobs that are parsed when they are needed. */
export class UnreadBlock {
  readonly jobs: UnreadJobs;
  /** How many of them were not read. */
  left = 0;
  /** What they take until the last one is read. */
  readonly bytes: number;

  constructor(jobs: UnreadJobs) {
    this.jobs = jobs;
    this.bytes = jobs.bytes;
  }

  /** Ascending, those of jobs that were read included. */
  get ordinals(): readonly number[] {
    return this.jobs.ordinals;
  }

  /** Whether the jobs that are left should be read now. */
  get isWorthReading(): boolean {
    return this.left <= this.ordinals.length * (1 - readShareMax);
  }

  /** The id of a job that was not read. */
  idOf(ordinal: number): string {
    return this.jobs.ids[this.#indexOf(ordinal)] as string;
  }

  /** What the indexes need of a job that was not read. */
  head(ordinal: number): JobHead {
    return this.jobs.head(this.#indexOf(ordinal));
  }

  /** The job; each is read once. @throws DataDamaged */
  read(ordinal: number): JobRecord {
    const job = this.jobs.read(this.#indexOf(ordinal));
    this.left -= 1;
    if (this.left === 0) this.jobs.release();
    return job;
  }

  #indexOf(ordinal: number): number {
    const { ordinals } = this;
    let low = 0;
    let high = ordinals.length - 1;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((ordinals[middle] ?? 0) < ordinal) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
