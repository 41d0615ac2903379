import type { Middleware } from 'koa';
import type { Coordinator } from '../coordinator/coordinator.ts';
import { CoordinatorError } from '../domain/errors.ts';
import type { WireHealth } from '../domain/wire/health.ts';
import { version } from '../lib/version.ts';

/**
 * GET /health, without a key: 200 with the coordinator's status. `?ready=1` is for load balancers: 503 unless it
 * accepts jobs.
 * @throws CoordinatorError method_not_allowed.
 */
export function health(coordinator: Coordinator): Middleware {
  const startedAt = performance.now();
  return (ctx, next) => {
    // With a slash at the end too, as every other route.
    if (!/^\/health\/?$/.test(ctx.path)) return next();
    ctx.state.route = '/health';
    if (ctx.method !== 'GET' && ctx.method !== 'HEAD') {
      const allow = ['GET', 'HEAD'];
      throw new CoordinatorError('method_not_allowed', `${ctx.method} is not offered here`, { allow });
    }
    const store = coordinator.storeHealth();
    const accepts = coordinator.status === 'accepting' || coordinator.status === 'paused';
    const body: WireHealth = {
      status: !accepts ? 'draining' : store.status === 'ok' ? 'ok' : 'degraded',
      version,
      uptime_seconds: Math.round((performance.now() - startedAt) / 1000),
      store: store.status,
    };
    ctx.status = ctx.query.ready === '1' && body.status !== 'ok' ? 503 : 200;
    ctx.body = body;
    return Promise.resolve();
  };
}
