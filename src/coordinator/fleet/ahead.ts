import type { WorkerLife } from '../../domain/worker.ts';

/** How long a slot waits for its next job when none is at the worker yet, under load, ms: a result's commit and a claim's. */
const gapMs = 100;
/** Of jobs that take longer none is held: the slots of a worker may all end that late, and it gives back what waits for a second. */
const longMs = 600;
/** Of one worker, however many slots it has. */
const aheadMax = 1_000;
/** Weight of the last job in the average. */
const weight = 0.05;

/**
 * How many jobs a worker may hold beyond its slots, so that none of these is idle between two jobs: as many as end while
 * the next ones are on their way. None while it is not known that its jobs are short.
 */
export class Ahead {
  /** How long jobs take, ms, by worker. */
  readonly #averages = new Map<string, number>();

  /** A worker has completed a job that took it so long. */
  completed(workerId: string, ms: number): void {
    const known = this.#averages.get(workerId);
    this.#averages.set(workerId, known === undefined ? ms : known + weight * (ms - known));
  }

  /** A worker has given a job back, or is gone: what it holds may not begin soon. */
  forget(workerId: string): void {
    this.#averages.delete(workerId);
  }

  of({ id, concurrency }: Pick<WorkerLife, 'id' | 'concurrency'>): number {
    const average = this.#averages.get(id);
    if (average === undefined || average > longMs) return 0;
    return Math.min(aheadMax, Math.ceil((concurrency * gapMs) / Math.max(average, gapMs)));
  }
}
