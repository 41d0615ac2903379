import { CoordinatorError, type ErrorCode } from '../../domain/errors.ts';
import type { ErrorClass } from '../../domain/failure.ts';
import type { JobRecord } from '../../domain/job.ts';
import type { ShownError } from '../../http/door.ts';
import { statusOfCode } from '../../http/problem.ts';
import { own } from '../../lib/own.ts';

/** The body of every error on `/v1`. OpenAI has no `job_id`; its clients ignore it. */
export interface ErrorBody {
  error: {
    message: string;
    type: string;
    /** The field that is wrong. */
    param: string | null;
    /** What programs go by. */
    code: string | null;
    job_id?: string;
  };
}

/** What an error says besides its message. */
export interface ErrorFacts {
  status: number;
  type?: string;
  param?: string | null;
  code: string;
  /** Whether the same request may succeed later. Without it the SDKs would send a 409, a 429 and a 5xx again. */
  mayRetry?: boolean;
  retryAfterSeconds?: number;
  jobId?: string;
}

/** An error in OpenAI's words. */
export class OpenAiError extends Error {
  readonly facts: ErrorFacts;

  constructor(message: string, facts: ErrorFacts) {
    super(message);
    this.name = 'OpenAiError';
    this.facts = facts;
  }
}

/** A field that must be something else. */
export function invalidField(param: string, rule: string): OpenAiError {
  const facts = { status: 400, param, code: 'invalid_value' };
  return new OpenAiError(`Invalid value for ${param}: it ${rule}`, facts);
}

/** The status, the headers and the body of an error. */
export function errorAnswer({ message, facts }: OpenAiError) {
  const { status, code, param = null, mayRetry = false, retryAfterSeconds, jobId } = facts;
  const type = facts.type ?? (status < 500 ? 'invalid_request_error' : 'server_error');
  const json: ErrorBody = {
    error: { message, type, param, code, ...(jobId === undefined ? {} : { job_id: jobId }) },
  };
  const headers: Record<string, string> = { 'X-Should-Retry': String(mayRetry) };
  if (retryAfterSeconds !== undefined) headers['Retry-After'] = String(retryAfterSeconds);
  if (jobId !== undefined) headers['X-Svc-Job-Id'] = jobId;
  return { status, headers, json };
}

/** OpenAI's code and type where it has one for ours; other codes stay as they are. */
const words: Partial<Record<ErrorCode, { code: string; type?: string }>> = {
  authentication_failed: { code: 'invalid_api_key' },
  forbidden: { code: 'insufficient_permissions' },
  not_found: { code: 'unknown_url' },
  job_not_found: { code: 'not_found' },
  file_not_found: { code: 'not_found' },
  invalid_request: { code: 'invalid_value' },
  rate_limited: { code: 'rate_limit_exceeded', type: 'requests' },
  queue_full: { code: 'queue_full', type: 'requests' },
  share_exceeded: { code: 'share_exceeded', type: 'requests' },
};

/** The response to everything while the coordinator starts. */
export function startingError(message: string): ShownError {
  const { status, headers, json } = errorAnswer(
    new OpenAiError(message, { status: 503, code: 'starting', mayRetry: true }),
  );
  return { status, type: 'application/json', headers, text: JSON.stringify(json) };
}

/** What decides on a member of a dispatch here, by its name there. */
const sources: Readonly<Record<string, string>> = {
  provider: 'model',
  tier: 'service_tier',
  priority: 'x-svc-priority',
  tags: 'x-svc-tags',
  timeout_seconds: 'x-svc-timeout-seconds',
};

/** The field or header of the request, for a field of a dispatch: `tags[3]`, `params.temperature`. */
function paramOf(field: string): string | null {
  const [name = ''] = field.split(/[.[]/, 1);
  return own(sources, name) ?? (field === '' ? null : field.replace(/^params\./, ''));
}

/** An error of the coordinator in OpenAI's words. */
function translated(error: CoordinatorError): OpenAiError {
  const { code, message, details } = error;
  const word = words[code];
  const [fault] = details.errors ?? [];
  return new OpenAiError(message, {
    status: statusOfCode[code],
    code: word?.code ?? code,
    ...(word?.type === undefined ? {} : { type: word.type }),
    param: fault === undefined ? null : paramOf(fault.field),
    mayRetry: error.retryable,
    // The header comes with every error of ours that has one.
  });
}

/** Anything thrown while a response is under way. What is not an error of ours says nothing of itself. */
export function shownInStream(error: unknown): OpenAiError {
  if (error instanceof OpenAiError) return error;
  if (error instanceof CoordinatorError && error.code !== 'internal_error') return translated(error);
  return new OpenAiError('Something went wrong inside', { status: 500, code: 'internal_error' });
}

/** An error of the coordinator as `/v1` reports it. */
export function presentError(error: CoordinatorError): ShownError {
  const { status, headers, json } = errorAnswer(translated(error));
  return { status, type: 'application/json', headers, text: JSON.stringify(json) };
}

const upstream = { status: 502, type: 'api_error' };
const busy = { status: 503, type: 'api_error' };

/** The response to a job that failed. Its retries and fallbacks are used up, so the client must not send it again. */
const facts: Record<ErrorClass, Omit<ErrorFacts, 'code'> & { code?: string }> = {
  invalid_request: { status: 400 },
  context_overflow: { status: 400, param: 'messages', code: 'context_length_exceeded' },
  content_filtered: { status: 400, code: 'content_filter' },
  model_not_found: { status: 404, param: 'model' },
  model_not_loaded: busy,
  rate_limited: busy,
  overloaded: busy,
  network: upstream,
  server_error: upstream,
  unknown: upstream,
  worker_lost: upstream,
  invalid_output: upstream,
  // The worker's key, not the client's: never a 401.
  auth: { ...upstream, code: 'provider_auth' },
  quota_exhausted: { status: 429, type: 'insufficient_quota', code: 'insufficient_quota' },
  timeout: { status: 504, type: 'api_error' },
};

/** The error of a job that failed. */
export function failedJob({ id, request, life: { error } }: JobRecord): OpenAiError {
  const errorClass = error?.class ?? 'unknown';
  const message = error?.message ?? 'The job failed';
  const { param = null, ...others } = facts[errorClass];
  // What a chat calls its messages.
  const named = param === 'messages' && request.door?.form === 'response' ? 'input' : param;
  return new OpenAiError(message, { code: errorClass, ...others, param: named, jobId: id });
}

/** The error of a job that somebody cancelled. */
export function cancelledJob(jobId: string): OpenAiError {
  return new OpenAiError(
    `Job ${jobId} was cancelled; to run it again, send it with another Idempotency-Key or without one`,
    { status: 409, code: 'job_cancelled', jobId },
  );
}

/** The job goes on, but this request ends. */
export function stillRunning(jobId: string, message: string, more: Partial<ErrorFacts> = {}): OpenAiError {
  return new OpenAiError(message, {
    status: 504,
    type: 'api_error',
    code: 'still_running',
    jobId,
    ...more,
  });
}
