import Koa from 'koa';
import type { FailedLogins } from '../auth/failedLogins.ts';
import type { KeyRing } from '../auth/keyRing.ts';
import type { Tickets } from '../auth/tickets.ts';
import type { Config } from '../config/config.ts';
import type { LiveConfig } from '../config/liveConfig.ts';
import type { Coordinator } from '../coordinator/coordinator.ts';
import type { Clock } from '../domain/clock.ts';
import { CoordinatorError } from '../domain/errors.ts';
import type { AnswerMemory } from '../lib/answerMemory.ts';
import type { Connections } from '../lib/connections.ts';
import type { Logger } from '../lib/log.ts';
import type { Metrics } from '../metrics/metrics.ts';
import { type DashboardFiles, dashboard } from './dashboard.ts';
import { health } from './health.ts';
import { authentication } from './middleware/authentication.ts';
import { compression } from './middleware/compression.ts';
import { errors } from './middleware/errors.ts';
import { headers } from './middleware/headers.ts';
import { knownHost } from './middleware/knownHost.ts';
import { measure } from './middleware/measure.ts';
import { oneHost } from './middleware/oneHost.ts';
import { rateLimit } from './middleware/rateLimit.ts';
import { requestId } from './middleware/requestId.ts';
import { smallBody } from './middleware/smallBody.ts';
import { page } from './page.ts';
import { type Route, routing, streamPaths } from './route.ts';
import { auditRoutes } from './routes/audit/routes.ts';
import { configRoutes } from './routes/config/routes.ts';
import { costRoutes } from './routes/cost/routes.ts';
import { type EventStreams, eventRoutes } from './routes/events/routes.ts';
import { inspectRoutes } from './routes/inspect/routes.ts';
import { jobRoutes } from './routes/jobs/routes.ts';
import { keyRoutes } from './routes/keys/routes.ts';
import { machineRoutes } from './routes/machines/routes.ts';
import { metricsRoutes } from './routes/metrics/routes.ts';
import { openapiRoutes } from './routes/openapi/routes.ts';
import { providerRoutes } from './routes/providers/routes.ts';
import { queueRoutes } from './routes/queue/routes.ts';
import { routingRoutes } from './routes/routing/routes.ts';
import { sessionRoutes } from './routes/sessions/routes.ts';
import { socketRoutes } from './routes/sockets/routes.ts';
import { statsRoutes } from './routes/stats/routes.ts';
import { workerRoutes } from './routes/workers/routes.ts';
import type { Uploads } from './uploads.ts';

export interface HttpParts {
  coordinator: Coordinator;
  keys: KeyRing;
  tickets: Tickets;
  failedLogins: FailedLogins;
  connections: Connections;
  answers: AnswerMemory;
  streams: EventStreams;
  config: () => Config;
  /** The same, with where it came from and the way to read it again. */
  live: LiveConfig;
  metrics: Metrics;
  uploads: Uploads;
  clock: Clock;
  /** null: a plain page stands in its place. */
  dashboard: DashboardFiles | null;
  logger: Logger;
}

/** Every route of the API, one room a thing. */
export function routes(parts: HttpParts): Route[] {
  const { coordinator, config, live, streams, metrics, uploads } = parts;
  return [
    ...jobRoutes(coordinator, config, uploads),
    ...workerRoutes(coordinator),
    ...queueRoutes(coordinator),
    ...providerRoutes(coordinator),
    ...statsRoutes(coordinator),
    ...machineRoutes(coordinator),
    ...inspectRoutes(coordinator),
    ...costRoutes(coordinator),
    ...routingRoutes(coordinator, config, uploads),
    ...keyRoutes(parts),
    ...sessionRoutes(parts.keys),
    ...configRoutes(live),
    ...auditRoutes(coordinator.audit),
    ...metricsRoutes(metrics),
    ...openapiRoutes(),
    ...eventRoutes(streams),
    ...socketRoutes(),
  ];
}

/** The HTTP side of the coordinator. Whatever is not public asks for a key first, so that a stranger learns no path. */
export function createApp(parts: HttpParts): Koa {
  const { coordinator, config, metrics, clock, logger } = parts;
  const all = routes(parts);
  const app = new Koa();
  // Koa's own handler would print what the error middleware has answered already.
  app.on('error', (error: Error) => logger.debug({ err: error }, 'connection error'));
  app.use(measure(metrics));
  app.use(requestId());
  app.use(headers(coordinator));
  app.use(compression());
  app.use(errors(logger, (code) => metrics.bounds.requestRefused(code)));
  app.use(oneHost());
  app.use(health(coordinator));
  app.use(knownHost(config));
  app.use(parts.dashboard === null ? page() : dashboard(parts.dashboard));
  app.use(authentication({ ...parts, takesTicket: streamPaths(all) }));
  app.use(rateLimit(() => config().http.rateLimitPerKey, clock));
  app.use(
    routing(all, smallBody(), {
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
