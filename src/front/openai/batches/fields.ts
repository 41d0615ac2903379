import { batchLinesMax } from '../../../domain/batch.ts';
import { webhookUrlMax } from '../../../domain/webhook.ts';
import { type BodyFields, textMap } from '../fields.ts';
import { endpointNames } from './endpoint.ts';

/** OpenAI's bounds. */
export const metadataMax = 16;
export const metadataKeyMax = 64;
export const metadataValueMax = 512;
export const keptSecondsMin = 3_600;
export const keptSecondsMax = 2_592_000;
/** Dollars: as nano-dollars they are still exact. */
export const maxCostMax = 1_000_000;
/** A number and a unit. */
export const windowPattern = /^(\d{1,7})([smhd])$/;

/** What becomes of each field of POST /v1/batches; others are ignored. */
export const batchFields: BodyFields = {
  input_file_id: {
    treatment: 'honoured',
    schema: { type: 'string', description: 'A file of the purpose `batch`; or `requests` in its place.' },
  },
  requests: {
    treatment: 'honoured',
    schema: {
      type: 'array',
      minItems: 1,
      maxItems: batchLinesMax,
      items: {
        type: 'object',
        required: ['custom_id', 'body'],
        properties: { custom_id: { type: 'string' }, body: { type: 'object', additionalProperties: true } },
        additionalProperties: true,
      },
      description: 'The lines in the request itself. Not a field of OpenAI’s.',
    },
  },
  endpoint: { treatment: 'honoured', schema: { type: 'string', enum: endpointNames } },
  completion_window: {
    treatment: 'honoured',
    schema: {
      type: 'string',
      pattern: windowPattern.source,
      default: '24h',
      description: 'What has not started by then does not start any more: `60s` to `30d`.',
    },
  },
  metadata: {
    treatment: 'honoured',
    schema: {
      ...textMap,
      maxProperties: metadataMax,
      propertyNames: { maxLength: metadataKeyMax },
      additionalProperties: { type: 'string', maxLength: metadataValueMax },
    },
  },
  output_expires_after: {
    treatment: 'honoured',
    schema: {
      type: 'object',
      required: ['seconds'],
      properties: {
        anchor: { const: 'created_at' },
        seconds: { type: 'integer', minimum: keptSecondsMin, maximum: keptSecondsMax },
      },
      additionalProperties: true,
      description: 'How long its output files are kept; 30 days without it.',
    },
  },
  max_cost_usd: {
    treatment: 'honoured',
    schema: {
      type: 'number',
      minimum: 0,
      maximum: maxCostMax,
      description: 'The batch pauses before it spends more. Not a field of OpenAI’s.',
    },
  },
  max_failures: {
    treatment: 'honoured',
    schema: {
      type: 'integer',
      minimum: 1,
      description: 'The batch pauses when this many lines have failed. Not a field of OpenAI’s.',
    },
  },
  webhook: {
    treatment: 'honoured',
    schema: {
      type: 'string',
      minLength: 1,
      maxLength: webhookUrlMax,
      description:
        'The webhook that is notified when the batch has ended: its name or id, or a URL where `webhooks.allowed_hosts` has its host. Not a field of OpenAI’s.',
    },
  },
};
