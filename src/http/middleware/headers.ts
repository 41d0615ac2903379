import type { Middleware } from 'koa';

/** Answers hold jobs: no cache keeps them, and no browser takes them for anything but what they say they are. */
export function headers(): Middleware {
  return (ctx, next) => {
    ctx.set('Cache-Control', 'no-store');
    ctx.set('X-Content-Type-Options', 'nosniff');
    return next();
  };
}
