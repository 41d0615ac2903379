/** What can go wrong in the coordinator, as its callers must tell it apart. Expected outcomes are values, not throws. */

export type ErrorCode =
  | 'authentication_failed'
  | 'forbidden'
  | 'job_not_found'
  | 'worker_not_found'
  | 'not_found'
  | 'method_not_allowed'
  | 'invalid_transition'
  | 'idempotency_conflict'
  | 'invalid_request'
  | 'payload_too_large'
  | 'request_timeout'
  | 'headers_too_large'
  | 'unsupported_media_type'
  | 'upgrade_required'
  | 'rate_limited'
  | 'queue_full'
  | 'share_exceeded'
  | 'store_unavailable'
  | 'draining'
  | 'internal_error';

export interface FieldError {
  /** Path of the value at fault, `tags[0]`. */
  field: string;
  message: string;
}

export interface ErrorDetails {
  errors?: FieldError[];
  jobStatus?: string;
  /** Seconds after which the same request may succeed. */
  retryAfterSeconds?: number;
  allow?: string[];
  /** The key is refused, whatever the code says besides. */
  isKeyRefused?: boolean;
}

/**
 * An error whose text may be shown to the caller.
 * `retryable` says whether the same request may succeed later; `details` become members of the problem document.
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

/** The change could not be made durable; nothing of it has happened. Retryable. */
export class StoreUnavailable extends CoordinatorError {
  constructor(message: string, cause?: unknown) {
    super('store_unavailable', message, { retryAfterSeconds: 1 }, { cause });
    this.name = 'StoreUnavailable';
  }
}

/**
 * The data folder does not hold what was written there: it is damaged, or somebody else has changed it. To start again does
 * not mend it, and may take what is left of it for all there ever was; a backup mends it.
 */
export class DataDamaged extends Error {}

/** The event is not one that the present state accepts. The state is unchanged. */
export class InvalidTransition extends CoordinatorError {
  constructor(message: string, jobStatus: string) {
    super('invalid_transition', message, { jobStatus });
    this.name = 'InvalidTransition';
  }
}

/** What every request for a job that does not exist is told. */
export function jobNotFound(id: string): CoordinatorError {
  return new CoordinatorError('job_not_found', `There is no job ${id}`);
}

/** The message of anything thrown, for a log line. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
