import { type IncomingMessage, type Server, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { hasOneHost, isKnownHost, type OwnNames } from './hosts.ts';
import type { Logger } from './log.ts';

/** Takes over the socket of an upgrade and returns null, or returns the status that refuses it. */
export type UpgradeHandler = (request: IncomingMessage, socket: Duplex, head: Buffer) => number | null;

/**
 * The one listener for upgrades on `server`: by path to whoever takes them there. No middleware sees an upgrade, so the
 * checks that all share stand here: there is one Host (400), the path is known (404), the Host is ours (403). Handlers check the rest.
 * @param options.own asked anew at every upgrade: the configuration may change.
 * @param options.failedLogin told of each 401; resolves with 0, or with the seconds for which it is a 429 instead.
 */
export function routeUpgrades(
  server: Server,
  options: {
    handlers: ReadonlyMap<string, UpgradeHandler>;
    own: () => OwnNames;
    failedLogin: (request: IncomingMessage) => Promise<number>;
    logger: Logger;
  },
): void {
  const { handlers, own, failedLogin, logger } = options;
  server.on('upgrade', (request, socket, head) => {
    socket.on('error', (error) => logger.debug({ error: error.message }, 'upgrade failed'));
    const handler = handlers.get(request.url?.split('?')[0] ?? '');
    const isOurs = isKnownHost(request.headers.host, own());
    const fault = !hasOneHost(request) ? 400 : handler === undefined ? 404 : isOurs ? null : 403;
    const refusal = fault ?? handler?.(request, socket, head) ?? null;
    if (refusal === 401) {
      failedLogin(request).then(
        (waitSeconds) => refuse(socket, waitSeconds === 0 ? 401 : 429, waitSeconds),
        (error: unknown) => {
          logger.error({ err: error }, 'a refused key could not be counted');
          refuse(socket, 401);
        },
      );
    } else if (refusal !== null) refuse(socket, refusal);
  });
}

/** How long who finds no room should wait, seconds. */
const busySeconds = 5;

/** Node no longer looks after this connection: one whose client does not end its own side would stay for ever. */
function refuse(socket: Duplex, status: number, retryAfterSeconds = busySeconds): void {
  const isLater = status === 429 || status === 503;
  const extra =
    status === 401 ? 'WWW-Authenticate: Bearer\r\n' : isLater ? `Retry-After: ${retryAfterSeconds}\r\n` : '';
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${extra}Connection: close\r\nContent-Length: 0\r\n\r\n`,
    () => socket.destroy(),
  );
}
