import type { Middleware } from 'koa';
import { type Door, doorOf } from '../door.ts';

/**
 * Adds to the responses of a door, errors too, how long they took. Streams have sent their headers by then. Outside of
 * everything that answers.
 */
export function doorHeaders(doors: readonly Door[]): Middleware {
  return async (ctx, next) => {
    const door = doorOf(doors, ctx.path);
    if (door === null) return next();
    const startedAt = performance.now();
    ctx.state.timed = () => door.timed(performance.now() - startedAt);
    await next();
    if (!ctx.headerSent) ctx.set(ctx.state.timed());
  };
}
