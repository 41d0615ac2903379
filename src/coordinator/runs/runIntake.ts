import type { Clock } from '../../domain/clock.ts';
import { CoordinatorError } from '../../domain/errors.ts';
import type { Principal } from '../../domain/key.ts';
import { jobsOf } from '../../domain/run.ts';
import { nextTurn } from '../../lib/nextTurn.ts';
import type { Store } from '../../store/store.ts';
import type { Intake, PlannedRequest } from '../jobs/index.ts';
import { jobIdOf } from './lineId.ts';
import type { RunBook } from './runBook.ts';
import type { RunHost } from './runHost.ts';

/** Lines that are looked up between two turns of the event loop: some 5 ms. */
const perTurn = 500;

/** A line of a run, and where its job may run. */
export interface PlannedLine {
  lineId: string;
  planned: PlannedRequest;
}

/** Accepts the jobs of runs: one for each line, however often the line is sent. */
export class RunIntake {
  readonly #clock: Clock;
  readonly #store: Store;
  readonly #book: RunBook;
  readonly #host: RunHost;
  readonly #intake: Intake;

  constructor(options: { clock: Clock; store: Store; book: RunBook; host: RunHost; intake: Intake }) {
    this.#clock = options.clock;
    this.#store = options.store;
    this.#book = options.book;
    this.#host = options.host;
    this.#intake = options.intake;
  }

  /**
   * Make the jobs of those lines that the run does not have yet durable, all in one commit or none. A line that occurs twice
   * counts as known the second time.
   * @throws CoordinatorError run_not_found; run_conflict when the run is cancelled; draining, queue_full, share_exceeded;
   * StoreUnavailable.
   */
  add(
    idOrName: string,
    lines: readonly PlannedLine[],
    by: Principal | null,
  ): Promise<{ created: number; known: number }> {
    const { id, name } = this.#book.get(idOrName);
    return this.#host.alone(`jobs ${id}`, async () => {
      const { state, totals } = this.#book.get(id);
      if (state === 'cancelled') {
        throw new CoordinatorError(
          'run_conflict',
          `Run ${name} is cancelled and takes no more jobs; use another name for a new run`,
        );
      }
      const isArchivedToo = jobsOf(totals) > (await this.#store.countOfRun(id));
      const fresh = new Map<string, PlannedLine>();
      for (const [index, line] of lines.entries()) {
        if (index % perTurn === perTurn - 1) await nextTurn();
        const jobId = jobIdOf(id, line.lineId);
        if (fresh.has(jobId) || (await this.#isKnown(jobId, isArchivedToo))) continue;
        fresh.set(jobId, line);
      }
      if (fresh.size > 0)
        await this.#intake.acceptOfRun(this.#jobs(fresh, { runId: id, name }), fresh.size, by);
      return { created: fresh.size, known: lines.length - fresh.size };
    });
  }

  async #isKnown(jobId: string, isArchivedToo: boolean): Promise<boolean> {
    if ((await this.#store.job(jobId)) !== undefined) return true;
    return isArchivedToo && (await this.#store.archivedJob(jobId)) !== undefined;
  }

  *#jobs(lines: ReadonlyMap<string, PlannedLine>, run: { runId: string; name: string }) {
    const createdAt = this.#clock.now();
    for (const [id, { lineId, planned }] of lines) {
      yield { id, planned, createdAt, run: { ...run, lineId } };
    }
  }
}
