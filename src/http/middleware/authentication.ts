import type { Middleware } from 'koa';
import type { KeyRing } from '../../auth/keyRing.ts';
import { CoordinatorError } from '../../domain/errors.ts';

/** Lets nobody past without a key that is taken; `ctx.state.principal` says who it is. */
export function authentication(keys: KeyRing): Middleware {
  return (ctx, next) => {
    const principal = keys.authenticate(ctx.get('Authorization'));
    if (typeof principal === 'string') {
      throw new CoordinatorError('authentication_failed', `Authentication failed: ${principal}`);
    }
    ctx.state.principal = principal;
    return next();
  };
}
