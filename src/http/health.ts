import type { Middleware } from 'koa';
import type { Coordinator } from '../coordinator/coordinator.ts';
import { CoordinatorError } from '../domain/errors.ts';
import type { WireHealth } from '../domain/wire/health.ts';
import { version } from '../lib/version.ts';
import type { Operation } from './route.ts';
import { storeStatusShape } from './shape/common.ts';
import { count, named, object, oneOf, text } from './shape/shape.ts';

const healthShape = named(
  'Health',
  object<WireHealth>({
    status: oneOf(
      ['ok', 'draining', 'degraded'],
      '`degraded`: the store cannot write; reads work. `draining`: no job is accepted.',
    ),
    version: text(),
    uptime_seconds: count(),
    store: storeStatusShape,
  }),
);

const ready = {
  document: { schema: { type: 'string', enum: ['1'] } },
};

/** What the document says of it: it is answered before the router, for it needs no key. */
export const getHealth: Operation = {
  method: 'GET',
  path: '/health',
  role: 'none',
  name: 'getHealth',
  tag: 'Service',
  summary: 'Report the health of the coordinator',
  description:
    'Needs no key. 200 as long as the process serves requests. With `ready=1` it is 503 unless jobs are accepted and stored, for load balancers.',

  query: { ready },
  answers: {
    200: {
      description: 'The state of the coordinator.',
      shape: healthShape,
      examples: { well: { value: { status: 'ok', version: '0.1.0', uptime_seconds: 3600, store: 'ok' } } },
    },
    503: { description: 'Only with `ready=1`, when no job would be accepted now.', shape: healthShape },
  },
};

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
