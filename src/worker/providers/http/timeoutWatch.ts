import type { Clock } from '../../../domain/clock.ts';
import { HttpFailure } from './httpFailure.ts';

/**
 * How long each part of a request may take, milliseconds. All of them are ours: Node's `fetch` would end every request
 * without headers after 300 s, and loading a model takes longer.
 */
export interface Timeouts {
  connectMs: number;
  /** From the connection to the first token: includes loading the model and reading the prompt. */
  firstMs: number;
  /** Between two tokens. A sign of life that is not a token (a comment, a ping) does not count. */
  idleMs: number;
  /** From start to end; 0: none, the job's own timeout ends it. */
  totalMs: number;
}

/**
 * The first timeout covers loading a model from a slow disk, reading a long prompt without a GPU, and a reasoning model
 * that hides its thoughts. The job's own timeout (600 s by default) ends it sooner.
 */
export const timeoutsDefault: Timeouts = {
  connectMs: 10_000,
  firstMs: 30 * 60_000,
  idleMs: 5 * 60_000,
  totalMs: 0,
};

type WaitPhase = 'connect' | 'first' | 'idle';

/**
 * The timeouts of one request, on one timer: for the next part, and for the whole. When one is exceeded, or when the
 * outer signal fires, `signal` fires; its reason is the HttpFailure, or that of the outer signal.
 */
export class TimeoutWatch {
  readonly #clock: Clock;
  readonly #timeouts: Timeouts;
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal;
  #phase: WaitPhase = 'connect';
  /** Monotonic milliseconds at which the current wait began. */
  #since: number;
  #takeBackWait: (() => void) | null = null;
  #takeBackTotal: (() => void) | null = null;

  constructor(clock: Clock, timeouts: Timeouts, outer: AbortSignal) {
    this.#clock = clock;
    this.#timeouts = timeouts;
    this.#outer = outer;
    this.#since = clock.monotonic();
    outer.addEventListener('abort', this.#onOuter, { once: true });
    if (outer.aborted) this.#onOuter();
    else {
      this.#wait(timeouts.connectMs);
      const { totalMs } = timeouts;
      if (totalMs > 0) {
        const failure = late(`the answer was not complete within ${totalMs / 1000} s`);
        this.#takeBackTotal = clock.after(totalMs, () => this.#fire(failure));
      }
    }
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The connection is open. */
  connected(): void {
    if (this.#phase === 'connect') this.#enter('first', this.#timeouts.firstMs);
  }

  /** A token has arrived. Cheap: the timer is not reset, it checks when it fires. */
  progress(): void {
    if (this.#phase === 'idle') this.#since = this.#clock.monotonic();
    else this.#enter('idle', this.#timeouts.idleMs);
  }

  /** The request has ended: removes timer and listeners. */
  end(): void {
    this.#takeBackWait?.();
    this.#takeBackTotal?.();
    this.#takeBackWait = null;
    this.#takeBackTotal = null;
    this.#outer.removeEventListener('abort', this.#onOuter);
  }

  readonly #onOuter = (): void => this.#fire(this.#outer.reason);

  #enter(phase: WaitPhase, ms: number): void {
    if (this.signal.aborted) return;
    this.#phase = phase;
    this.#since = this.#clock.monotonic();
    this.#takeBackWait?.();
    this.#wait(ms);
  }

  /**
   * @param isRecheck after a suspension, timers fire before the input that arrived meanwhile is read, so check twice.
   */
  #wait(ms: number, isRecheck = false): void {
    this.#takeBackWait = this.#clock.after(ms, () => {
      const limit = this.#limit();
      const left = this.#since + limit.ms - this.#clock.monotonic();
      if (left > 0) this.#wait(left);
      else if (!isRecheck) this.#wait(0, true);
      else this.#fire(limit.failure);
    });
  }

  /** The timeout of the current wait, and its failure. */
  #limit(): { ms: number; failure: HttpFailure } {
    const { connectMs, firstMs, idleMs } = this.#timeouts;
    switch (this.#phase) {
      case 'connect':
        return { ms: connectMs, failure: unconnected(connectMs) };
      case 'first':
        return { ms: firstMs, failure: late(`nothing was answered within ${firstMs / 1000} s`) };
      case 'idle':
        return { ms: idleMs, failure: late(`nothing more came within ${idleMs / 1000} s`) };
    }
  }

  #fire(reason: unknown): void {
    this.end();
    this.#controller.abort(reason);
  }
}

/** No server was reached, which is not a slow answer. */
function unconnected(ms: number): HttpFailure {
  return new HttpFailure('network', `no connection within ${ms / 1000} s`, 'ETIMEDOUT');
}

function late(message: string): HttpFailure {
  return new HttpFailure('timeout', message);
}
