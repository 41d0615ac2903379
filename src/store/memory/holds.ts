/* The jobs and idempotency keys held by running commits. Owns the decision who was first: it throws `VersionConflict`
   and `KeyTaken`. It exists only in memory, because commits running in a crash are never finished. */

import type { JobRecord } from '../../domain/job.ts';
import type { JobChange } from '../store.ts';
import { KeyTaken, VersionConflict } from '../storeErrors.ts';
import type { Memory } from './memory.ts';

/** What running commits hold: no other commit and no claim gets it. */
export class Holds {
  readonly #memory: Memory;
  /** Job id → the state after the running commit: its version, and the idempotency key of a new one. */
  readonly #inFlight = new Map<string, { version: number; key: string | null }>();
  /** Their idempotency keys, with their jobs. */
  readonly #keys = new Map<string, string>();

  constructor(memory: Memory) {
    this.#memory = memory;
  }

  /**
   * Check a job's change and hold the job and the idempotency key of a new one.
   * @param known its version after earlier changes of the same commit, if any.
   * @returns the job as stored; undefined for a new one.
   * @throws VersionConflict, KeyTaken, or TypeError for a change that contradicts itself.
   */
  take(change: JobChange, known: number | undefined): JobRecord | undefined {
    const { id, expectedVersion } = change;
    const job = this.#memory.jobs.get(id);
    const stored = job?.version ?? 0;
    const inFlight = this.#inFlight.get(id);
    if (inFlight !== undefined && known === undefined) {
      const { version } = inFlight;
      // A change that expects the version of a running commit is refused too: it would have to fail together with that
      // one.
      throw new VersionConflict(id, expectedVersion, expectedVersion === version ? stored : version);
    }
    if (expectedVersion !== (known ?? stored))
      throw new VersionConflict(id, expectedVersion, known ?? stored);
    if ((expectedVersion === 0) !== (change.created !== undefined)) {
      throw new TypeError(`job ${id}: "created" belongs to expectedVersion 0, and to that only`);
    }
    const { enqueuedAt, updatedAt } = change.life;
    if (!Number.isFinite(enqueuedAt) || !Number.isFinite(updatedAt))
      throw new TypeError(`job ${id}: enqueuedAt and updatedAt must be numbers`);
    const key = change.created?.idempotency?.key;
    if (key !== undefined) this.#takeKey(key, id);
    if (known === undefined && job !== undefined) this.#memory.hold(job);
    this.#inFlight.set(id, { version: expectedVersion + 1, key: key ?? inFlight?.key ?? null });
    return job;
  }

  #takeKey(key: string, id: string): void {
    const jobId = this.#keys.get(key) ?? this.#memory.idempotent(key)?.jobId;
    if (jobId !== undefined) throw new KeyTaken(key, jobId);
    this.#keys.set(key, id);
  }

  /** The commit of these jobs has failed or was abandoned: they are as before. */
  giveBack(ids: readonly string[]): void {
    for (const id of ids) {
      this.letGo(id);
      this.#memory.unhold(id);
    }
  }

  /** Memory has applied the commit to the job. */
  letGo(id: string): void {
    const key = this.#inFlight.get(id)?.key ?? null;
    if (key !== null) this.#keys.delete(key);
    this.#inFlight.delete(id);
  }

  /** Whether a commit under way has the job. */
  has(id: string): boolean {
    return this.#inFlight.has(id);
  }

  /** Hold a job that leaves for the archive. */
  takeToLeave(id: string): void {
    this.#inFlight.set(id, { version: 0, key: null });
  }
}
