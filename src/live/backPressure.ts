import type { Clock } from '../domain/clock.ts';
import type { Principal } from '../domain/key.ts';
import type { AnswerMemory, Hold } from '../lib/answerMemory.ts';
import type { Outlet } from './outlet.ts';

/** Unread bytes beyond which nothing is sent until all of them are read. */
const unsentBytesMax = 256 * 1024;
/** Unread bytes at which the next snapshot is made; more than a socket accepts before it emits `drain`. */
const lowBytes = 128 * 1024;
/** How long a subscriber that is behind may take to read everything, ms; one that reads nothing at all has less. */
const behindMsMax = 60_000;
const idleMsMax = 20_000;
/** Between two recoveries of the same subscriber, ms: a snapshot costs more than an event. */
const recoveryMsMin = 1_000;

/**
 * Back-pressure of one outlet. It is `current` while its client reads, and `behind` from too many unread bytes on, until
 * all of them are read and `resume` is called. What its client has not read is counted in the memory for answers.
 */
export class BackPressure {
  readonly #outlet: Outlet;
  readonly #clock: Clock;
  readonly #hold: Hold;
  readonly #onDrained: () => void;
  #state: 'current' | 'behind' | 'ended' = 'current';
  /** Resolved while it is not behind, and when it has ended. */
  #isCurrent = Promise.withResolvers<void>();
  /** Each resolves a wait of `drained`. */
  readonly #waiting = new Set<() => void>();
  #writtenBytes = 0;
  #behindSince = 0;
  #recoveredAt = Number.NEGATIVE_INFINITY;
  #unsentAtCheck = 0;

  /**
   * @param options.cut called when the client reads too slowly and others need the memory.
   * @param options.onDrained called when everything is read after it was behind, at most once a second.
   */
  constructor(options: {
    outlet: Outlet;
    principal: Principal;
    answers: AnswerMemory;
    clock: Clock;
    cut: () => void;
    onDrained: () => void;
  }) {
    const { outlet, cut } = options;
    this.#outlet = outlet;
    this.#clock = options.clock;
    this.#onDrained = options.onDrained;
    this.#hold = options.answers.hold(options.principal, {
      held: () => outlet.unsentBytes,
      taken: () => this.#writtenBytes - outlet.unsentBytes,
      cut,
    });
  }

  get isCurrent(): boolean {
    return this.#state === 'current';
  }

  get isBehind(): boolean {
    return this.#state === 'behind';
  }

  get hasEnded(): boolean {
    return this.#state === 'ended';
  }

  write(bytes: Buffer): void {
    if (bytes.length > 0) this.#outlet.write(bytes);
    this.#writtenBytes += bytes.length;
    this.#hold.update();
    if (this.#state !== 'current' || this.#outlet.unsentBytes <= unsentBytesMax) return;
    this.#state = 'behind';
    this.#isCurrent = Promise.withResolvers();
    this.#behindSince = this.#clock.monotonic();
    this.#outlet.onDrained(() => this.#recover());
  }

  /** Be current again. @param isCostly whether snapshots follow, so that the next recovery has to wait. */
  resume(isCostly: boolean): void {
    if (isCostly) this.#recoveredAt = this.#clock.monotonic();
    this.#state = 'current';
    this.#isCurrent.resolve();
  }

  /** Resolves when it is not behind, or has ended. */
  async current(): Promise<void> {
    while (this.#state === 'behind') await this.#isCurrent.promise;
  }

  /** Resolves when the client has read nearly everything, or it has ended. */
  async drained(): Promise<void> {
    await this.current();
    if (this.#state === 'ended' || this.#outlet.unsentBytes <= lowBytes) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#outlet.onDrained(resolve);
    this.#waiting.add(resolve);
    await promise;
    this.#waiting.delete(resolve);
  }

  /** Whether the client is behind for too long. Called every 20 seconds, because it compares with the last call. */
  isStuck(): boolean {
    const { unsentBytes } = this.#outlet;
    const isIdle = unsentBytes >= this.#unsentAtCheck && unsentBytes > 0;
    this.#unsentAtCheck = unsentBytes;
    const behindMs = this.isBehind ? this.#clock.monotonic() - this.#behindSince : 0;
    return behindMs >= behindMsMax || (isIdle && behindMs >= idleMsMax);
  }

  end(): void {
    this.#state = 'ended';
    this.#isCurrent.resolve();
    for (const resolve of this.#waiting) resolve();
    this.#hold.release();
  }

  #recover(): void {
    if (this.#state !== 'behind') return;
    const waitMs = this.#recoveredAt + recoveryMsMin - this.#clock.monotonic();
    if (waitMs > 0) this.#clock.after(waitMs, () => this.#recover());
    else this.#onDrained();
  }
}
