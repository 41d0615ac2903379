import type { Middleware } from 'koa';
import { CoordinatorError } from '../../domain/errors.ts';
import { hasOneHost } from '../../lib/hosts.ts';

/** Refuses a request with two Host headers before anybody goes by one of them. @throws CoordinatorError invalid_request. */
export function oneHost(): Middleware {
  return (ctx, next) => {
    if (hasOneHost(ctx.req)) return next();
    throw new CoordinatorError('invalid_request', 'A request has one Host header; this one has several', {
      errors: [{ field: 'Host', message: 'must be given once' }],
    });
  };
}
