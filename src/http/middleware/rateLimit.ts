import type { Middleware } from 'koa';
import type { Clock } from '../../domain/clock.ts';
import { CoordinatorError } from '../../domain/errors.ts';
import type { Principal } from '../../domain/key.ts';
import type { RateLimiter } from '../../lib/rateLimiter.ts';
import { type Door, doorOf } from '../door.ts';

/** A fleet of workers shares one key, and a rotated key reaches them by this path alone. */
const neverLimited = '/api/worker-config';

/**
 * Refuses a key that asks more often than it may. After `authentication`: what needs no key (health, the page) is not
 * counted, and neither are sockets, which do not come through here.
 * @param limiter counts the requests of each key, wherever they are served.
 * @param doors their responses say how much is left, refusals too.
 * @param perSecondNow requests a second, asked at every request; 0: no limit.
 * @throws CoordinatorError rate_limited.
 */
export function rateLimit(
  limiter: RateLimiter,
  perSecondNow: () => number,
  clock: Clock,
  doors: readonly Door[] = [],
): Middleware {
  return (ctx, next) => {
    const perSecond = perSecondNow();
    if (perSecond === 0 || ctx.path === neverLimited) return next();
    const { keyId }: Principal = ctx.state.principal;
    const now = clock.monotonic();
    const waitMs = limiter.take(keyId, perSecond, now);
    const door = doorOf(doors, ctx.path);
    if (door !== null) ctx.set(door.limited(limiter.left(keyId, perSecond, now)));
    if (waitMs === 0) return next();
    const retryAfterSeconds = Math.max(1, Math.ceil(waitMs / 1000));
    throw new CoordinatorError(
      'rate_limited',
      `This key may send ${perSecond} requests a second (http.rate_limit_per_key), and sent more: wait ${retryAfterSeconds} s and send this one again, or send many jobs in one request to /api/jobs/batch`,
      { retryAfterSeconds },
    );
  };
}
