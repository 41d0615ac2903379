import type { Clock } from '../../domain/clock.ts';
import { messageOf } from '../../domain/errors.ts';
import { hasEnded, isOver, type PauseReason, type RunRecord } from '../../domain/run.ts';
import { isTerminal, type JobState, jobStates } from '../../domain/states.ts';
import type { Logger } from '../../lib/log.ts';
import { Lookout } from '../../lib/lookout.ts';
import type { Store } from '../../store/store.ts';
import type { Committed, Deadline, Deadlines, Supervisor } from '../core/index.ts';
import type { JobCommands } from '../jobs/index.ts';
import { openJobsOf, type RunBook } from './runBook.ts';
import type { RunHost } from './runHost.ts';

/** After a refused commit, ms. */
const retryMs = 1_000;
/** Jobs of a cancelled run that are cancelled at once: they share a commit or two. */
const cancelledAtOnce = 200;
/** The states in which a job has not ended. */
const openStates = jobStates.filter((state) => !isTerminal(state));

/**
 * What a run does by itself: it ends with its last job, pauses at a limit, and a cancelled one takes its jobs with it. All of
 * it follows from what is stored, so it is looked at again after each start, and nothing of it can be lost by a crash.
 */
export class RunWatch {
  readonly #clock: Clock;
  readonly #deadlines: Deadlines;
  readonly #supervisor: Supervisor;
  readonly #store: Store;
  readonly #book: RunBook;
  readonly #host: RunHost;
  readonly #commands: Pick<JobCommands, 'cancel'>;
  readonly #logger: Logger;
  readonly #lookout = new Lookout(
    (id) => this.#lookAt(id),
    (id, error) => this.#tryAgain(id, error),
  );
  readonly #timers = new Map<string, { at: number; timer: Deadline }>();
  #isClosed = false;

  constructor(options: {
    clock: Clock;
    deadlines: Deadlines;
    supervisor: Supervisor;
    store: Store;
    book: RunBook;
    host: RunHost;
    commands: Pick<JobCommands, 'cancel'>;
    logger: Logger;
  }) {
    this.#clock = options.clock;
    this.#deadlines = options.deadlines;
    this.#supervisor = options.supervisor;
    this.#store = options.store;
    this.#book = options.book;
    this.#host = options.host;
    this.#commands = options.commands;
    this.#logger = options.logger;
  }

  /** Look at every run, after a start. */
  open(): void {
    for (const run of this.#book.list([])) this.look(run);
  }

  close(): void {
    this.#isClosed = true;
  }

  /** A change of a job is durable. */
  follow(change: Committed): void {
    const run = this.#book.follow(change);
    if (run !== undefined && isDue(run)) this.look(run);
  }

  /** A run cannot start its next job, whatever happens. */
  exhausted({ id }: RunRecord, detail: string): void {
    this.#pause(id, 'max_cost', detail).catch((error: unknown) => this.#tryAgain(id, error));
  }

  /** Do what is due for a run. */
  look({ id }: RunRecord): void {
    this.#lookout.look(id);
  }

  #tryAgain(id: string, error: unknown): void {
    if (this.#isClosed) return;
    this.#logger.warn(
      { run: id, error: messageOf(error) },
      'a run could not be brought up to date; trying again',
    );
    this.#setTimer(id, this.#clock.now() + retryMs);
  }

  async #lookAt(id: string): Promise<void> {
    if (this.#isClosed) return;
    const run = this.#book.find(id);
    if (run === undefined) return;
    const { state, totals, life } = run;
    const { maxFailures, deadline } = life.limits;
    if (state === 'cancelled') return this.cancelJobs(id, openStates);
    if (isOver(run)) {
      const ended = await this.#host.apply(id, (now) =>
        isOver(now) ? { type: 'run.ended', at: this.#clock.now() } : null,
      );
      if (ended !== null) this.#logger.info({ run: run.name, ...countsOf(ended) }, 'run completed');
      return;
    }
    if (state === 'completed' && openJobsOf(totals) > 0) {
      await this.#host.apply(id, (now) => (openJobsOf(now.totals) > 0 ? { type: 'run.refilled' } : null));
      this.#supervisor.workArrived();
    }
    if (state === 'paused') return;
    if (maxFailures !== null && totals.failed >= maxFailures) {
      const detail = `${totals.failed} of its jobs have failed, and max_failures is ${maxFailures}; retry what failed or give a higher one, then resume the run`;
      return this.#pause(id, 'max_failures', detail);
    }
    if (deadline === null) return;
    if (deadline > this.#clock.now()) this.#setTimer(id, deadline);
    else await this.#pause(id, 'deadline', 'Its deadline has passed; resume the run with a later one');
  }

  /** Only while jobs wait: without them there is nothing to hold back. */
  async #pause(id: string, reason: PauseReason, detail: string): Promise<void> {
    const paused = await this.#host.apply(id, (run) =>
      run.state === 'running' && run.totals.pending > 0
        ? { type: 'run.paused', reason, detail, at: this.#clock.now() }
        : null,
    );
    if (paused !== null) this.#logger.warn({ run: paused.name, reason, detail }, 'run paused');
  }

  /**
   * Cancel the jobs of a run that are in one of the states. Jobs that were being created when the run was cancelled are found
   * by the change that creates them. @throws StoreUnavailable.
   */
  async cancelJobs(id: string, states: readonly JobState[]): Promise<void> {
    for (const state of states) {
      let after = 0;
      for (;;) {
        if (this.#isClosed) return;
        const jobs = await this.#store.jobsOfRun(id, { state, after, limit: cancelledAtOnce });
        await Promise.all(jobs.map((job) => this.#cancel(job.id)));
        const last = jobs[jobs.length - 1];
        if (last === undefined) break;
        after = last.ordinal;
      }
    }
  }

  /** One that has ended meanwhile stays as it is. @throws StoreUnavailable. */
  async #cancel(jobId: string): Promise<void> {
    try {
      await this.#commands.cancel(jobId);
    } catch (error) {
      const job = await this.#store.job(jobId);
      if (job !== undefined && !isTerminal(job.state)) throw error;
    }
  }

  /** @param at epoch ms. */
  #setTimer(id: string, at: number): void {
    const known = this.#timers.get(id);
    if (known !== undefined && known.at <= at) return;
    if (known !== undefined) this.#deadlines.clear(known.timer);
    const timer = this.#deadlines.set(this.#clock.monotonic() + Math.max(0, at - this.#clock.now()), () => {
      this.#timers.delete(id);
      const run = this.#book.find(id);
      if (run !== undefined) this.look(run);
      // A pause for its budget that could not be stored is decided again by the pass that finds no job to start.
      this.#supervisor.workArrived();
    });
    this.#timers.set(id, { at, timer });
  }
}

/** Whether something may be due for a run after a change of one of its jobs. */
function isDue({ state, totals, life }: RunRecord): boolean {
  if (state === 'cancelled') return totals.pending > 0;
  if (state === 'completed') return openJobsOf(totals) > 0;
  const { maxFailures } = life.limits;
  return hasEnded(totals) || (state === 'running' && maxFailures !== null && totals.failed >= maxFailures);
}

function countsOf({ totals: { completed, failed, cancelled } }: RunRecord) {
  return { completed, failed, cancelled };
}
