import { messageOf } from '../../../domain/errors.ts';
import { socketWords } from '../../../lib/socketFailure.ts';

/** The request could not be made, or its answer broke off, or is none (`malformed`). The message holds nothing of what was sent. */
export class HttpFailure extends Error {
  readonly kind: 'network' | 'timeout' | 'malformed';
  /** ECONNREFUSED and the like; null when the system gave none. */
  readonly code: string | null;

  constructor(kind: HttpFailure['kind'], message: string, code: string | null = null) {
    super(message);
    this.name = 'HttpFailure';
    this.kind = kind;
    this.code = code;
  }
}

/** What the system says of a socket, in words that help. */
export function httpFailureOf(error: unknown): HttpFailure {
  if (error instanceof HttpFailure) return error;
  const code = error instanceof Error && 'code' in error ? String(error.code) : null;
  // The codes of Node's parser of HTTP; its messages quote no content, and help nobody.
  const isNoHttp = code?.startsWith('HPE_') === true;
  // Refused on both address families it has an empty message.
  const message = isNoHttp
    ? 'what it answered is no HTTP'
    : (socketWords(code ?? '') ?? (messageOf(error) || (code ?? 'the connection failed')));
  return new HttpFailure('network', code === null ? message : `${message} (${code})`, code);
}
