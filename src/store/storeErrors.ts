/* What a store throws beside StoreUnavailable. */

import { CoordinatorError } from '../domain/errors.ts';

/** The stored version differs from the expected one: another change was faster. Read the job and decide again. */
export class VersionConflict extends Error {
  constructor(id: string, expected: number, actual: number) {
    super(`job ${id} is at version ${actual}, the change expects ${expected}`);
    this.name = 'VersionConflict';
  }
}

/**
 * The idempotency key belongs to another job, which is remembered or being committed. Answer with that job: read the
 * key again.
 */
export class KeyTaken extends Error {
  /** The job of the key. */
  readonly jobId: string;
  constructor(key: string, jobId: string) {
    super(`the idempotency key ${key} belongs to job ${jobId}`);
    this.name = 'KeyTaken';
    this.jobId = jobId;
  }
}

/**
 * The store was closed, or has failed, before the outcome of a commit was known: the next start may show it, whole, or
 * not. Check before sending the same request again.
 */
export class OutcomeUnknown extends CoordinatorError {
  /** @param what in a sentence. */
  constructor(what: string, cause?: unknown) {
    super('store_unavailable', what, {}, { cause });
    this.name = 'OutcomeUnknown';
  }
}

/** The data cannot be used: it cannot be reached, read or written. */
export class StoreUnusable extends Error {
  /** @param what in a sentence, with what to do. */
  constructor(what: string, cause: unknown) {
    super(what, { cause });
    this.name = 'StoreUnusable';
  }
}

/** Another process has the store open. */
export class StoreLocked extends Error {}

/** The data was written by a newer version of this program. */
export class StoreFormatTooNew extends Error {}
