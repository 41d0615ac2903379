import { isFinal } from '../../domain/batch.ts';
import type { Clock } from '../../domain/clock.ts';
import { CoordinatorError } from '../../domain/errors.ts';
import { addToTotals, noTotals, type RunRecord, type RunTotals, runsMax } from '../../domain/run.ts';
import { type BatchStatus, isTerminal, type RunStatus } from '../../domain/states.ts';
import type { Store } from '../../store/store.ts';
import type { Committed } from '../core/index.ts';
import { RunPace } from './runPace.ts';

/** A run as it is now. */
export interface RunView {
  run: RunRecord;
  /** Jobs that ended a minute. */
  ratePerMinute: number;
}

/** A run in memory: the record and how fast it goes. */
interface Entry {
  run: RunRecord;
  pace: RunPace;
}

/** Every run as it was committed last, with the totals of its jobs; kept up to date by every commit. */
export class RunBook {
  readonly #clock: Clock;
  /** By id, in order of creation. */
  readonly #entries = new Map<string, Entry>();
  readonly #ids = new Map<string, string>();
  /** Runs whose answers are checked. */
  #checked = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Take up the runs of an open store. */
  async open(store: Pick<Store, 'runs'>): Promise<void> {
    for (const run of await store.runs()) this.#put(run);
  }

  /** Whether the answers of some run are checked. */
  get hasChecks(): boolean {
    return this.#checked > 0;
  }

  /** A run by its id or its name. */
  find(idOrName: string): RunRecord | undefined {
    return this.#entries.get(this.#ids.get(idOrName) ?? idOrName.toLowerCase())?.run;
  }

  /** @throws CoordinatorError run_not_found. */
  get(idOrName: string): RunRecord {
    const run = this.find(idOrName);
    if (run !== undefined) return run;
    throw new CoordinatorError('run_not_found', `There is no run ${idOrName}`);
  }

  view(run: RunRecord): RunView {
    const pace = this.#entries.get(run.id)?.pace;
    return { run, ratePerMinute: pace?.perMinute(this.#clock.monotonic()) ?? 0 };
  }

  /** The runs, newest first. @param statuses empty for all. */
  list(statuses: readonly RunStatus[]): RunRecord[] {
    const runs = [...this.#entries.values()].map(({ run }) => run).reverse();
    return statuses.length === 0 ? runs : runs.filter(({ state }) => statuses.includes(state));
  }

  /** How many runs are in each state. */
  counts(): Record<RunStatus, number> {
    const counts = { running: 0, paused: 0, completed: 0, cancelled: 0 };
    for (const { run } of this.#entries.values()) counts[run.state] += 1;
    return counts;
  }

  /** Whether a file is read by a batch that has not ended. */
  usesFile(id: string): boolean {
    return [...this.#entries.values()].some(
      ({ run: { batch } }) =>
        batch !== undefined && batch.request.inputFileId === id && !isFinal(batch.state),
    );
  }

  /** How many of those that are batches are in each state. */
  batchCounts(): Record<BatchStatus, number> {
    const states = [...this.#entries.values()].map(({ run }) => run.batch?.state);
    const of = (status: BatchStatus) => states.filter((state) => state === status).length;
    return {
      validating: of('validating'),
      in_progress: of('in_progress'),
      expiring: of('expiring'),
      cancelling: of('cancelling'),
      finalizing: of('finalizing'),
      completed: of('completed'),
      failed: of('failed'),
      expired: of('expired'),
      cancelled: of('cancelled'),
    };
  }

  /** A new run, or a change of one, is durable. */
  put(run: Omit<RunRecord, 'totals'>): RunRecord {
    return this.#put({ ...run, totals: this.#entries.get(run.id)?.run.totals ?? noTotals });
  }

  /**
   * The run to forget so that there is room for a new one: the oldest that has ended, or has no jobs, of the key that has most
   * runs. So a key that makes many pushes out its own.
   * @returns null while there is room. @throws CoordinatorError share_exceeded when none may be forgotten.
   */
  surplus(): RunRecord | null {
    if (this.#entries.size < runsMax) return null;
    const all = [...this.#entries.values()].map(({ run }) => run);
    const byKey = [...Map.groupBy(all, ({ createdBy }) => createdBy?.keyId).values()];
    for (const runs of byKey.sort((a, b) => b.length - a.length)) {
      const over = runs.find(isForgettable);
      if (over !== undefined) return over;
    }
    throw new CoordinatorError(
      'share_exceeded',
      `${this.#entries.size} runs have jobs that have not ended, as many as there may be; wait for some of them, or cancel them`,
      { retryAfterSeconds: 60 },
    );
  }

  /** A run is removed; durable. */
  forget({ id, name }: RunRecord): void {
    if (this.#entries.get(id)?.run.check !== undefined) this.#checked -= 1;
    this.#entries.delete(id);
    this.#ids.delete(name);
  }

  /** A change of a job is durable. @returns the job's run with the new totals; undefined when they are as before. */
  follow({ before, after, runTotals }: Committed): RunRecord | undefined {
    const entry = runTotals === undefined ? undefined : this.#entries.get(runTotals.runId);
    if (entry === undefined || runTotals === undefined) return undefined;
    entry.run = { ...entry.run, totals: addToTotals(entry.run.totals, runTotals.delta) };
    if (isTerminal(after.state) && before !== null && !isTerminal(before.state))
      entry.pace.count(this.#clock.monotonic());
    return entry.run;
  }

  #put(run: RunRecord): RunRecord {
    const known = this.#entries.get(run.id);
    if (known !== undefined) known.run = run;
    else {
      this.#entries.set(run.id, { run, pace: new RunPace() });
      if (run.check !== undefined) this.#checked += 1;
    }
    this.#ids.set(run.name, run.id);
    return run;
  }
}

/** Nothing of it is to come; one that has no jobs yet is made again by its next command, unless it is a batch. */
function isForgettable({ totals, batch }: RunRecord): boolean {
  return openJobsOf(totals) === 0 && (batch === undefined || isFinal(batch.state));
}

/** Jobs that have not ended. */
export function openJobsOf({ pending, running }: RunTotals): number {
  return pending + running;
}
