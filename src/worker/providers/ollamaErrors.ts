import type { IncomingHttpHeaders } from 'node:http';
import type { ErrorClass } from '../../domain/failure.ts';
import type { WireFailure } from '../../domain/workerProtocol.ts';
import type { HttpFailure } from './httpStream.ts';

const messageMax = 300;

/** Where ollama says itself what is wrong, with whatever status; the first that matches counts. */
const sentences: [pattern: RegExp, errorClass: ErrorClass][] = [
  // runner: "the input length exceeds the context length" (400 with truncate: false).
  [/exceeds? .*context|context (length|window|size)/i, 'context_overflow'],
  [/model .*not found|try pulling it/i, 'model_not_found'],
  // "model requires more system memory (8.4 GiB) than is available (5.1 GiB)".
  [
    /requires more system memory|unable to load model|failed to load model|loading model/i,
    'model_not_loaded',
  ],
];

/** https://github.com/ollama/ollama/blob/main/docs/api/errors.mdx; 503 is server/sched.go, ErrMaxQueue. */
const classOfStatus: Record<number, ErrorClass> = {
  400: 'invalid_request',
  401: 'auth',
  403: 'auth',
  408: 'timeout',
  413: 'invalid_request',
  422: 'invalid_request',
  429: 'rate_limited',
  502: 'network',
  503: 'overloaded',
  504: 'timeout',
};

/**
 * The failure behind a status that is not 200.
 * @param body the begin of it: `{"error": "…"}` when it comes from ollama. @param now epoch ms, for a date in Retry-After.
 */
export function failureOfStatus(
  status: number,
  headers: IncomingHttpHeaders,
  body: string,
  now: number,
): WireFailure {
  const said = errorIn(body);
  const retryAfter = retryAfterSeconds(headers['retry-after'], now);
  return {
    ...failureSaid(said ?? `status ${status}`, classFor(status, said), said),
    status,
    ...(retryAfter === null ? {} : { retry_after_seconds: retryAfter }),
  };
}

/** The failure behind an `{"error": "…"}` in the middle of a 200. */
export function failureInStream(said: string): WireFailure {
  return failureSaid(said, classSaid(said) ?? 'server_error', said);
}

/** A stream that ended without its last line: what came so far is no answer. */
export function incompleteStream(): WireFailure {
  return {
    class: 'server_error',
    code: 'incomplete_stream',
    message: 'The ollama server ended its answer before it was complete',
  };
}

/** No answer, or one that broke off. @param address of the server. */
export function failureOfConnection({ kind, message, code }: HttpFailure, address: string): WireFailure {
  return {
    class: kind,
    message: `The ollama server at ${address} does not answer: ${message}`,
    ...(code === null ? {} : { code }),
  };
}

function classFor(status: number, said: string | null): ErrorClass {
  const fromStatus = classOfStatus[status] ?? (status >= 500 ? 'server_error' : 'unknown');
  if (fromStatus === 'auth' || fromStatus === 'rate_limited') return fromStatus;
  return (said === null ? null : classSaid(said)) ?? fromStatus;
}

function classSaid(said: string): ErrorClass | null {
  return sentences.find(([pattern]) => pattern.test(said))?.[1] ?? null;
}

function failureSaid(text: string, errorClass: ErrorClass, said: string | null): WireFailure {
  const short = text.slice(0, messageMax);
  if (errorClass === 'model_not_found') return { class: errorClass, message: `Model not found: ${short}` };
  if (errorClass === 'model_not_loaded') return { class: errorClass, message: `No model loaded: ${short}` };
  if (errorClass === 'context_overflow') {
    return { class: errorClass, message: `${short}; a larger window can be asked for with params.num_ctx` };
  }
  const help = said === null ? '; is that an ollama server?' : '';
  return { class: errorClass, message: `The ollama server says: ${short}${help}` };
}

/** What ollama says; null when the body is not its own. */
function errorIn(body: string): string | null {
  try {
    const parsed: unknown = JSON.parse(body);
    const isError = typeof parsed === 'object' && parsed !== null && 'error' in parsed;
    return isError && typeof parsed.error === 'string' ? parsed.error : null;
  } catch {
    return null;
  }
}

/** RFC 9110, 10.2.3: seconds or a date. */
function retryAfterSeconds(header: string | undefined, now: number): number | null {
  if (header === undefined) return null;
  if (/^\d+$/.test(header)) return Number(header);
  const at = Date.parse(header);
  return Number.isNaN(at) ? null : Math.max(0, (at - now) / 1000);
}
