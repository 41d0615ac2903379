import { type IncomingMessage, type Server, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { isKnownHost, type OwnNames } from './hosts.ts';
import type { Logger } from './log.ts';

/** Takes over the socket of an upgrade and returns null, or returns the status that refuses it. */
export type UpgradeHandler = (request: IncomingMessage, socket: Duplex, head: Buffer) => number | null;

/**
 * The one listener for upgrades on `server`: by path to whoever takes them there. No middleware sees an upgrade, so the
 * checks that all share stand here: the path is known (404), the Host is ours (403). Handlers check the rest.
 * @param own asked anew at every upgrade: the configuration may change.
 */
export function routeUpgrades(
  server: Server,
  options: {
    handlers: ReadonlyMap<string, UpgradeHandler>;
    own: () => OwnNames;
    logger: Logger;
  },
): void {
  const { handlers, own, logger } = options;
  server.on('upgrade', (request, socket, head) => {
    socket.on('error', (error) => logger.debug({ error: error.message }, 'upgrade failed'));
    const handler = handlers.get(request.url?.split('?')[0] ?? '');
    const isOurs = isKnownHost(request.headers.host, own());
    const refusal = handler === undefined ? 404 : isOurs ? handler(request, socket, head) : 403;
    if (refusal !== null) refuse(socket, refusal);
  });
}

function refuse(socket: Duplex, status: number): void {
  const extra = status === 401 ? 'WWW-Authenticate: Bearer\r\n' : status === 503 ? 'Retry-After: 5\r\n' : '';
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${extra}Connection: close\r\nContent-Length: 0\r\n\r\n`,
  );
}
