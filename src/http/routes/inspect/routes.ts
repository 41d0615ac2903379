import { nothingInspected } from '../../../coordinator/core/index.ts';
import { presentInspection } from '../../../present/inspection.ts';
import { defineRoute, type Route } from '../../route.ts';
import { inspectionShape } from './shape.ts';

const inspect = defineRoute({
  method: 'GET',
  path: '/api/inspect',
  role: 'admin',
  name: 'inspect',
  tag: 'Figures',
  summary: 'What the actors did recently',
  description:
    'For maintainers: the last events of jobs, workers, providers and the coordinator, when it was started with `--inspect`. No prompt, input, output or message of an error is in it. The topic `inspect` of the live events goes on from there.',

  answers: {
    200: {
      description: 'The last actors and events, or nothing with `enabled` false.',
      shape: inspectionShape,
    },
  },

  handle: (_, { coordinator }) => ({
    json: presentInspection(coordinator.inspector?.read() ?? nothingInspected),
  }),
});

/** /api/inspect: what the actors did lately, when the coordinator was started with --inspect. */
export const inspectRoutes: readonly Route[] = [inspect];
