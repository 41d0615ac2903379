import type { Clock } from '../domain/clock.ts';
import { type Assignment, heldMsMax, type WireLease } from '../domain/workerProtocol.ts';

/** Jobs that wait for a slot of this worker, first come, first served. */
export class WaitingJobs {
  readonly #clock: Clock;
  readonly #onLate: () => void;
  readonly #jobs = new Map<string, { job: Assignment; since: number }>();
  #takeBackLook: (() => void) | null = null;

  /** @param onLate called when the first of them has waited for too long. */
  constructor(clock: Clock, onLate: () => void) {
    this.#clock = clock;
    this.#onLate = onLate;
  }

  leases(): WireLease[] {
    return [...this.#jobs.values()].map(({ job: { job_id, lease } }) => ({ job_id, lease }));
  }

  has(key: string): boolean {
    return this.#jobs.has(key);
  }

  add(key: string, job: Assignment): void {
    this.#jobs.set(key, { job, since: this.#clock.monotonic() });
    this.#takeBackLook ??= this.#lookAfter(heldMsMax);
  }

  /** The first of them, which waits no longer. */
  next(): Assignment | null {
    for (const [key, { job }] of this.#jobs) {
      this.#jobs.delete(key);
      return job;
    }
    return null;
  }

  /** One of them, which waits no longer; null when it does not wait. */
  take(key: string): Assignment | null {
    const job = this.#jobs.get(key)?.job ?? null;
    this.#jobs.delete(key);
    return job;
  }

  takeAll(): Assignment[] {
    const jobs = [...this.#jobs.values()].map(({ job }) => job);
    this.#jobs.clear();
    this.#takeBackLook?.();
    this.#takeBackLook = null;
    return jobs;
  }

  #lookAfter(ms: number): () => void {
    return this.#clock.after(ms, () => {
      this.#takeBackLook = null;
      const [first] = this.#jobs.values();
      if (first === undefined) return;
      const leftMs = first.since + heldMsMax - this.#clock.monotonic();
      if (leftMs <= 0) this.#onLate();
      else this.#takeBackLook = this.#lookAfter(leftMs);
    });
  }
}
