import { messageOf } from '../../../domain/errors.ts';

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

const untrusted =
  'this machine does not trust who signed its certificate: NODE_EXTRA_CA_CERTS can name a file with that authority';

const words: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection broke off',
  ENOTFOUND: 'there is no such host',
  EAI_AGAIN: 'the name of the host cannot be looked up',
  ETIMEDOUT: 'the connection was not answered',
  EPIPE: 'the connection broke off',
  EPROTO: 'it does not speak TLS: should the address begin with http://',
  DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
};

/** What the system says of a socket, in words that help. */
export function httpFailureOf(error: unknown): HttpFailure {
  if (error instanceof HttpFailure) return error;
  const code = error instanceof Error && 'code' in error ? String(error.code) : null;
  // The codes of Node's parser of HTTP; its messages quote no content, and help nobody.
  const isNoHttp = code?.startsWith('HPE_') === true;
  // Refused on both address families it has an empty message.
  const message = isNoHttp
    ? 'what it answered is no HTTP'
    : (words[code ?? ''] ?? (messageOf(error) || (code ?? 'the connection failed')));
  return new HttpFailure('network', code === null ? message : `${message} (${code})`, code);
}
