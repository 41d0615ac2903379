import type { ErrorCode } from '../../domain/errors.ts';
import { statusOfCode } from '../problem.ts';
import { type JsonSchema, reference } from '../shape/shape.ts';
import { requestIdHeader } from './headers.ts';
import { problemShape } from './problemShape.ts';

/** A response with a problem document, which several routes may give. */
interface DocumentedProblem {
  /** The codes that it may have; their status is the same. */
  codes: readonly [ErrorCode, ...ErrorCode[]];
  description: string;
  headers?: Readonly<Record<string, JsonSchema>>;
  /** More of what its document has. */
  json?: JsonSchema;
  examples?: JsonSchema;
}

const retryAfter = {
  description: 'Seconds after which the same request may succeed.',
  schema: { type: 'string', pattern: '^\\d+$' },
};
const retryAfterHeader = {
  'Retry-After': reference('headers', 'RetryAfter', { ...retryAfter, required: true }),
};
const refusedKeyHeader = {
  'WWW-Authenticate': reference('headers', 'RefusedKey', {
    description: 'Present if the key was rejected, whatever the status is.',
    schema: { const: 'Bearer error="invalid_token"' },
  }),
};
const tooMany = { ...retryAfterHeader, ...refusedKeyHeader };

const problems = {
  InvalidRequest: {
    codes: ['invalid_request'],
    description:
      '`invalid_request`: the body or the query is not as described here, or no provider could be chosen. `errors` names every invalid field.',
    json: { required: ['errors'] },
    examples: {
      two: {
        value: {
          type: 'about:blank',
          title: 'Bad Request',
          status: 400,
          detail:
            'The request is not valid: promt is not known; prompt is required (or messages in its place)',
          code: 'invalid_request',
          errors: [
            { field: 'promt', message: 'is not known' },
            { field: 'prompt', message: 'is required (or messages in its place)' },
          ],
          request_id: '0d4e4f5a-53f5-4f3a-8a55-8a9a8b6d1c0e',
        },
      },
    },
  },
  AuthenticationFailed: {
    codes: ['authentication_failed'],
    description: '`authentication_failed`: no key, or one that is malformed, unknown, revoked or expired.',
    headers: {
      'WWW-Authenticate': { description: 'Always `Bearer`.', required: true, schema: { const: 'Bearer' } },
    },
    json: { properties: { detail: { type: 'string', pattern: '^Authentication failed' } } },
  },
  Forbidden: {
    codes: ['forbidden'],
    description: '`forbidden`: the role of the key does not allow this.',
  },
  NotFound: { codes: ['not_found'], description: '`not_found`: it does not exist.' },
  JobNotFound: {
    codes: ['job_not_found'],
    description: '`job_not_found`: there is no job with this id.',
  },
  WorkerNotFound: {
    codes: ['worker_not_found'],
    description: '`worker_not_found`: there is no worker with this id.',
  },
  RunNotFound: {
    codes: ['run_not_found'],
    description: '`run_not_found`: there is no run with this name.',
  },
  RunRefuses: {
    codes: ['run_conflict'],
    description:
      '`run_conflict`: the run is in a state that does not allow it, or one of its limits is still reached; `detail` says which.',
  },
  MethodNotAllowed: {
    codes: ['method_not_allowed'],
    description:
      '`method_not_allowed`: the path exists, but not with this method. `Allow` lists the methods that do.',
    headers: {
      Allow: {
        description: 'The methods of the path.',
        required: true,
        schema: { type: 'string', pattern: '^[A-Z]+(, [A-Z]+)*$' },
      },
    },
  },
  JobRefuses: {
    codes: ['invalid_transition'],
    description:
      '`invalid_transition`: the job is in a state that does not allow it. `job_status` says in which.',
    json: { required: ['job_status'] },
  },
  WorkerConnected: {
    codes: ['invalid_transition'],
    description: '`invalid_transition`: the worker is connected. Stop it first.',
  },
  WebhookStopped: {
    codes: ['invalid_transition'],
    description: '`invalid_transition`: the webhook is paused or stopped. Enable it first.',
  },
  IdempotencyConflict: {
    codes: ['idempotency_conflict'],
    description:
      '`idempotency_conflict`: the API key used the idempotency key for another request; `detail` names its job, of a batch the first.',
  },
  RequestTimeout: {
    codes: ['request_timeout'],
    description:
      '`request_timeout`: the body came more slowly than `http.upload_min_bytes_per_second`, or it stalled while others needed its memory. It has had no effect, and the connection is closed; send the request again after `Retry-After`.',
    headers: retryAfterHeader,
  },
  PayloadTooLarge: {
    codes: ['payload_too_large'],
    description:
      '`payload_too_large`: the body is larger than `http.max_body_bytes` (for a batch `http.max_batch_bytes`) allows, or than all the memory that its key may have for bodies; `detail` says which.',
  },
  UnsupportedMediaType: {
    codes: ['unsupported_media_type'],
    description: '`unsupported_media_type`: send the body as one of the types that are listed here.',
  },
  RateLimited: {
    codes: ['rate_limited', 'share_exceeded'],
    description:
      '`rate_limited`: the key sends requests more often than `http.rate_limit_per_key` allows, all connections are taken, the bodies of other requests fill `http.body_memory_bytes`, unread answers take all of `http.answer_memory_bytes`, or the key was refused and so were more from this address than `http.failed_logins_per_minute`; then `WWW-Authenticate` says that it is the key. `share_exceeded`: the key has its share of something that all keys use (`http.shares`); `detail` says of what. Nothing has happened; send the request again after `Retry-After`.',
    headers: tooMany,
  },
  QueueFull: {
    codes: ['queue_full', 'rate_limited', 'share_exceeded'],
    description:
      '`queue_full`: as many jobs wait as `jobs.max_pending` allows, or jobs fill the memory. `rate_limited`: the key sends requests more often than `http.rate_limit_per_key` allows, or the bodies of other requests fill `http.body_memory_bytes`. `share_exceeded`: the key has its share of something that all keys use, such as pending jobs (`http.shares`); `detail` says of what. No job was created; send it again after `Retry-After`.',
    headers: tooMany,
  },
  BatchRefused: {
    codes: ['queue_full', 'rate_limited', 'share_exceeded'],
    description:
      '`queue_full`: there is no room for all of its jobs, as `jobs.max_pending` says, or jobs fill the memory. `share_exceeded`: they do not fit into the share of the key (`http.shares`); without `Retry-After` they never do, and smaller batches are needed. `rate_limited`: the bodies of other requests fill `http.body_memory_bytes`, or the key sends requests more often than `http.rate_limit_per_key` allows.',
    headers: { 'Retry-After': retryAfter, ...refusedKeyHeader },
  },
  TooManySubscribers: {
    codes: ['rate_limited', 'share_exceeded'],
    description:
      '`rate_limited`: there are as many live subscribers as `live.max_subscribers` allows, or one of the reasons that every request has. `share_exceeded`: the key has its share of live subscribers, connections or unread answers.',
    headers: tooMany,
  },
  UpgradeRequired: {
    codes: ['upgrade_required'],
    description:
      '`upgrade_required`: the request has no `Upgrade: websocket`. If a WebSocket client sent it, a proxy on the way has left the headers `Upgrade` and `Connection` out.',
    headers: {
      Upgrade: { description: 'Always `websocket`.', required: true, schema: { const: 'websocket' } },
    },
  },
  InternalError: {
    codes: ['internal_error'],
    description: '`internal_error`: a bug in the coordinator. The log has it under `request_id`.',
  },
  StoreUnavailable: {
    codes: ['store_unavailable'],
    description:
      '`store_unavailable`: the change could not be written, and it has had no effect; or the archive cannot be read.',
    headers: retryAfterHeader,
  },
  Draining: {
    codes: ['draining'],
    description: '`draining`: the coordinator is shutting down.',
    headers: retryAfterHeader,
  },
  NotDispatching: {
    codes: ['draining', 'store_unavailable'],
    description:
      '`draining`: the coordinator is shutting down. `store_unavailable`: the job could not be written. No job was created; send it again after `Retry-After`.',
    headers: retryAfterHeader,
  },
} as const satisfies Record<string, DocumentedProblem>;

export type ProblemName = keyof typeof problems;

/** The response of this name, by its status. */
export function problemResponse(name: ProblemName): { status: number; response: JsonSchema } {
  const problem: DocumentedProblem = problems[name];
  const { codes, description, headers = {}, json = {}, examples } = problem;
  const status = statusOfCode[codes[0]];
  const code = codes.length === 1 ? { const: codes[0] } : { type: 'string', enum: codes };
  const { required = [], properties = {} } = json as { required?: string[]; properties?: object };
  const own = {
    type: 'object',
    required: ['status', 'code', ...required],
    properties: { status: { const: status }, code, ...properties },
  };
  const content = {
    schema: { allOf: [problemShape.schema, own] },
    ...(examples === undefined ? {} : { examples }),
  };
  return {
    status,
    response: reference('responses', name, {
      description,
      headers: { ...requestIdHeader, ...headers },
      content: { 'application/problem+json': content },
    }),
  };
}

/** Every problem has a name in the document, whether or not a route names it. */
export const problemNames = Object.keys(problems) as ProblemName[];
