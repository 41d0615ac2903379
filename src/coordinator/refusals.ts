import type { Clock } from '../domain/clock.ts';
import { brief, type Failure } from '../domain/failure.ts';
import type { Refusal } from '../domain/worker.ts';
import type { Deadlines } from './deadlines.ts';

/** A worker is passed over for so long after a refusal, and twice as long after each that follows. */
const refusedMs = 60_000;
const refusedMsMax = 3_600_000;

/** The providers that have turned one worker away, until a success there, its next hello or an operator's resume. */
export class Refusals {
  readonly #clock: Clock;
  readonly #deadlines: Deadlines;
  /** Called when the worker is to be tried again. */
  readonly #onOver: () => void;
  readonly #byProvider = new Map<string, Refusal>();

  constructor(options: { clock: Clock; deadlines: Deadlines; onOver: () => void }) {
    this.#clock = options.clock;
    this.#deadlines = options.deadlines;
    this.#onOver = options.onOver;
  }

  /** @returns what begins with this failure; null while it is passed over: of several jobs under way the first has said it. */
  add(provider: string, failure: Failure): Refusal | null {
    const before = this.#byProvider.get(provider);
    if (this.isHeld(provider)) return null;
    const at = this.#clock.now();
    const inRow = (before?.inRow ?? 0) + 1;
    const forMs = Math.min(refusedMs * 2 ** (inRow - 1), refusedMsMax);
    const refusal: Refusal = { provider, failure: brief(failure), at, until: at + forMs, inRow };
    this.#byProvider.set(provider, refusal);
    this.#deadlines.set(this.#clock.monotonic() + forMs, () => {
      if (this.#byProvider.get(provider) !== refusal) return;
      this.#byProvider.set(provider, { ...refusal, until: null });
      this.#onOver();
    });
    return refusal;
  }

  /** Whether the provider has turned it away lately. */
  isHeld(provider: string): boolean {
    return (this.#byProvider.get(provider)?.until ?? null) !== null;
  }

  /** @returns whether there was one. */
  end(provider: string): boolean {
    return this.#byProvider.delete(provider);
  }

  /** @returns whether there was any. */
  endAll(): boolean {
    const had = this.#byProvider.size > 0;
    this.#byProvider.clear();
    return had;
  }

  list(): Refusal[] {
    return [...this.#byProvider.values()];
  }
}
