/*
 * The feed of committed changes of jobs, in the order of their commits, and who follows it. Core followers keep what the
 * coordinator decides by in step: they run before an answer or a frame leaves, and one that throws is a bug that stops
 * the request. Observers only look; one that throws is logged, and the others still see the change. What must survive a crash
 * is written in the commit itself: this feed begins again with the process.
 */

import type { Logger } from '../lib/log.ts';
import type { Committed } from './jobs/index.ts';

/** @param seq of the change: 1 is the first of this process, and none is left out. */
export type Follower = (change: Committed, seq: number) => void;

export class Changes {
  readonly #logger: Logger;
  readonly #core: readonly Follower[];
  readonly #observers: Set<Follower>;
  #seq = 0;

  /** @param options.core, options.observers in the order in which they see a change. */
  constructor(options: { logger: Logger; core: readonly Follower[]; observers: readonly Follower[] }) {
    this.#logger = options.logger;
    this.#core = options.core;
    this.#observers = new Set(options.observers);
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
