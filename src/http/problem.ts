import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { CoordinatorError, ErrorCode } from '../domain/errors.ts';
import type { Problem } from '../domain/wire/problem.ts';

/** The status of every error code; one place, for routes and upgrades alike. */
export const statusOfCode: Record<ErrorCode, number> = {
  authentication_failed: 401,
  forbidden: 403,
  job_not_found: 404,
  worker_not_found: 404,
  run_not_found: 404,
  file_not_found: 404,
  not_found: 404,
  method_not_allowed: 405,
  invalid_transition: 409,
  idempotency_conflict: 409,
  run_conflict: 409,
  file_in_use: 409,
  invalid_request: 400,
  payload_too_large: 413,
  request_timeout: 408,
  headers_too_large: 431,
  unsupported_media_type: 415,
  upgrade_required: 426,
  rate_limited: 429,
  queue_full: 429,
  share_exceeded: 429,
  store_unavailable: 503,
  draining: 503,
  internal_error: 500,
};

/** The answer to an upgrade that is refused. */
export function upgradeRefusal(error: CoordinatorError): { status: number; body: string } {
  const problem = problemOf(error, randomUUID());
  return { status: problem.status, body: JSON.stringify(problem) };
}

/** RFC 9457. `type` is about:blank: `code` is what programs go by. */
export function problemOf(error: CoordinatorError, requestId: string): Problem {
  const status = statusOfCode[error.code];
  return {
    type: 'about:blank',
    title: STATUS_CODES[status] ?? 'Error',
    status,
    detail: error.message,
    code: error.code,
    ...(error.details.errors === undefined ? {} : { errors: error.details.errors }),
    ...(error.details.jobStatus === undefined ? {} : { job_status: error.details.jobStatus }),
    request_id: requestId,
  };
}
