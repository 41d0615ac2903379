import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import type { KeyRing } from '../auth/keyRing.ts';
import type { Tickets } from '../auth/tickets.ts';
import type { Config } from '../config/config.ts';
import type { RoleRefused } from '../coordinator/roleRefusals.ts';
import type { Clock } from '../domain/clock.ts';
import { CoordinatorError } from '../domain/errors.ts';
import { type Principal, roleMay } from '../domain/key.ts';
import { clientFrameBytesMax, liveSubprotocol, ticketPrefix } from '../domain/liveProtocol.ts';
import type { Connections } from '../lib/connections.ts';
import { isOwnOrigin } from '../lib/hosts.ts';
import type { Live } from './live.ts';
import { LiveConnection } from './liveConnection.ts';

/** Fragments of one message: no real client sends many. */
const fragmentsMax = 16;

/** Accepts the sockets of dashboards. Koa sees no upgrade, so their own checks are here. */
export class LiveSocket {
  readonly #sockets = new WebSocketServer({
    noServer: true,
    maxPayload: clientFrameBytesMax,
    maxFragments: fragmentsMax,
    perMessageDeflate: false,
    clientTracking: true,
    handleProtocols: (offered) => (offered.has(liveSubprotocol) ? liveSubprotocol : false),
  });
  readonly #live: Live;
  readonly #keys: KeyRing;
  readonly #tickets: Tickets;
  readonly #config: () => Config;
  readonly #connections: Connections;
  readonly #clock: Clock;
  readonly #roleRefused: RoleRefused;

  /** @param options.roleRefused for the audit log. */
  constructor(options: {
    live: Live;
    keys: KeyRing;
    tickets: Tickets;
    config: () => Config;
    connections: Connections;
    clock: Clock;
    roleRefused: RoleRefused;
  }) {
    this.#live = options.live;
    this.#keys = options.keys;
    this.#tickets = options.tickets;
    this.#config = options.config;
    this.#connections = options.connections;
    this.#clock = options.clock;
    this.#roleRefused = options.roleRefused;
  }

  /** Handle the upgrade to `/ws`. @returns null, or the error that refuses it. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): CoordinatorError | null {
    const principal = this.#principal(request);
    if (principal instanceof CoordinatorError) return principal;
    if (!roleMay(principal.role, 'viewer')) {
      this.#roleRefused(request, principal, { path: '/ws', needs: 'viewer' });
      const message = `A key with the role ${principal.role} may not receive live events; it needs viewer`;
      return new CoordinatorError('forbidden', message);
    }
    const refusal = this.#connections.claim(socket, principal) ?? this.#live.admit(principal);
    if (refusal !== null) return refusal;
    socket.once('close', () => this.#live.release(principal));
    this.#sockets.handleUpgrade(request, socket, head, (webSocket) => {
      const connection = new LiveConnection({
        webSocket,
        socket,
        live: this.#live,
        clock: this.#clock,
        principal,
      });
      const unwatch = this.#keys.watch(principal, () => connection.keyRefused());
      webSocket.once('close', unwatch);
    });
    return null;
  }

  /** Cut all open sockets. */
  close(): void {
    for (const socket of this.#sockets.clients) socket.terminate();
  }

  /**
   * The principal, or the error that refuses it. A browser sends an Origin, which must be our own, and a ticket, since
   * it can set no header; a program sends its key. A ticket without an Origin is from a page that hides its origin.
   */
  #principal({ headers }: IncomingMessage): Principal | CoordinatorError {
    const { origin, authorization, host = '' } = headers;
    const ticket = offeredTicket(headers['sec-websocket-protocol']);
    const isForeign = origin !== undefined && !isOwnOrigin(origin, host, this.#config());
    if (isForeign || (origin === undefined && authorization === undefined && ticket !== null)) {
      return new CoordinatorError('forbidden', 'A browser may connect only from the page of this service');
    }
    if (authorization !== undefined || ticket === null) {
      const principal = this.#keys.authenticate(authorization);
      return typeof principal === 'string' ? notAuthenticated(principal) : principal;
    }
    const principal = this.#tickets.redeem(ticket);
    // The key may have been revoked since the ticket was issued.
    if (principal !== null && this.#keys.isValid(principal)) return principal;
    return notAuthenticated('the ticket is unknown, was used already, or is older than 30 seconds');
  }
}

function notAuthenticated(why: string): CoordinatorError {
  return new CoordinatorError('authentication_failed', `Authentication failed: ${why}`);
}

/** The ticket among the offered subprotocols, `svc.v1, ticket.<t>`. */
function offeredTicket(protocols: string | undefined): string | null {
  const offered = (protocols ?? '').split(',').map((protocol) => protocol.trim());
  return offered.find((protocol) => protocol.startsWith(ticketPrefix))?.slice(ticketPrefix.length) ?? null;
}
