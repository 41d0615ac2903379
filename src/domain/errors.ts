/** The errors of the coordinator that its callers distinguish. Expected outcomes are values, not throws. */

import type { JobStatus } from './states.ts';

export const errorCodes = [
  'authentication_failed',
  'forbidden',
  'job_not_found',
  'worker_not_found',
  'run_not_found',
  'file_not_found',
  'not_found',
  'method_not_allowed',
  'invalid_transition',
  'idempotency_conflict',
  'run_conflict',
  'file_in_use',
  'invalid_request',
  'payload_too_large',
  'request_timeout',
  'headers_too_large',
  'unsupported_media_type',
  'upgrade_required',
  'rate_limited',
  'queue_full',
  'share_exceeded',
  'store_unavailable',
  'draining',
  'internal_error',
] as const;
export type ErrorCode = (typeof errorCodes)[number];

export interface FieldError {
  /** Path of the invalid value, `tags[0]`. */
  field: string;
  message: string;
}

export interface ErrorDetails {
  errors?: FieldError[];
  jobStatus?: JobStatus;
  /** Seconds after which the same request may succeed. */
  retryAfterSeconds?: number;
  allow?: string[];
  /** The key is refused, whatever the code. */
  isKeyRefused?: boolean;
}

/**
 * An error whose text may be shown to the caller. `retryable`: the same request may succeed later; `details` become
 * members of the problem document.
 */
export class CoordinatorError extends Error {
  readonly code: ErrorCode;
  readonly retryable: boolean;
  readonly details: ErrorDetails;

  constructor(
    code: ErrorCode,
    message: string,
    details: ErrorDetails = {},
    options: { cause?: unknown } = {},
  ) {
    super(message, options);
    this.name = 'CoordinatorError';
    this.code = code;
    this.details = details;
    this.retryable = details.retryAfterSeconds !== undefined;
  }
}

/** The change could not be persisted; none of it happened. Retryable. */
export class StoreUnavailable extends CoordinatorError {
  constructor(message: string, cause?: unknown) {
    super('store_unavailable', message, { retryAfterSeconds: 1 }, { cause });
    this.name = 'StoreUnavailable';
  }
}

/**
 * The data folder does not contain what was written there: it is damaged, or another program has changed it. A restart
 * does not fix that, and may treat the remains as complete; a backup does.
 */
export class DataDamaged extends Error {}

/** The current state does not accept the event. The state is unchanged. */
export class InvalidTransition extends CoordinatorError {
  constructor(message: string, jobStatus: JobStatus) {
    super('invalid_transition', message, { jobStatus });
    this.name = 'InvalidTransition';
  }
}

/** The answer to every request for a job that does not exist. */
export function jobNotFound(id: string): CoordinatorError {
  return new CoordinatorError('job_not_found', `There is no job ${id}`);
}

/** The message of anything thrown, for a log line. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
