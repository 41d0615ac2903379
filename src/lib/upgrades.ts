import { type IncomingMessage, type Server, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { CoordinatorError } from '../domain/errors.ts';
import { hasOneHost, isKnownHost, type OwnNames } from './hosts.ts';
import type { Logger } from './log.ts';

/**
 * Marks a refused key, even when the status is 429 because its address sent too many refused keys: a throttled worker
 * still learns that its key is wrong. RFC 6750, 3.1.
 */
const refusedKeyChallenge = 'Bearer error="invalid_token"';

/** Takes over the socket of an upgrade and returns null, or returns the error that refuses it. */
export type UpgradeHandler = (
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
) => CoordinatorError | null;

/** The answer to a refused upgrade. */
export interface UpgradeRefusal {
  status: number;
  /** A problem document. */
  body: string;
}

/**
 * The one listener for upgrades on `server`: it passes each to the handler of its path. No middleware sees an upgrade,
 * so the shared checks are here: there is one Host (400), the path is known (404), the Host is ours (403). Handlers
 * check the rest.
 * @param options.own read at every upgrade: the configuration may change.
 * @param options.failedLogin called for each refused key; resolves with 0, or with the seconds for which it is a 429.
 * @param options.present turns an error into an answer.
 */
export function routeUpgrades(
  server: Server,
  options: {
    handlers: ReadonlyMap<string, UpgradeHandler>;
    own: () => OwnNames;
    failedLogin: (request: IncomingMessage) => Promise<number>;
    present: (error: CoordinatorError) => UpgradeRefusal;
    logger: Logger;
  },
): void {
  const { handlers, own, failedLogin, present, logger } = options;
  const answer = (socket: Duplex, error: CoordinatorError): void => refuse(socket, error, present(error));
  server.on('upgrade', (request, socket, head) => {
    socket.on('error', (error) => logger.debug({ error: error.message }, 'upgrade failed'));
    const handler = handlers.get(request.url?.split('?')[0] ?? '');
    const refusal = faultOf(request, handler, own()) ?? handler?.(request, socket, head) ?? null;
    if (refusal?.code !== 'authentication_failed') {
      if (refusal !== null) answer(socket, refusal);
      return;
    }
    failedLogin(request).then(
      (waitSeconds) => answer(socket, waitSeconds === 0 ? refusal : slowedDown(refusal, waitSeconds)),
      (error: unknown) => {
        logger.error({ err: error }, 'a refused key could not be counted');
        answer(socket, refusal);
      },
    );
  });
}

/** What is wrong with an upgrade before any handler sees it; null for nothing. */
function faultOf(
  request: IncomingMessage,
  handler: UpgradeHandler | undefined,
  own: OwnNames,
): CoordinatorError | null {
  if (!hasOneHost(request)) return new CoordinatorError('invalid_request', 'One Host header is needed');
  if (handler === undefined)
    return new CoordinatorError('not_found', 'There is no socket here; they are at /ws and /ws/worker');
  return isKnownHost(request.headers.host, own)
    ? null
    : new CoordinatorError('forbidden', 'The Host header names another service');
}

/** The answer to a refused key whose address sent too many refused keys. It also says why the key is refused. */
export function slowedDown(refusal: CoordinatorError, waitSeconds: number): CoordinatorError {
  return new CoordinatorError(
    'rate_limited',
    `Too many refused keys from this address (http.failed_logins_per_minute): wait ${waitSeconds} s. ${refusal.message}`,
    { retryAfterSeconds: waitSeconds, isKeyRefused: true },
  );
}

/** The challenge that upgrades and routes send with a refused key. */
export function challengeOf({ code, details }: CoordinatorError): string | null {
  if (details.isKeyRefused === true) return refusedKeyChallenge;
  return code === 'authentication_failed' ? 'Bearer' : null;
}

/** Node no longer manages this connection: if its client does not end its side, it would stay open for ever. */
function refuse(socket: Duplex, error: CoordinatorError, { status, body }: UpgradeRefusal): void {
  const { retryAfterSeconds } = error.details;
  const challenge = challengeOf(error);
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    ...(challenge === null ? [] : [`WWW-Authenticate: ${challenge}`]),
    ...(retryAfterSeconds === undefined ? [] : [`Retry-After: ${retryAfterSeconds}`]),
    'Content-Type: application/problem+json',
    'Cache-Control: no-store',
    'Connection: close',
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}
