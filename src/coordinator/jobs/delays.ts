import type { Clock } from '../../domain/clock.ts';
import type { JobRecord } from '../../domain/job.ts';
import type { Logger } from '../../lib/log.ts';
import { type Deadline, type Deadlines, storeRetryMs } from '../core/index.ts';
import type { JobHost } from './jobHost.ts';

/** Wall time may jump; a job that waits for a time looks at the clock again at least this often. No pause is longer. */
const stepMaxMs = 60_000;

/** Makes delayed jobs ready when their time has come. */
export class Delays {
  readonly #clock: Clock;
  readonly #deadlines: Deadlines;
  readonly #host: JobHost;
  readonly #logger: Logger;
  readonly #byJob = new Map<string, Deadline>();

  constructor(options: { clock: Clock; deadlines: Deadlines; host: JobHost; logger: Logger }) {
    this.#clock = options.clock;
    this.#deadlines = options.deadlines;
    this.#host = options.host;
    this.#logger = options.logger;
  }

  /** Keep in step with a job as it now is. */
  follow(job: JobRecord): void {
    const waiting = this.#byJob.get(job.id);
    if (waiting !== undefined) {
      this.#deadlines.clear(waiting);
      this.#byJob.delete(job.id);
    }
    if (job.state !== 'pending.delayed') return;
    const leftMs = (job.life.delayedUntil ?? 0) - this.#clock.now();
    this.#after(Math.min(Math.max(0, leftMs), stepMaxMs), job);
  }

  #after(delayMs: number, job: JobRecord): void {
    const at = this.#clock.monotonic() + delayMs;
    this.#byJob.set(
      job.id,
      this.#deadlines.set(at, () => this.#look(job)),
    );
  }

  #look(job: JobRecord): void {
    // A pause after an attempt is a span, which is over now; `not_before` is a time, which the wall clock tells.
    const isPause = job.life.attempts.length > 0;
    if (!isPause && (job.life.delayedUntil ?? 0) > this.#clock.now()) {
      this.follow(job);
      return;
    }
    this.#byJob.delete(job.id);
    this.#host
      .apply(job.id, () => [{ type: 'job.due', at: this.#clock.now() }])
      .catch((error: unknown) => {
        this.#logger.error({ job_id: job.id, err: error }, 'job could not be made ready; trying again');
        this.#after(storeRetryMs, job);
      });
  }
}
