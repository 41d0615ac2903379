/*
 * The jobs that have ended in the order in which they may leave for the archive. In memory alone, built again at each
 * start.
 */

import type { JobRecord } from '../../../domain/job.ts';
import { SortedList } from '../../../lib/sortedList.ts';
import { endedAt } from '../../changes/apply.ts';

/**
 * The jobs that have ended, by the time of their end; those that are to stay until some time are set aside, so that a walk
 * from the oldest on does not meet them again and again.
 */
export class EndedJobs {
  /** major: when the job ended, epoch ms; minor: its ordinal. */
  readonly #inTurn = new SortedList();
  /** major: until when the job stays, epoch ms; minor: its ordinal. */
  readonly #aside = new SortedList();
  /** Of those that are set aside, by ordinal. */
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

  /** Leave a job out of the turn. @param until epoch ms. */
  setAside(job: JobRecord, until: number): void {
    this.remove(job);
    this.#staysUntil.set(job.ordinal, until);
    this.#aside.insert(until, job.ordinal);
  }

  /** One that was to stay until `now`, epoch ms, or before: undefined when there is none. @returns its ordinal. */
  firstDue(now: number): number | undefined {
    const first = this.#aside.first();
    return first !== undefined && first.major <= now ? first.minor : undefined;
  }

  /** Ordinals of those that are not set aside, the one that ended first first. Jobs may be taken out meanwhile. */
  *inTurn(): Generator<number> {
    for (let entry = this.#inTurn.first(); entry; entry = this.#inTurn.after(entry.major, entry.minor)) {
      yield entry.minor;
    }
  }
}
