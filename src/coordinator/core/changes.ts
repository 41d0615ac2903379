/*
 * The feed of committed changes of jobs, in the order of their commits, and who follows it. Core followers keep what the
 * coordinator decides by in step: they run before an answer or a frame leaves, and one that throws is a bug that stops
 * the request. Observers only look; one that throws is logged, and the others still see the change. What must survive a crash
 * is written in the commit itself: this feed begins again with the process.
 */

import type { JobEvent } from '../../../machines/events.ts';
import type { JobEffect } from '../../../machines/jobMachine.ts';
import type { JobRecord } from '../../domain/job.ts';
import type { Delivery } from '../../domain/webhook.ts';
import type { Logger } from '../../lib/log.ts';
import type { LedgerEntry, RunDifference } from '../../store/store.ts';

/** A change of a job that is durable. */
export interface Committed {
  before: JobRecord | null;
  after: JobRecord;
  /** null when the job was created. */
  event: JobEvent | null;
  effects: JobEffect[];
  /** What attempts that ended with this change used and cost. */
  ledger: readonly LedgerEntry[];
  /** The differences it makes to the totals of the job's run; undefined outside of runs. */
  runTotals?: RunDifference | undefined;
  /** What is to be sent to webhooks because of it; undefined when it is nothing. */
  deliveries?: readonly Delivery[] | undefined;
}

/** @param seq of the change: 1 is the first of this process, and none is left out. */
export type Follower = (change: Committed, seq: number) => void;

export class Changes {
  readonly #logger: Logger;
  #core: readonly Follower[] = [];
  readonly #observers = new Set<Follower>();
  #seq = 0;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Declare the followers, in the order in which they see a change: once, before the first change. */
  followedBy({ core, observers }: { core: readonly Follower[]; observers: readonly Follower[] }): void {
    this.#core = core;
    for (const observer of observers) this.#observers.add(observer);
  }

  /** A change is durable. Returns when all of them have seen it; so be quick. */
  publish(change: Committed): void {
    this.#seq += 1;
    for (const follow of this.#core) follow(change, this.#seq);
    for (const observe of this.#observers) {
      try {
        observe(change, this.#seq);
      } catch (error) {
        this.#logger.error({ err: error, job_id: change.after.id }, 'an observer of changes failed');
      }
    }
  }

  /** Show every change from now on to one more observer, the last. The returned function ends that. */
  observe(observer: Follower): () => void {
    this.#observers.add(observer);
    return () => this.#observers.delete(observer);
  }
}
