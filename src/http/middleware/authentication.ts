import type { Context, Middleware } from 'koa';
import type { KeyRing } from '../../auth/keyRing.ts';
import type { Tickets } from '../../auth/tickets.ts';
import { CoordinatorError } from '../../domain/errors.ts';
import type { Principal } from '../../domain/key.ts';

/**
 * Lets nobody past without a key that is taken; `ctx.state.principal` says who it is.
 * @param takesTicket the paths to which a browser can send no header: a ticket in the query stands in for the key.
 */
export function authentication(
  keys: KeyRing,
  tickets: Tickets,
  takesTicket: (path: string) => boolean,
): Middleware {
  const identify = (ctx: Context): Principal | string => {
    const authorization = ctx.get('Authorization');
    const { ticket } = ctx.query;
    if (authorization !== '' || typeof ticket !== 'string' || !takesTicket(ctx.path)) {
      return keys.authenticate(authorization);
    }
    const principal = tickets.redeem(ticket);
    // The key may have been taken back since the ticket was issued.
    if (principal !== null && keys.isValid(principal)) return principal;
    return 'the ticket is unknown, was used already, or is older than 30 seconds';
  };
  return (ctx, next) => {
    const principal = identify(ctx);
    if (typeof principal === 'string') {
      throw new CoordinatorError('authentication_failed', `Authentication failed: ${principal}`);
    }
    ctx.state.principal = principal;
    return next();
  };
}
