import {
  type JsonSchema,
  named,
  nullable,
  object,
  optional,
  reference,
  text,
} from '../../../http/shape/shape.ts';
import type { ErrorBody } from '../errors.ts';

const errorShape = named(
  'Error',
  object<ErrorBody>({
    error: object<ErrorBody['error']>({
      message: text('What is wrong and what to do, for people.'),
      type: text(),
      param: nullable(text(), 'The field that is wrong.'),
      code: nullable(text(), 'Stable; programs should use this.'),
      job_id: optional(text('The job that the error is about. Not a field of OpenAI’s.')),
    }),
  }),
);

/** The codes of each status. */
const codes: Readonly<Record<number, string>> = {
  400: '`invalid_value`, `unsupported_parameter`, `previous_response_not_completed`, `response_not_background`, `stream_expired`: a field is wrong. Of a job that failed: `invalid_request`, `context_length_exceeded`, `content_filter`.',
  401: '`invalid_api_key`: no key, or one that is unknown, revoked or expired.',
  403: '`insufficient_permissions`: the role of the key does not allow this.',
  404: '`not_found`, `model_not_found`, `previous_response_not_found`, `unknown_url`: it does not exist, or belongs to another key.',
  408: '`request_timeout`: the body came too slowly. Nothing has happened.',
  409: '`still_running`: the job has not ended. `job_cancelled`: somebody cancelled it. `idempotency_conflict`: the key was used for another request. `file_in_use`: a batch uses the file. `invalid_batch_state`: the batch has ended, or has not.',
  413: '`payload_too_large`: the body is larger than `http.max_body_bytes`, or than this route takes.',
  415: '`unsupported_media_type`: send the body as the type that is listed here.',
  429: '`rate_limit_exceeded`, `queue_full`, `share_exceeded`: a limit of SVC. `insufficient_quota`: the account of the provider is used up.',
  500: '`internal_error`: a bug; the log has it under the request id.',
  502: 'The class of the failure, or `provider_auth`: the provider failed, after all retries and fallbacks.',
  503: '`draining`, `still_running`: the coordinator is restarting. `store_unavailable`: it cannot write now. Or the class of the failure.',
  504: '`still_running`: the job goes on. `timeout`: it took too long.',
};

/** What any route may answer. */
export const commonErrors: readonly number[] = [400, 401, 403, 404, 429, 500, 503];
/** What any route with a body may answer. */
export const bodyErrors: readonly number[] = [408, 413, 415];

const retryHeaders = {
  'X-Should-Retry': reference('headers', 'ShouldRetry', {
    description: 'Whether the same request may succeed later. SDKs follow it.',
    required: true,
    schema: { enum: ['true', 'false'] },
  }),
  'Retry-After': reference('headers', 'RetryAfter', {
    description: 'Seconds after which it may.',
    schema: { type: 'string', pattern: '^\\d+$' },
  }),
};

/** The error of a status. @param headers of every response. @throws Error for a status that is not described here. */
export function errorResponse(status: number, headers: JsonSchema): JsonSchema {
  const description = codes[status];
  if (description === undefined) throw new Error(`No error is described for the status ${status}`);
  return reference('responses', `Error${status}`, {
    description,
    headers: { ...headers, ...retryHeaders },
    content: { 'application/json': { schema: errorShape.schema } },
  });
}
