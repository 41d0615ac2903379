import { type Doer, nobody } from '../../domain/audit.ts';
import type { Clock, Random } from '../../domain/clock.ts';
import { CoordinatorError } from '../../domain/errors.ts';
import type { ErrorClass } from '../../domain/failure.ts';
import type { JobCreator } from '../../domain/job.ts';
import type { Principal } from '../../domain/key.ts';
import { toDollars } from '../../domain/money.ts';
import { type OutputCheck, type RunLimits, type RunRecord, spentOf } from '../../domain/run.ts';
import type { Change, Store } from '../../store/store.ts';
import type { Audit, Supervisor } from '../core/index.ts';
import { type JobCommands, uuidv7 } from '../jobs/index.ts';
import type { RunBook } from './runBook.ts';
import type { RunChecks } from './runChecks.ts';
import type { RunHost } from './runHost.ts';
import type { RunWatch } from './runWatch.ts';

/** Failed jobs that are retried at once: they share a commit or two. */
const retriedAtOnce = 200;

/** A run as a client asks for it. */
export interface RunRequest {
  name: string;
  limits: RunLimits;
  /** Fields of jobs that do not set them. */
  defaults: Record<string, unknown>;
  /** What answers must be; every one will do without it. */
  check?: OutputCheck | undefined;
}

/** What people do to runs, and the error when a run's state does not allow it. */
export class RunCommands {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #store: Store;
  readonly #audit: Audit;
  readonly #supervisor: Supervisor;
  readonly #book: RunBook;
  readonly #host: RunHost;
  readonly #watch: RunWatch;
  readonly #checks: RunChecks;
  readonly #commands: Pick<JobCommands, 'retry'>;

  constructor(options: {
    clock: Clock;
    random: Random;
    store: Store;
    audit: Audit;
    supervisor: Supervisor;
    book: RunBook;
    host: RunHost;
    watch: RunWatch;
    checks: RunChecks;
    commands: Pick<JobCommands, 'retry'>;
  }) {
    this.#clock = options.clock;
    this.#random = options.random;
    this.#store = options.store;
    this.#audit = options.audit;
    this.#supervisor = options.supervisor;
    this.#book = options.book;
    this.#host = options.host;
    this.#watch = options.watch;
    this.#checks = options.checks;
    this.#commands = options.commands;
  }

  /**
   * Make a run unless there is one with that name; nothing of that one changes.
   * @throws CoordinatorError invalid_request when its schema cannot be used, share_exceeded when there are too many runs;
   * StoreUnavailable. There is no such run then.
   */
  create(
    { name, limits, defaults, check }: RunRequest,
    by: Principal,
  ): Promise<{ run: RunRecord; isNew: boolean }> {
    return this.#host.alone(`name ${name}`, async () => {
      const known = this.#book.find(name);
      if (known !== undefined) return { run: known, isNew: false };
      if (check !== undefined) await this.#checks.assertUsable(check);
      const createdBy: JobCreator = { keyId: by.keyId, name: by.name };
      const createdAt = this.#clock.now();
      const id = uuidv7(this.#clock, this.#random);
      const identity = {
        id,
        name,
        createdAt,
        createdBy,
        defaults,
        ...(check === undefined ? {} : { check }),
      };
      const run = await this.#host.create({ ...identity, limits });
      this.#watch.look(run);
      return { run, isNew: true };
    });
  }

  /** None of its waiting jobs starts from then on. @throws CoordinatorError run_not_found, run_conflict; StoreUnavailable. */
  async pause(idOrName: string, by: Doer, detail: string): Promise<RunRecord> {
    const { id, name, state } = this.#book.get(idOrName);
    if (state === 'paused') return this.#book.get(id);
    const paused = await this.#host.apply(
      id,
      () => ({ type: 'run.paused', reason: 'operator', detail, at: this.#clock.now() }),
      this.#entry(by, 'run.paused', { id, name }),
    );
    return paused ?? this.#refuse(id, 'paused');
  }

  /**
   * Let its jobs start again, with other limits where some are given.
   * @throws CoordinatorError run_not_found; run_conflict when it has ended, or one of its limits would pause it at once;
   * StoreUnavailable.
   */
  async resume(idOrName: string, changed: Partial<RunLimits>, by: Doer): Promise<RunRecord> {
    const { id, name } = this.#book.get(idOrName);
    const resumed = await this.#host.apply(
      id,
      (run) => {
        const limits = { ...run.life.limits, ...changed };
        if (run.state === 'paused') this.#checkLimits(run, limits);
        return { type: 'run.resumed', limits };
      },
      this.#entry(by, 'run.resumed', { id, name }),
    );
    if (resumed === null) return this.#refuse(id, 'resumed');
    this.#watch.look(resumed);
    this.#supervisor.workArrived();
    return resumed;
  }

  /**
   * Cancel a run. Its jobs are cancelled after that, however long it takes, also over a restart.
   * @throws CoordinatorError run_not_found; run_conflict when it has ended; StoreUnavailable.
   */
  async cancel(idOrName: string, by: Doer): Promise<RunRecord> {
    const { id, name, state } = this.#book.get(idOrName);
    if (state === 'cancelled') return this.#book.get(id);
    const cancelled = await this.#host.apply(
      id,
      () => ({ type: 'run.cancelled', at: this.#clock.now() }),
      this.#entry(by, 'run.cancelled', { id, name }),
    );
    if (cancelled === null) return this.#refuse(id, 'cancelled');
    this.#watch.look(cancelled);
    return cancelled;
  }

  /**
   * Put its failed jobs back into the queue; those that are archived stay as they are.
   * @param errorClass only jobs that failed so; null for all.
   * @throws CoordinatorError run_not_found; run_conflict when it is cancelled; StoreUnavailable, and those that were retried
   * until then stay retried.
   */
  async retry(
    idOrName: string,
    errorClass: ErrorClass | null,
    by: Doer,
  ): Promise<{ run: RunRecord; retried: number; archived: number }> {
    const { id, name, state, totals } = this.#book.get(idOrName);
    if (state === 'cancelled') return this.#refuse(id, 'retried');
    let retried = 0;
    let seen = 0;
    for (let after = 0; ; ) {
      const jobs = await this.#store.jobsOfRun(id, { state: 'failed', after, limit: retriedAtOnce });
      const last = jobs[jobs.length - 1];
      if (last === undefined) break;
      after = last.ordinal;
      seen += jobs.length;
      const chosen = jobs.filter(({ life }) => errorClass === null || life.error?.class === errorClass);
      retried += await this.#retryAll(chosen.map((job) => job.id));
    }
    if (retried > 0) {
      await this.#audit.recordDone({
        by,
        action: 'run.retried',
        target: { kind: 'run', id, name },
        details: { retried, class: errorClass },
      });
    }
    return { run: this.#book.get(id), retried, archived: Math.max(0, totals.failed - seen) };
  }

  /** @returns how many of them; one whose state has changed meanwhile is passed over. */
  async #retryAll(ids: readonly string[]): Promise<number> {
    const outcomes = await Promise.all(
      ids.map((id) =>
        this.#commands.retry(id).then(
          () => true,
          (error: unknown) => {
            if (error instanceof CoordinatorError && error.code === 'invalid_transition') return false;
            throw error;
          },
        ),
      ),
    );
    return outcomes.filter(Boolean).length;
  }

  /** @throws CoordinatorError run_conflict when a limit would pause the run again at once. */
  #checkLimits({ name, totals }: RunRecord, { maxCost, maxFailures, deadline }: RunLimits): void {
    const refuse = (text: string): never => {
      throw new CoordinatorError('run_conflict', `Run ${name} cannot be resumed: ${text}`);
    };
    if (maxCost !== null && spentOf(totals) >= maxCost) {
      const [spent, most] = [toDollars(spentOf(totals)), toDollars(maxCost)];
      refuse(`${spent} dollars are spent and max_cost_usd is ${most}; give a higher one`);
    }
    if (maxFailures !== null && totals.failed >= maxFailures) {
      refuse(
        `${totals.failed} of its jobs have failed and max_failures is ${maxFailures}; give a higher one, or retry them first`,
      );
    }
    if (deadline !== null && deadline <= this.#clock.now())
      refuse('its deadline has passed; give a later one');
  }

  #refuse(id: string, verb: string): never {
    const { name, state } = this.#book.get(id);
    const hint = state === 'cancelled' ? '; use another name for a new one' : '';
    throw new CoordinatorError('run_conflict', `Run ${name} is ${state} and cannot be ${verb}${hint}`);
  }

  #entry(
    by: Doer,
    action: 'run.paused' | 'run.resumed' | 'run.cancelled',
    target: { id: string; name: string },
  ): Change[] {
    if (by === nobody) return [];
    return [
      this.#audit.change({ by, action, target: { kind: 'run', ...target }, details: {}, outcome: 'done' }),
    ];
  }
}
