import type { Context, Middleware } from 'koa';
import type { FailedLogins } from '../../auth/failedLogins.ts';
import type { KeyRing } from '../../auth/keyRing.ts';
import type { Tickets } from '../../auth/tickets.ts';
import type { Config } from '../../config/config.ts';
import { CoordinatorError } from '../../domain/errors.ts';
import type { Principal } from '../../domain/key.ts';
import { clientAddress } from '../../lib/clientAddress.ts';
import type { Connections } from '../../lib/connections.ts';
import { isOwnOrigin } from '../../lib/hosts.ts';
import { slowedDown } from '../../lib/upgrades.ts';
import { type Door, doorOf, shownError } from '../door.ts';
import { KeyedExchange } from '../exchange.ts';

/**
 * Requires a valid key; `ctx.state.principal` says who it is. A refusal is counted for the
 * address it came from, and answered with 429 when there were too many; a valid key is never counted. Whatever is still under
 * way when its key ends is ended with it.
 * @param parts.doors a door may take the key from a header of its own too.
 * @param parts.takesTicket the paths to which a browser can send no header: a ticket in the query stands in for the key.
 * @throws CoordinatorError authentication_failed, rate_limited; share_exceeded for one connection of the key too many; forbidden for a ticket from another page than ours.
 */
export function authentication(parts: {
  keys: KeyRing;
  tickets: Tickets;
  failedLogins: FailedLogins;
  connections: Connections;
  config: () => Config;
  takesTicket: (path: string) => boolean;
  doors: readonly Door[];
}): Middleware {
  const { keys, tickets, failedLogins, connections, config, takesTicket, doors } = parts;
  keys.onSweep(() => connections.endRefused((principal) => keys.isValid(principal)));
  const identify = (ctx: Context): Principal | string => {
    const authorization = authorizationOf(ctx, doors);
    const { ticket } = ctx.query;
    if (authorization !== '' || typeof ticket !== 'string' || !takesTicket(ctx.path)) {
      return keys.authenticate(authorization);
    }
    const { origin, host = '' } = ctx.req.headers;
    if (origin !== undefined && !isOwnOrigin(origin, host, config())) {
      throw new CoordinatorError('forbidden', 'A ticket is for the page of this service alone');
    }
    const principal = tickets.redeem(ticket);
    // The key may have been taken back since the ticket was issued.
    if (principal !== null && keys.isValid(principal)) return principal;
    return 'the ticket is unknown, was used already, or is older than 30 seconds';
  };
  const refuse = async (ctx: Context, why: string): Promise<never> => {
    const refusal = new CoordinatorError('authentication_failed', `Authentication failed: ${why}`);
    const waitSeconds = await failedLogins.count(clientAddress(ctx.req, config().http.trustedProxies));
    if (waitSeconds === 0) throw refusal;
    // Each further attempt needs a new connection.
    ctx.set('Connection', 'close');
    throw slowedDown(refusal, waitSeconds);
  };
  return (ctx, next) => {
    const principal = identify(ctx);
    if (typeof principal === 'string') return refuse(ctx, principal);
    ctx.state.principal = principal;
    const address = clientAddress(ctx.req, config().http.trustedProxies);
    keys.clients.note(principal.keyId, ctx.get('User-Agent'), address || null);
    const { socket } = ctx.req;
    const refusal = connections.claim(socket, principal);
    if (refusal !== null) {
      ctx.set('Connection', 'close');
      throw refusal;
    }
    const { requestId, timed }: { requestId: string; timed?: () => Record<string, string> } = ctx.state;
    const door = doorOf(doors, ctx.path);
    const exchange = new KeyedExchange(ctx.res, principal, (error) => {
      const shown = shownError(door, error, requestId);
      return { ...shown, headers: { ...timed?.(), ...shown.headers } };
    });
    ctx.state.exchange = exchange;
    connections.begin(socket, exchange);
    return next();
  };
}

/** The header, or what stands in for it at a door. */
function authorizationOf(ctx: Context, doors: readonly Door[]): string {
  const authorization = ctx.get('Authorization');
  const door = authorization === '' ? doorOf(doors, ctx.path) : null;
  const key = door === null ? '' : ctx.get(door.keyHeader);
  return key === '' ? authorization : `Bearer ${key}`;
}
