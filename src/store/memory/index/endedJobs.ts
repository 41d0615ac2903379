/* The ended jobs in the order in which they may leave for the archive. Only in memory, rebuilt at each start. */

import type { JobRecord } from '../../../domain/job.ts';
import { SortedList } from '../../../lib/sortedList.ts';
import { endedAt } from '../../changes/apply.ts';

/**
 * The ended jobs, by the time of their end; those that must stay until some time are set aside, so that a walk from the
 * oldest on does not meet them repeatedly.
 */
export class EndedJobs {
  /** major: when the job ended, epoch ms; minor: its ordinal. */
  readonly #inTurn = new SortedList();
  /** major: until when the job stays, epoch ms; minor: its ordinal. */
  readonly #aside = new SortedList();
  /** When each job that is set aside becomes due, by ordinal. */
  readonly #staysUntil = new Map<number, number>();

  get size(): number {
    return this.#inTurn.size + this.#aside.size;
  }

  add(job: JobRecord): void {
    this.#inTurn.insert(endedAt(job), job.ordinal);
  }

  /** @param job as it was added. */
  remove(job: JobRecord): void {
    const { ordinal } = job;
    const until = this.#staysUntil.get(ordinal);
    if (until === undefined) {
      this.#inTurn.remove(endedAt(job), ordinal);
    } else {
      this.#staysUntil.delete(ordinal);
      this.#aside.remove(until, ordinal);
    }
  }

  /** Skip a job until a time. @param until epoch ms. */
  setAside(job: JobRecord, until: number): void {
    this.remove(job);
    this.#staysUntil.set(job.ordinal, until);
    this.#aside.insert(until, job.ordinal);
  }

  /** A job that is due at `now`, epoch ms: undefined when there is none. @returns its ordinal. */
  firstDue(now: number): number | undefined {
    const first = this.#aside.first();
    return first !== undefined && first.major <= now ? first.minor : undefined;
  }

  /** Ordinals of the jobs that are not set aside, the first ended first. Jobs may be removed meanwhile. */
  *inTurn(): Generator<number> {
    for (let entry = this.#inTurn.first(); entry; entry = this.#inTurn.after(entry.major, entry.minor)) {
      yield entry.minor;
    }
  }
}
