import type { Clock } from '../domain/clock.ts';
import type { Assignment } from '../domain/workerProtocol.ts';
import type { RunContext } from './provider.ts';
import { Unsent } from './unsent.ts';

/**
 * Why a run was stopped before it had ended.
 * - `ordered`    by the coordinator: cancelled, timed out, lease lost.
 * - `deadline`   it exceeded its timeout and the coordinator did not abort it in time.
 * - `given back` the worker drains, or had no answer within the stale time: another worker should run the job.
 * - `dropped`    the worker stops at once; nothing more is reported.
 */
export type StopReason = 'ordered' | 'deadline' | 'given back' | 'dropped';

/** One running assignment; its provider sees it as RunContext. */
export class Run implements RunContext {
  readonly assignment: Assignment;
  readonly key: string;
  readonly clock: Clock;
  /** Monotonic milliseconds, as all times here. */
  readonly startedAt: number;
  /** null: none. */
  readonly deadlineAt: number | null;
  readonly onText: RunContext['onText'];
  readonly onPart: RunContext['onPart'];
  firstTextAt: number | null = null;
  /** Whether the provider has sent anything: text, reasoning or a tool call. */
  hasBegun = false;
  /** Output not yet sent as a chunk. */
  readonly unsent = new Unsent();
  /** Number of the last chunk sent. */
  seq = 0;
  stopped: { reason: StopReason; at: number } | null = null;
  hasEnded = false;
  readonly #controller = new AbortController();

  /** @param onOutput called when there is output to send where there was none, until the run is stopped. */
  constructor(
    assignment: Assignment,
    key: string,
    clock: Clock,
    deadlineAt: number | null,
    onOutput: (run: Run) => void,
  ) {
    this.assignment = assignment;
    this.key = key;
    this.clock = clock;
    this.startedAt = clock.monotonic();
    this.deadlineAt = deadlineAt;
    this.onText = (text) => {
      if (this.hasEnded || this.stopped || text === '') return;
      this.firstTextAt ??= clock.monotonic();
      this.hasBegun = true;
      const isFirst = this.unsent.isEmpty;
      this.unsent.addText(text);
      if (isFirst) onOutput(this);
    };
    this.onPart = (part) => {
      if (this.hasEnded || this.stopped) return;
      this.hasBegun = true;
      const isFirst = this.unsent.isEmpty;
      this.unsent.add(part);
      if (isFirst && !this.unsent.isEmpty) onOutput(this);
    };
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Stop it. The first reason counts, except that `dropped` overrules all. */
  stop(reason: StopReason): void {
    if (this.hasEnded) return;
    if (this.stopped) {
      if (reason === 'dropped') this.stopped.reason = reason;
      return;
    }
    this.stopped = { reason, at: this.clock.monotonic() };
    this.unsent.clear();
    this.#controller.abort();
  }
}
