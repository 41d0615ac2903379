import { CoordinatorError, type ErrorCode } from '../domain/errors.ts';
import type { ShownError } from '../http/door.ts';
import { statusOfCode } from '../http/problem.ts';
import { own, type TextBlock } from './frame.ts';

/** Codes of JSON-RPC 2.0; other refusals have the one that it leaves to servers. */
const rpcCodes: Partial<Record<ErrorCode, number>> = {
  invalid_request: -32600,
  internal_error: -32603,
};
const serverErrorCode = -32000;

/** A refusal before the protocol has its say: no valid key, too large a body, too many requests. */
export function presentError(error: CoordinatorError, requestId: string): ShownError {
  const { code, message } = error;
  const body = {
    jsonrpc: '2.0',
    id: null,
    error: { code: rpcCodes[code] ?? serverErrorCode, message, data: { code, request_id: requestId } },
  };
  return { status: statusOfCode[code], type: 'application/json', headers: {}, text: JSON.stringify(body) };
}

/** What to do about an error, for the model that called the tool. */
const advice: Partial<Record<ErrorCode, string>> = {
  job_not_found: 'Find the right id with list_jobs.',
  invalid_transition: 'Read its state with get_job.',
  invalid_request: 'Correct the arguments and call again.',
  idempotency_conflict: 'Use another idempotency_key for other arguments.',
  forbidden: 'Ask the person who runs this client for a key with that role.',
  queue_full: 'Wait until jobs have ended, see queue_status, then call again.',
  draining: 'The coordinator restarts: call again in a few seconds.',
  store_unavailable: 'Nothing was changed: call again in a few seconds.',
};

/** The result of a tool that could not do what it was asked. */
export interface FailedCall extends Record<string, unknown> {
  isError: true;
  content: TextBlock[];
}

/** A failure that the model can do something about, as the result of its call. */
export function failedCall(error: CoordinatorError): FailedCall {
  const { code, message, details } = error;
  const faults = (details.errors ?? []).map(({ field, message: rule }) => `- ${field} ${rule}`);
  const wait =
    details.retryAfterSeconds === undefined ? [] : [`Call again in ${details.retryAfterSeconds} s.`];
  const lines = [`${message} (${code}).`, ...faults, ...wait];
  const next = advice[code];
  return { isError: true, content: [own([...lines, ...(next === undefined ? [] : [next])].join('\n'))] };
}

/** The same for a bug: the log has it, and the client learns nothing of it. */
export function brokenCall(): FailedCall {
  const error = new CoordinatorError(
    'internal_error',
    'Something went wrong inside; the log of the coordinator has it',
  );
  return failedCall(error);
}
