import Koa from 'koa';
import { CoordinatorError } from '../domain/errors.ts';
import { dashboard } from './dashboard.ts';
import type { Door } from './door.ts';
import { getHealth, health } from './health.ts';
import { authentication } from './middleware/authentication.ts';
import { compression } from './middleware/compression.ts';
import { doorHeaders } from './middleware/doorHeaders.ts';
import { errors } from './middleware/errors.ts';
import { headers } from './middleware/headers.ts';
import { knownHost } from './middleware/knownHost.ts';
import { measure } from './middleware/measure.ts';
import { oneHost } from './middleware/oneHost.ts';
import { openDoor } from './middleware/openDoor.ts';
import { rateLimit } from './middleware/rateLimit.ts';
import { requestId } from './middleware/requestId.ts';
import { apiDocument } from './openapi/document.ts';
import { page } from './page.ts';
import type { HttpParts } from './parts.ts';
import type { Route } from './route.ts';
import { auditRoutes } from './routes/audit/routes.ts';
import { configRoutes } from './routes/config/routes.ts';
import { costRoutes } from './routes/cost/routes.ts';
import { eventRoutes } from './routes/events/routes.ts';
import { inspectRoutes } from './routes/inspect/routes.ts';
import { jobRoutes } from './routes/jobs/routes.ts';
import { keyRoutes } from './routes/keys/routes.ts';
import { machineRoutes } from './routes/machines/routes.ts';
import { metricsRoutes } from './routes/metrics/routes.ts';
import { openapiRoutes } from './routes/openapi/routes.ts';
import { providerRoutes } from './routes/providers/routes.ts';
import { queueRoutes } from './routes/queue/routes.ts';
import { routingRoutes } from './routes/routing/routes.ts';
import { runRoutes } from './routes/runs/routes.ts';
import { sessionRoutes } from './routes/sessions/routes.ts';
import { socketRoutes } from './routes/sockets/routes.ts';
import { statsRoutes } from './routes/stats/routes.ts';
import { webhookRoutes } from './routes/webhooks/routes.ts';
import { workerRoutes } from './routes/workers/routes.ts';
import { routing, streamPaths } from './routing.ts';
import type { JsonSchema } from './shape/shape.ts';

/** Every route of the API, one room a thing. A new one is a line here. */
export const routes: readonly Route[] = [
  ...jobRoutes,
  ...runRoutes,
  ...workerRoutes,
  ...queueRoutes,
  ...providerRoutes,
  ...statsRoutes,
  ...machineRoutes,
  ...inspectRoutes,
  ...costRoutes,
  ...routingRoutes,
  ...keyRoutes,
  ...webhookRoutes,
  ...sessionRoutes,
  ...configRoutes,
  ...auditRoutes,
  ...metricsRoutes,
  ...openapiRoutes(() => openApi()),
  ...eventRoutes,
  ...socketRoutes,
];

/** The API as OpenAPI describes it: docs/openapi.yaml. */
export function openApi(): JsonSchema {
  return apiDocument([...routes, getHealth]);
}

/**
 * The HTTP side of the coordinator. Whatever is not public asks for a key first, so that a stranger learns no path.
 * @param doors APIs in the form of other services, beside the native one.
 */
export function createApp(parts: HttpParts, doors: readonly Door[] = []): Koa {
  const { coordinator, config, metrics, clock, logger } = parts;
  const app = new Koa();
  // Koa's own handler would print what the error middleware has answered already.
  app.on('error', (error: Error) => logger.debug({ err: error }, 'connection error'));
  app.use(measure(metrics));
  app.use(requestId());
  app.use(headers(coordinator));
  app.use(compression());
  app.use(doorHeaders(doors));
  app.use(errors(logger, (code) => metrics.bounds.requestRefused(code), doors));
  app.use(oneHost());
  app.use(health(coordinator));
  app.use(knownHost(config));
  app.use(parts.dashboard === null ? page() : dashboard(parts.dashboard));
  app.use(authentication({ ...parts, takesTicket: streamPaths(routes), doors }));
  app.use(rateLimit(parts.rates, () => config().http.rateLimitPerKey, clock, doors));
  app.use(openDoor(doors, config));
  app.use(
    routing([...routes, ...doors.flatMap((door) => door.routes)], parts, {
      answers: parts.answers,
      trustedProxies: () => config().http.trustedProxies,
      onRefused: (refusal) => coordinator.audit.refused(refusal),
    }),
  );
  app.use((ctx) => {
    throw new CoordinatorError('not_found', `There is nothing at ${ctx.path}`);
  });
  return app;
}
