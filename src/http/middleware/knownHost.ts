import type { Middleware } from 'koa';
import { CoordinatorError } from '../../domain/errors.ts';
import { isKnownHost, type OwnNames } from '../../lib/hosts.ts';

/**
 * Refuses requests that were sent to a name that is not ours: a web page whose owner points its name at this address
 * (DNS rebinding) is of the same origin as the service for its browser.
 * @param ownNow asked at every request; the same object means the same names.
 * @throws CoordinatorError forbidden.
 */
export function knownHost(ownNow: () => OwnNames): Middleware {
  // Clients say the same name again and again: it is looked at once, and compared after that.
  let known: { own: OwnNames; header: string } | null = null;
  return (ctx, next) => {
    const own = ownNow();
    const { host } = ctx.req.headers;
    if (known?.header === host && known?.own === own) return next();
    if (host === undefined || !isKnownHost(host, own)) {
      throw new CoordinatorError(
        'forbidden',
        'The Host header names another service. If clients reach this one by that name, it belongs in public_url or http.allowed_hosts',
      );
    }
    known = { own, header: host };
    return next();
  };
}
