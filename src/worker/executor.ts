import type { Clock } from '../domain/clock.ts';
import { messageOf } from '../domain/errors.ts';
import type { Assignment } from '../domain/workerProtocol.ts';
import { abortedOutcome, type Provider, type RunOutcome } from './provider.ts';
import { workerFault } from './report.ts';
import { Run, type StopReason } from './run.ts';

export interface ExecutorOwner {
  /** A run has output to show; called once until `run.unsent` is empty again. */
  onOutput(run: Run): void;
  /** A run has ended; called exactly once for each. */
  onEnd(run: Run, outcome: RunOutcome): void;
  /** A provider broke a promise of the port. */
  onFault(run: Run, problem: string): void;
}

const sweepMs = 1000;
/** An adapter that does not end when stopped is abandoned after this; its slot is needed. */
const stopGraceMs = 5000;
/**
 * The coordinator's clock decides about a job's timeout. The worker's own deadline is later and only matters when the
 * coordinator could not abort the job.
 */
const deadlineSlackMs = 5000;

/**
 * Runs assignments, as many as it gets; the coordinator counts the slots. A run ends with its provider's outcome, or by
 * `stop`; one timer a second for all runs handles deadlines and adapters that do not stop.
 */
export class Executor {
  #providers: ReadonlyMap<string, Provider>;
  readonly #clock: Clock;
  readonly #owner: ExecutorOwner;
  readonly #runs = new Map<string, Run>();
  #takeBackSweep: (() => void) | null = null;
  #whenIdle: (() => void)[] = [];

  constructor(providers: ReadonlyMap<string, Provider>, clock: Clock, owner: ExecutorOwner) {
    this.#providers = providers;
    this.#clock = clock;
    this.#owner = owner;
  }

  /** For new runs; running ones keep their provider. */
  setProviders(providers: ReadonlyMap<string, Provider>): void {
    this.#providers = providers;
  }

  get size(): number {
    return this.#runs.size;
  }

  runs(): Iterable<Run> {
    return this.#runs.values();
  }

  has(key: string): boolean {
    return this.#runs.has(key);
  }

  start(key: string, assignment: Assignment): void {
    const { timeout_seconds: timeout } = assignment;
    const deadlineAt = timeout > 0 ? this.#clock.monotonic() + timeout * 1000 + deadlineSlackMs : null;
    const run = new Run(assignment, key, this.#clock, deadlineAt, this.#owner.onOutput);
    this.#runs.set(key, run);
    this.#takeBackSweep ??= this.#sweepLater();
    const provider = this.#providers.get(assignment.provider);
    if (!provider) {
      this.#end(run, notServed(assignment.provider));
      return;
    }
    try {
      provider.run(assignment, run).then(
        (outcome) => this.#end(run, outcome),
        (error: unknown) => this.#end(run, thrown(error)),
      );
    } catch (error) {
      this.#end(run, thrown(error));
    }
  }

  /** @returns whether it was running. `onEnd` follows when the provider has closed its connections. */
  stop(key: string, reason: StopReason): boolean {
    const run = this.#runs.get(key);
    run?.stop(reason);
    return run !== undefined;
  }

  /** @returns how many runs were stopped. */
  stopAll(reason: StopReason): number {
    // A provider may end its run during the stop, which would change the map during iteration.
    const runs = [...this.#runs.values()];
    for (const run of runs) run.stop(reason);
    return runs.length;
  }

  /** Resolves when no run is left. */
  idle(): Promise<void> {
    if (this.#runs.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#whenIdle.push(resolve));
  }

  /** Stop the timer. Remaining runs are no longer watched. */
  close(): void {
    this.#takeBackSweep?.();
    this.#takeBackSweep = null;
  }

  #end(run: Run, outcome: RunOutcome): void {
    if (run.hasEnded) return;
    run.hasEnded = true;
    this.#runs.delete(run.key);
    this.#owner.onEnd(run, outcome);
    if (this.#runs.size > 0) return;
    for (const resolve of this.#whenIdle.splice(0)) resolve();
  }

  #sweepLater(): () => void {
    return this.#clock.after(sweepMs, () => {
      this.#takeBackSweep = null;
      this.#sweep();
      if (this.#runs.size > 0) this.#takeBackSweep ??= this.#sweepLater();
    });
  }

  #sweep(): void {
    const now = this.#clock.monotonic();
    for (const run of [...this.#runs.values()]) {
      if (run.stopped) {
        if (now - run.stopped.at < stopGraceMs) continue;
        this.#owner.onFault(run, 'did not end within five seconds of being stopped');
        this.#end(run, abortedOutcome());
      } else if (run.deadlineAt !== null && now >= run.deadlineAt) {
        run.stop('deadline');
      }
    }
  }
}

const messageMax = 1000;

/** A throwing adapter is a bug of ours, not a failure of the provider. */
function thrown(error: unknown): RunOutcome {
  return workerFault(messageOf(error).slice(0, messageMax));
}

function notServed(provider: string): RunOutcome {
  const message = `This worker does not serve the provider ${provider}`;
  return { ok: false, error: { class: 'unknown', code: 'provider_not_served', message } };
}
