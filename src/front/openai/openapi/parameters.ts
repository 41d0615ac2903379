import { idempotencyKeyHeader } from '../../../http/routes/jobs/schema.ts';
import type { JsonSchema } from '../../../http/shape/shape.ts';

const header = (name: string, description: string, schema: object) => ({
  name,
  in: 'header',
  description,
  schema,
});

/** Headers of requests that make jobs: what OpenAI has no field for. */
export const jobHeaders = [
  idempotencyKeyHeader,
  header('X-Svc-Priority', 'A label of `jobs.priorities`.', { type: 'string' }),
  header('X-Svc-Tags', 'Tags of the job, separated by commas.', { type: 'string' }),
  header('X-Svc-Timeout-Seconds', 'How long an attempt may run; 0 means no limit.', {
    type: 'number',
    minimum: 0,
  }),
  header('X-Svc-On-Disconnect', 'What happens to the job when the client hangs up.', {
    type: 'string',
    enum: ['cancel', 'continue'],
    default: 'cancel',
  }),
];

/** How the document describes what `readPage` reads. */
export function pageQuery({ limitMax = 100, limit = 20, order = 'asc' } = {}): Record<string, JsonSchema> {
  return {
    limit: {
      description: 'Maximum number of items.',
      schema: { type: 'integer', minimum: 1, maximum: limitMax, default: limit },
    },
    order: {
      description: 'By time: `asc` is oldest first.',
      schema: { type: 'string', enum: ['asc', 'desc'], default: order },
    },
    after: {
      description: 'The id of the last item of the page before.',
      schema: { type: 'string' },
    },
  };
}

/** The id in a path. */
export function idParameter(example: string): JsonSchema {
  return { schema: { type: 'string' }, example };
}

/** The schema of a list. */
export function listOf(items: JsonSchema): JsonSchema {
  return {
    type: 'object',
    required: ['object', 'data', 'first_id', 'last_id', 'has_more'],
    properties: {
      object: { const: 'list' },
      data: { type: 'array', items },
      first_id: { type: ['string', 'null'] },
      last_id: { type: ['string', 'null'] },
      has_more: { type: 'boolean' },
    },
    additionalProperties: false,
  };
}

/** The schema of what a DELETE answers. */
export function deletedOf(object: string): JsonSchema {
  return {
    type: 'object',
    required: ['id', 'object', 'deleted'],
    properties: { id: { type: 'string' }, object: { const: object }, deleted: { const: true } },
    additionalProperties: false,
  };
}
