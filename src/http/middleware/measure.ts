import type { Middleware } from 'koa';
import type { Metrics } from '../../metrics/metrics.ts';

/** Measures every request by its route as it was declared, so that ids never become labels. Outside of everything that answers. */
export function measure(metrics: Metrics): Middleware {
  return async (ctx, next) => {
    const startedAt = performance.now();
    try {
      await next();
    } finally {
      const route: string = ctx.state.route ?? 'none';
      metrics.requested(ctx.method, route, ctx.status, performance.now() - startedAt);
    }
  };
}
