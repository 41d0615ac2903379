import type { Doer } from '../../domain/audit.ts';
import { CoordinatorError } from '../../domain/errors.ts';
import type { ErrorClass } from '../../domain/failure.ts';
import type { JobRecord } from '../../domain/job.ts';
import type { Principal } from '../../domain/key.ts';
import type { RunLimits } from '../../domain/run.ts';
import type { RunStatus } from '../../domain/states.ts';
import type { Store } from '../../store/store.ts';
import type { RunBook, RunView } from './runBook.ts';
import type { RunCommands, RunRequest } from './runCommands.ts';
import type { PlannedLine, RunIntake } from './runIntake.ts';
import { jobOfLine, jobsInOrder } from './runResults.ts';

/** Everything that reaches runs from outside. A run is named by its id or by its name. */
export class Runs {
  readonly #store: Store;
  readonly #book: RunBook;
  readonly #intake: RunIntake;
  readonly #commands: RunCommands;

  constructor(parts: { store: Store; book: RunBook; runIntake: RunIntake; runCommands: RunCommands }) {
    this.#store = parts.store;
    this.#book = parts.book;
    this.#intake = parts.runIntake;
    this.#commands = parts.runCommands;
  }

  /** The runs, newest first. @param statuses empty for all. */
  list(statuses: readonly RunStatus[], limit: number, offset: number): { runs: RunView[]; total: number } {
    const runs = this.#book.list(statuses);
    const page = runs.slice(offset, offset + limit).map((run) => this.#book.view(run));
    return { runs: page, total: runs.length };
  }

  /** @throws CoordinatorError run_not_found. */
  get(name: string): RunView {
    return this.#book.view(this.#book.get(name));
  }

  /** A filter of jobs with the id of its run in place of the name. */
  inFilter<F extends { run: string | null }>(filter: F): F {
    const run = filter.run === null ? undefined : this.#book.find(filter.run);
    return run === undefined ? filter : { ...filter, run: run.id };
  }

  /** Make a run unless there is one with that name; nothing of that one changes. @throws StoreUnavailable. */
  async create(request: RunRequest, by: Principal): Promise<{ view: RunView; isNew: boolean }> {
    const { run, isNew } = await this.#commands.create(request, by);
    return { view: this.#book.view(run), isNew };
  }

  /**
   * Make the jobs of new lines durable, all in one commit or none.
   * @throws CoordinatorError run_not_found, run_conflict, draining, queue_full, share_exceeded; StoreUnavailable.
   */
  add(name: string, lines: readonly PlannedLine[], by: Principal | null) {
    const run = this.#book.get(name);
    if (run.batch !== undefined) {
      const message = `Run ${run.name} is a batch, whose jobs come from its file; make another run, or another batch`;
      throw new CoordinatorError('run_conflict', message);
    }
    return this.#intake.add(name, lines, by);
  }

  /** @throws CoordinatorError run_not_found, run_conflict; StoreUnavailable. */
  async pause(name: string, by: Doer, detail: string): Promise<RunView> {
    return this.#book.view(await this.#commands.pause(name, by, detail));
  }

  /** @param changed limits to replace. @throws CoordinatorError run_not_found, run_conflict; StoreUnavailable. */
  async resume(name: string, changed: Partial<RunLimits>, by: Doer): Promise<RunView> {
    return this.#book.view(await this.#commands.resume(name, changed, by));
  }

  /** Its jobs are cancelled after that. @throws CoordinatorError run_not_found, run_conflict; StoreUnavailable. */
  async cancel(name: string, by: Doer): Promise<RunView> {
    return this.#book.view(await this.#commands.cancel(name, by));
  }

  /** Retry its failed jobs. @throws CoordinatorError run_not_found, run_conflict; StoreUnavailable. */
  async retry(name: string, errorClass: ErrorClass | null, by: Doer) {
    const { run, ...counts } = await this.#commands.retry(name, errorClass, by);
    return { view: this.#book.view(run), ...counts };
  }

  /** Every job of a run in the order of its lines, in batches. @throws CoordinatorError run_not_found; StoreUnavailable. */
  jobs(name: string): AsyncGenerator<JobRecord[]> {
    return jobsInOrder(this.#store, this.#book.get(name));
  }

  /** The job of a line; undefined when there is none. @throws CoordinatorError run_not_found; StoreUnavailable. */
  job(name: string, lineId: string): Promise<JobRecord | undefined> {
    return jobOfLine(this.#store, this.#book.get(name), lineId);
  }
}
