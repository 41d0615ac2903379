import type { Config } from '../../config/config.ts';
import type { Clock } from '../../domain/clock.ts';
import type { AttemptOutcome, JobRecord } from '../../domain/job.ts';
import type { Logger } from '../../lib/log.ts';
import type { Store } from '../../store/store.ts';
import type { Deadlines } from '../core/index.ts';
import type { JobHost } from '../jobs/index.ts';

const dayMs = 86_400_000;
/** How often it looks for jobs to archive: a second's worth of them never takes long. */
const sweepEveryMs = 1_000;
/** After a failure, which a full disk repeats. */
const retryMs = 60_000;
/**
 * Jobs that leave in one commit, some turns of the event loop long. A commit waits for the disk and for turns that others
 * have filled, some 0.1 s at full load, so fewer than these would leave more slowly than jobs end then.
 */
const sweepSizeMax = 1_000;
/** Between two commits where there is more to move: others get the thread and the disk, ms at most. */
const restMsMax = 20;
/** How often the number of archived jobs is logged. */
const logEveryMs = 60_000;
/** How long the worker of an attempt that ended without its report may still report what it cost. */
const reportMs = dayMs;

/** Outcomes of attempts that ended without a report of their worker. */
const unreported: ReadonlySet<AttemptOutcome> = new Set(['cancelled', 'timed_out', 'reaped', 'lost']);

/**
 * Moves ended jobs to the archive, by `retention.*`: a little every second. Where there is more to move it rests after
 * each commit for as long as that took, 20 ms at most: the hot set must not grow as long as jobs end at full speed. Nothing of
 * it hangs on a job's own path.
 */
export class Retention {
  readonly #config: () => Config;
  readonly #clock: Clock;
  readonly #deadlines: Deadlines;
  readonly #store: Store;
  readonly #host: JobHost;
  readonly #isAccepting: () => boolean;
  readonly #logger: Logger;
  #isClosed = false;
  /** Jobs that were archived since the last line in the log. */
  #unlogged = 0;
  /** Monotonic ms. */
  #loggedAt = Number.NEGATIVE_INFINITY;

  constructor(options: {
    config: () => Config;
    clock: Clock;
    deadlines: Deadlines;
    store: Store;
    host: JobHost;
    isAccepting: () => boolean;
    logger: Logger;
  }) {
    this.#config = options.config;
    this.#clock = options.clock;
    this.#deadlines = options.deadlines;
    this.#store = options.store;
    this.#host = options.host;
    this.#isAccepting = options.isAccepting;
    this.#logger = options.logger;
  }

  /** Look from now on. */
  start(): void {
    this.#lookIn(sweepEveryMs);
  }

  close(): void {
    this.#isClosed = true;
  }

  #lookIn(delayMs: number): void {
    if (this.#isClosed) return;
    this.#deadlines.set(this.#clock.monotonic() + delayMs, () => {
      this.#sweep().then((restMs) => this.#lookIn(restMs));
    });
  }

  /** @returns how long to rest before the next, ms. */
  async #sweep(): Promise<number> {
    if (!this.#isAccepting()) return sweepEveryMs;
    const { keepDays, keepJobs } = this.#config().retention;
    const now = this.#clock.now();
    const beganAt = this.#clock.monotonic();
    const rule = { endedBefore: now - keepDays * dayMs, keep: keepJobs, limit: sweepSizeMax, staysUntil };
    const held = this.#host.holdGroup();
    try {
      const count = await this.#store.archive(rule, (job) => {
        if (this.#host.inFlight(job.id) !== null) return false;
        held.hold(job.id);
        return true;
      });
      this.#tell(count);
      if (count < sweepSizeMax) return sweepEveryMs;
      return Math.min(this.#clock.monotonic() - beganAt, restMsMax);
    } catch (error) {
      this.#logger.error({ err: error }, 'ended jobs could not be moved to the archive; trying again');
      return retryMs;
    } finally {
      held.end();
    }
  }

  /** So many more have left. */
  #tell(count: number): void {
    this.#unlogged += count;
    const now = this.#clock.monotonic();
    if (this.#unlogged === 0 || now - this.#loggedAt < logEveryMs) return;
    this.#logger.info({ jobs: this.#unlogged }, 'moved ended jobs to the archive');
    this.#unlogged = 0;
    this.#loggedAt = now;
  }
}

/**
 * Until when a worker may still say what an attempt of the job has cost, epoch ms; 0 when all of it is known. That is counted
 * once, by what the job remembers of the attempt, so until then the job stays.
 */
function staysUntil({ life }: JobRecord): number {
  const waiting = life.attempts.filter(
    ({ outcome, usage }) => outcome !== null && unreported.has(outcome) && usage === null,
  );
  return Math.max(0, ...waiting.map(({ finishedAt }) => (finishedAt ?? life.updatedAt) + reportMs));
}
