import { randomUUID } from 'node:crypto';
import type { Middleware } from 'koa';

/** Gives every request an id, its caller's own when that is a plain word, and answers it in `X-Request-Id`. */
export function requestId(): Middleware {
  return (ctx, next) => {
    const asked = ctx.get('X-Request-Id');
    const id = /^[\w.-]{1,64}$/.test(asked) ? asked : randomUUID();
    ctx.state.requestId = id;
    ctx.set('X-Request-Id', id);
    return next();
  };
}
