import { jsonBody } from '../../middleware/jsonBody.ts';
import { type Body, defineRoute } from '../../route.ts';
import { namedSchema } from '../../shape/fromYup.ts';
import type { JsonSchema } from '../../shape/shape.ts';
import { bulkSchema, type Choice, changeMany, parseBulk } from './bulk.ts';
import { bulkResultShape } from './shape.ts';

function bulkBody(examples: JsonSchema): Body<Choice> {
  return {
    content: { 'application/json': { schema: namedSchema('Bulk', bulkSchema), examples } },
    reader: ({ uploads, config }) => jsonBody(uploads, () => config().http.maxBodyBytes),
    parse: parseBulk,
  };
}

export const cancelJobs = defineRoute({
  method: 'POST',
  path: '/api/jobs/cancel',
  role: 'client',
  name: 'cancelJobs',
  tag: 'Jobs',
  summary: 'Cancel many jobs',
  description:
    'Those that are named, or all pending and running ones that a list with this filter shows. One request changes at most 1,000 jobs, the newest first; while `has_more` is true, repeat the same request. A job whose state has changed in the meantime is listed in `refused` and does not affect the others.',

  body: bulkBody({
    named: { value: { ids: ['019aa5a2-7d80-7c3e-9b1f-3f2f6d0e5a11'] } },
    all: { value: { filter: { tag: 'nightly', status: ['pending', 'running'] } } },
  }),
  answers: {
    200: { description: 'The result.', shape: bulkResultShape },
  },
  problems: ['StoreUnavailable'],

  handle: async ({ body, doer }, { coordinator }) => ({
    json: await changeMany(coordinator, 'cancel', body, doer()),
  }),
});

export const retryJobs = defineRoute({
  method: 'POST',
  path: '/api/jobs/retry',
  role: 'client',
  name: 'retryJobs',
  tag: 'Jobs',
  summary: 'Put many failed or stuck jobs back into the queue',
  description:
    'Those that are named, or all failed and stuck ones that a list with this filter shows. One request changes at most 1,000 jobs, the newest first; while `has_more` is true, repeat the same request. A job whose state has changed in the meantime is listed in `refused` and does not affect the others.',

  body: bulkBody({
    named: { value: { ids: ['019aa5a2-7d80-7c3e-9b1f-3f2f6d0e5a11'] } },
    all: { value: { filter: { provider: 'openai', created_after: '2026-11-21T09:00:00Z' } } },
  }),
  answers: {
    200: { description: 'The result.', shape: bulkResultShape },
  },
  problems: ['StoreUnavailable'],

  handle: async ({ body, doer }, { coordinator }) => ({
    json: await changeMany(coordinator, 'retry', body, doer()),
  }),
});
