/* The changes of a future commit: checked, held, serialised once, and copied so that the caller may reuse its own.
   Nothing is durable yet; an abandoned batch leaves no trace. */

import type { JobRecord } from '../../domain/job.ts';
import { isJson, jsonCopy } from '../../lib/jsonCopy.ts';
import { lifeDifference } from '../changes/lifeDifference.ts';
import type { JobsArchived, StoredChange, StoredJobChange } from '../durableLog.ts';
import type { Change, JobChange } from '../store.ts';
import type { Holds } from './holds.ts';

/** The part of `Commits` that a batch uses. */
export interface BatchHost {
  readonly holds: Holds;
  enqueue(
    texts: readonly string[],
    characters: number,
    changes: StoredChange[],
    ids: readonly string[],
  ): Promise<JobRecord[]>;
}

/** The changes of a future commit. From `add` on their jobs are held: no other commit and no claim gets them. */
export class Batch {
  readonly #host: BatchHost;
  readonly #texts: string[] = [];
  readonly #changes: StoredChange[] = [];
  /** Job id → its version after this commit. */
  readonly #versions = new Map<string, number>();
  /** Ordinals of jobs that leave for the archive with this commit. */
  readonly #leaving: number[] = [];

  #characters = 0;

  constructor(host: BatchHost) {
    this.#host = host;
  }

  /**
   * Add a change, after those added before. It is serialised here, and memory later gets what that text would be parsed
   * as: neither edits by the caller nor values that JSON cannot represent can make memory differ from the log. What a
   * change with the life before it has must not be edited any more.
   * @throws VersionConflict, KeyTaken, or TypeError for what no store could keep. The batch must be abandoned then.
   */
  add(change: Change): void {
    if (change.kind !== 'job') {
      this.#keep(change);
      return;
    }
    const job = this.#host.holds.take(change, this.#versions.get(change.id));
    this.#versions.set(change.id, change.expectedVersion + 1);
    this.#keep(storedChange(change, job?.ordinal));
  }

  /** Of all serialised changes. */
  get characters(): number {
    return this.#characters;
  }

  /** Whether no other commit has the job. */
  mayLeave(job: JobRecord): boolean {
    return !this.#host.holds.has(job.id);
  }

  /** Make a job leave for the archive, where it must be durable before this is committed. Only when it `mayLeave`. */
  leave(job: JobRecord): void {
    this.#host.holds.takeToLeave(job.id);
    this.#versions.set(job.id, 0);
    this.#leaving.push(job.ordinal);
  }

  /** @returns the new jobs. @throws StoreUnavailable when nothing could be persisted; nothing has changed then. */
  commit(): Promise<JobRecord[]> {
    if (this.#leaving.length > 0) {
      const left: JobsArchived = { kind: 'archived', ordinals: this.#leaving };
      this.#keep(left);
    }
    if (this.#texts.length === 0) return Promise.resolve([]);
    try {
      return this.#host.enqueue(this.#texts, this.#characters, this.#changes, [...this.#versions.keys()]);
    } catch (error) {
      this.abandon();
      return Promise.reject(error);
    }
  }

  /** Release what it holds. */
  abandon(): void {
    this.#host.holds.giveBack([...this.#versions.keys()]);
    this.#versions.clear();
  }

  #keep(change: StoredChange): void {
    const text = JSON.stringify(change);
    this.#texts.push(text);
    this.#characters += text.length;
    this.#changes.push(ownedChange(change) ?? JSON.parse(text));
  }
}

/**
 * The change for memory; null when JSON would change it. One with a difference is shared with the caller rather than copied,
 * which took twice as long as writing it: what it has is replaced later, never edited.
 */
function ownedChange(change: StoredChange): StoredChange | null {
  if (change.kind !== 'job' || change.difference === undefined) return jsonCopy(change);
  return isJson(change) ? change : null;
}

/** The change as it is written. @param ordinal of the job, if it is known: it is not for a new one. */
function storedChange(
  { lifeBefore, life, ...change }: JobChange,
  ordinal: number | undefined,
): StoredJobChange {
  const difference = lifeBefore === undefined ? null : lifeDifference(lifeBefore, life);
  const stored: StoredJobChange = difference === null ? { ...change, life } : { ...change, difference };
  if (ordinal !== undefined) stored.ordinal = ordinal;
  return stored;
}
