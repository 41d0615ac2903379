import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import Koa from 'koa';
import { FailedLogins } from '../../src/auth/failedLogins.ts';
import { KeyRing } from '../../src/auth/keyRing.ts';
import { Tickets } from '../../src/auth/tickets.ts';
import { loadConfig } from '../../src/config/load.ts';
import { CoordinatorError } from '../../src/domain/errors.ts';
import type { JobRequest } from '../../src/domain/job.ts';
import { authentication } from '../../src/http/middleware/authentication.ts';
import { errors } from '../../src/http/middleware/errors.ts';
import { requestId } from '../../src/http/middleware/requestId.ts';
import { type BodyParts, defineRoute } from '../../src/http/route.ts';
import { dispatchBody } from '../../src/http/routes/jobs/dispatch.ts';
import { waitParameters } from '../../src/http/routes/jobs/parameters.ts';
import { jobShape } from '../../src/http/routes/jobs/shape.ts';
import { routing } from '../../src/http/routing.ts';
import { Uploads } from '../../src/http/uploads.ts';
import { AnswerMemory } from '../../src/lib/answerMemory.ts';
import { noFigures } from '../../src/lib/boundFigures.ts';
import { Connections } from '../../src/lib/connections.ts';
import { heapLimitBytes } from '../../src/lib/heapWatch.ts';
import { createLogger } from '../../src/lib/log.ts';
import { systemClock, systemRandom } from '../../src/lib/systemClock.ts';
import { presentJob } from '../../src/present/job.ts';
import { pendingJob } from './jobs.ts';
import { serveSamples } from './samples.ts';

/** As long as the coordinator's own, so that both answers have the same size. */
const detail = 'No connected worker serves the provider echo; start one with: svc worker --provider echo';
const view = (id: string, request: JobRequest) => ({
  job: pendingJob(id, 1, request),
  waiting: { reason: 'no_worker' as const, detail, until: null, position: null },
  heartbeatAt: null,
});

/** Keeps a job under an id; the answer leaves when it resolves. */
export type Keep = (id: string, request: JobRequest) => Promise<unknown> | undefined;

/**
 * The coordinator's own middleware (request id, errors, keys, routes, body, validation, presenter) around a handler
 * that lets `keep` keep the job; listens on a free port and answers the bench's orders.
 */
export async function serveApp(keep: Keep): Promise<void> {
  const { config, apiKey } = await loadConfig({ env: process.env, cwd: process.cwd() });
  const logger = createLogger(config.log.level);
  const storage = { save: async () => {}, remove: async () => {} };
  const random = systemRandom();
  const keys = new KeyRing({ clock: systemClock, random, keys: [], storage, environmentKey: apiKey });
  const tickets = new Tickets({ clock: systemClock, random });
  const failedLogins = new FailedLogins({ perMinute: () => 0, onRefused: () => {} });
  const uploads = new Uploads({
    http: () => config.http,
    clock: systemClock,
    figures: noFigures,
    heapBytes: heapLimitBytes(),
  });
  const app = new Koa();
  app.use(requestId());
  app.use(errors(logger));
  const answers = new AnswerMemory({
    clock: systemClock,
    bytes: () => config.http.answerMemoryBytes,
    share: () => config.http.shares.bytesOut,
    figures: noFigures,
  });
  const connections = new Connections({
    clock: systemClock,
    max: () => config.http.maxConnections,
    share: () => config.http.shares.connections,
    unreadMs: () => config.http.unreadTimeoutSeconds * 1000,
    figures: noFigures,
  });
  const takesTicket = () => false;
  app.use(
    authentication({
      keys,
      tickets,
      failedLogins,
      connections,
      config: () => config,
      takesTicket,
      doors: [],
    }),
  );

  app.use(
    routing(
      [
        defineRoute({
          method: 'POST',
          path: '/api/jobs',
          role: 'client',
          name: 'dispatchJob',
          tag: 'Jobs',
          summary: 'Dispatch a job',
          query: waitParameters,
          body: dispatchBody({}),
          answers: { 201: { description: 'A new job.', shape: jobShape } },
          handle: ({ body: request }, _: BodyParts) => {
            const id = randomUUID();
            const kept = keep(id, request);
            const headers = { Location: `/api/jobs/${id}` };
            const answer = () => ({ status: 201, headers, json: presentJob(view(id, request)) });
            // Nothing to wait for costs the limit no turn of the microtask queue.
            return kept === undefined ? answer() : kept.then(answer);
          },
        }),
      ],
      { uploads, config: () => config },
      { answers, trustedProxies: () => 0, onRefused: async () => {} },
    ),
  );
  app.use((ctx) => {
    throw new CoordinatorError('not_found', `There is nothing at ${ctx.path}`);
  });
  const server = createServer(connections.inTurn(app.callback()));
  connections.watch(server);
  server.listen(0, '127.0.0.1', () => {
    const { port } = server.address() as AddressInfo;
    serveSamples(`http://127.0.0.1:${port}`);
  });
}
