import { defineRoute, type Route } from '../../route.ts';
import { dispatchBody } from '../jobs/dispatch.ts';
import { presentExplanation } from './present.ts';
import { routeExplanationShape } from './shape.ts';

const explainRoute = defineRoute({
  method: 'POST',
  path: '/api/route/explain',
  role: 'operator',
  name: 'explainRoute',
  tag: 'Routing',
  summary: 'Explain where a job would run, without creating it',
  description: 'The body is that of a dispatch. No job is created.',

  body: dispatchBody({ tagged: { value: { prompt: 'x', tags: ['private'] } } }),
  answers: {
    200: {
      description: 'What the routing would do now.',
      shape: routeExplanationShape,
      examples: {
        fallback: {
          value: {
            strategy: 'fallback',
            why: 'the strategy fallback with routing.chain',
            rule: null,
            chosen: { provider: 'second', model: null },
            members: [
              {
                provider: 'first',
                model: null,
                worker: null,
                worker_tag: null,
                state: 'skipped',
                outcome: 'skipped',
                why: 'no connected worker fits',
                until: null,
              },
              {
                provider: 'second',
                model: null,
                worker: null,
                worker_tag: null,
                state: 'ready',
                outcome: 'chosen',
                why: 'first of the chain that can take it',
                until: null,
              },
            ],
          },
        },
      },
    },
  },

  handle: ({ body }, { coordinator }) => ({ json: presentExplanation(coordinator.explainRoute(body)) }),
});

/** /api/route/explain: what would become of a job that is not sent. */
export const routingRoutes: readonly Route[] = [explainRoute];
