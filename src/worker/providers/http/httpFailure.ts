import { messageOf } from '../../../domain/errors.ts';
import { socketWords } from '../../../lib/socketFailure.ts';

/**
 * The request could not be made, or its answer was interrupted or `malformed`. The message quotes nothing of the
 * request.
 */
export class HttpFailure extends Error {
  readonly kind: 'network' | 'timeout' | 'malformed';
  /** ECONNREFUSED and the like; null when the system returned none. */
  readonly code: string | null;

  constructor(kind: HttpFailure['kind'], message: string, code: string | null = null) {
    super(message);
    this.name = 'HttpFailure';
    this.kind = kind;
    this.code = code;
  }
}

/** The system's error of a socket, in words that help. */
export function httpFailureOf(error: unknown): HttpFailure {
  if (error instanceof HttpFailure) return error;
  const code = error instanceof Error && 'code' in error ? String(error.code) : null;
  // The codes of Node's HTTP parser; its messages quote no content, and do not help.
  const isNoHttp = code?.startsWith('HPE_') === true;
  // Refused on both address families, it has an empty message.
  const message = isNoHttp
    ? 'its answer is not HTTP'
    : (socketWords(code ?? '') ?? (messageOf(error) || (code ?? 'the connection failed')));
  return new HttpFailure('network', code === null ? message : `${message} (${code})`, code);
}
