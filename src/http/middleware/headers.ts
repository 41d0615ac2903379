import type { Middleware } from 'koa';
import type { Coordinator } from '../../coordinator/coordinator.ts';

/**
 * Answers hold jobs: no cache keeps them, and no browser takes them for anything but what they say they are. A
 * coordinator that is shutting down ends each connection with its answer.
 */
export function headers(coordinator: Coordinator): Middleware {
  return (ctx, next) => {
    ctx.set('Cache-Control', 'no-store');
    ctx.set('X-Content-Type-Options', 'nosniff');
    // A client that keeps asking would keep its connection, and the stop would wait for it.
    if (coordinator.status === 'draining') ctx.set('Connection', 'close');
    return next();
  };
}
