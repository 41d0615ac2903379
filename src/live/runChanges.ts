import type { Runs, RunView } from '../coordinator/runs/index.ts';
import type { Clock } from '../domain/clock.ts';
import { type RunRecord, runsMax } from '../domain/run.ts';
import type { WireLiveRun } from '../domain/wire/run.ts';
import { presentLiveRun } from '../present/run.ts';

/** Runs in a snapshot. */
const openMax = 100;

/**
 * Which runs have changed, for those who follow them. Looks at all runs now and then instead of listening to their jobs, so
 * that runs cost nothing while nobody follows them.
 */
export class RunChanges {
  readonly #runs: Pick<Runs, 'list'>;
  readonly #clock: Clock;
  /** Each run as it was sent last; null while nobody follows them. */
  #sent: ReadonlyMap<RunRecord['id'], RunView> | null = null;

  constructor(runs: Pick<Runs, 'list'>, clock: Clock) {
    this.#runs = runs;
    this.#clock = clock;
  }

  /** The runs that are running or paused, newest first. Changes from the first snapshot on are taken later. */
  snapshot(): WireLiveRun[] {
    this.#sent ??= this.#all();
    return this.#runs
      .list(['running', 'paused'], openMax, 0)
      .runs.map((view) => presentLiveRun(view, this.#clock.now()));
  }

  /** The runs that are new or have changed since the last call, oldest first. */
  take(): WireLiveRun[] {
    const before = this.#sent;
    this.#sent = this.#all();
    const changed = [...this.#sent.values()].filter((view) => !isSame(before?.get(view.run.id), view));
    return changed.reverse().map((view) => presentLiveRun(view, this.#clock.now()));
  }

  /** Nobody follows them any more. */
  end(): void {
    this.#sent = null;
  }

  #all(): ReadonlyMap<RunRecord['id'], RunView> {
    return new Map(this.#runs.list([], runsMax, 0).runs.map((view) => [view.run.id, view]));
  }
}

/** A record is replaced with every change. */
function isSame(before: RunView | undefined, { run, ratePerMinute }: RunView): boolean {
  return before?.run === run && before.ratePerMinute === ratePerMinute;
}
