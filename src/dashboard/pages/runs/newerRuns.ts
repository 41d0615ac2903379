import { type ReadonlySignal, signal } from '@preact/signals';
import type { WireLiveRun } from '../../../domain/wire/run.ts';

/** Runs from live events that are newer than what was loaded. */
export class NewerRuns {
  readonly #runs = new Map<string, { run: WireLiveRun; number: number }>();
  readonly #revision = signal(0);

  /** Rises with every event. */
  get revision(): ReadonlySignal<number> {
    return this.#revision;
  }

  add(run: WireLiveRun): void {
    const number = this.#revision.peek() + 1;
    this.#runs.set(run.id, { run, number });
    this.#revision.value = number;
  }

  /** A request is sent. @returns to be called with its answer, which is newer than the events until now. */
  begin(): () => void {
    const sentAt = this.#revision.peek();
    return () => {
      for (const [id, { number }] of this.#runs) if (number <= sentAt) this.#runs.delete(id);
    };
  }

  /** A loaded run with what has changed since. */
  over<R extends WireLiveRun>(loaded: R): R {
    const newer = this.#runs.get(loaded.id);
    return newer === undefined ? loaded : { ...loaded, ...newer.run };
  }
}
