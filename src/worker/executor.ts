import type { Clock } from '../domain/clock.ts';
import { messageOf } from '../domain/errors.ts';
import type { Assignment } from '../domain/workerProtocol.ts';
import { abortedOutcome, type Outcome, type Provider } from './provider.ts';
import { workerFault } from './report.ts';
import { Run, type StopReason } from './run.ts';

export interface ExecutorOwner {
  /** A run has output to show; told once until `run.unsent` is taken. */
  onText(run: Run): void;
  /** The run is over, told exactly once for each. */
  onEnd(run: Run, outcome: Outcome): void;
  /** A provider broke a promise of the port. */
  onFault(run: Run, problem: string): void;
}

const sweepMs = 1000;
/** An adapter that does not end when it is told to loses its word after this; its slot is wanted. */
const stopGraceMs = 5000;
/**
 * The coordinator's clock decides about a job's timeout. The worker's own deadline comes later and only counts when
 * the coordinator could not say so.
 */
const deadlineSlackMs = 5000;

/**
 * Runs assignments, as many as it is given; the coordinator counts the slots. A run ends by its provider's word, or
 * by `stop`; deadlines and stubborn adapters are looked after by one timer a second for all runs together.
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

  /** From now on; what runs goes on with the one that it began with. */
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
    const run = new Run(assignment, key, this.#clock, deadlineAt, this.#owner.onText);
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

  /** @returns whether it was running. Its end is told when the provider has closed what it had open. */
  stop(key: string, reason: StopReason): boolean {
    const run = this.#runs.get(key);
    run?.stop(reason);
    return run !== undefined;
  }

  /** @returns how many were told to stop. */
  stopAll(reason: StopReason): number {
    // A provider may end its run while it is told to: the map changes under a live iterator.
    const runs = [...this.#runs.values()];
    for (const run of runs) run.stop(reason);
    return runs.length;
  }

  /** Resolves when nothing runs. */
  idle(): Promise<void> {
    if (this.#runs.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#whenIdle.push(resolve));
  }

  /** Let go of the timer. What still runs is no longer looked after. */
  close(): void {
    this.#takeBackSweep?.();
    this.#takeBackSweep = null;
  }

  #end(run: Run, outcome: Outcome): void {
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

/** An adapter's throw is a bug of ours, not the provider's word. */
function thrown(error: unknown): Outcome {
  return workerFault(messageOf(error).slice(0, messageMax));
}

function notServed(provider: string): Outcome {
  const message = `This worker does not serve the provider ${provider}`;
  return { ok: false, error: { class: 'unknown', code: 'provider_not_served', message } };
}
