import type { Clock } from '../domain/clock.ts';

export interface HeartbeatOwner {
  /** Send one heartbeat. */
  beat(): void;
  /** The coordinator has been silent for three intervals: the connection is dead, whatever TCP reports. */
  onSilence(): void;
  /** No heartbeat was answered within the stale time: the coordinator has given the leases to others. */
  onStale(): void;
}

const silentIntervals = 3;

/**
 * Sends the heartbeats, and fences the worker when they are no longer answered. The stale time continues while the
 * connection is down; it counts from the last welcome or answered heartbeat, on the monotonic clock.
 */
export class Heartbeat {
  readonly #clock: Clock;
  readonly #owner: HeartbeatOwner;
  #staleMs: number;
  #intervalMs = 0;
  #heardAt = 0;
  #answeredAt = 0;
  #takeBackBeat: (() => void) | null = null;
  #takeBackStale: (() => void) | null = null;
  #isStopped = false;

  /** @param staleMs 0: never. */
  constructor(clock: Clock, staleMs: number, owner: HeartbeatOwner) {
    this.#clock = clock;
    this.#staleMs = staleMs;
    this.#owner = owner;
  }

  /** Change the stale time, also for what runs. */
  setStale(staleMs: number): void {
    this.#staleMs = staleMs;
    if (!this.#takeBackStale) return;
    this.#takeBackStale();
    this.#takeBackStale = null;
    if (staleMs > 0) this.#watch(Math.max(0, this.#answeredAt + staleMs - this.#clock.monotonic()));
  }

  /** The connection is welcomed. @param intervalMs from the welcome. */
  up(intervalMs: number): void {
    this.#intervalMs = intervalMs;
    this.active();
    this.answered();
    this.#schedule();
  }

  /** The connection is closed: no heartbeats, but the stale time continues. */
  down(): void {
    this.#takeBackBeat?.();
    this.#takeBackBeat = null;
  }

  /** The coordinator gave a sign of life. */
  active(): void {
    this.#heardAt = this.#clock.monotonic();
  }

  /** The coordinator answered a heartbeat: the leases hold. */
  answered(): void {
    this.#answeredAt = this.#clock.monotonic();
    if (!this.#takeBackStale && this.#staleMs > 0) this.#watch(this.#staleMs);
  }

  /** For good: later frames of a closing connection start no timer again. */
  stop(): void {
    this.#isStopped = true;
    this.down();
    this.#takeBackStale?.();
    this.#takeBackStale = null;
  }

  #schedule(): void {
    if (this.#isStopped) return;
    this.#takeBackBeat?.();
    this.#takeBackBeat = this.#clock.after(this.#intervalMs, () => {
      this.#schedule();
      if (this.#clock.monotonic() - this.#heardAt >= silentIntervals * this.#intervalMs)
        this.#owner.onSilence();
      else this.#owner.beat();
    });
  }

  /** One timer for many answers: when it fires, it computes how much time is left. */
  #watch(ms: number): void {
    if (this.#isStopped) return;
    this.#takeBackStale = this.#clock.after(ms, () => {
      this.#takeBackStale = null;
      const left = this.#answeredAt + this.#staleMs - this.#clock.monotonic();
      if (left > 0) this.#watch(left);
      else this.#owner.onStale();
    });
  }
}
