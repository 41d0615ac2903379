import type { DoorOperation } from '../../../http/route.ts';
import { type JsonSchema, reference } from '../../../http/shape/shape.ts';
import { bodySchema, textMap } from '../fields.ts';
import { deletedOf, idParameter, jobHeaders, listOf, pageQuery } from '../openapi/parameters.ts';
import { responseFields } from './fields.ts';

/* What the document says of the routes of responses. */

const pathId = { id: idParameter('resp_019ab1a3c3f07a51a6e6c5b3a2b1c0d9') };

const tokens = { type: 'integer', minimum: 0 };
const nullOr = (type: string): JsonSchema => ({ type: [type, 'null'] });

const itemSchema: JsonSchema = {
  type: 'object',
  required: ['id', 'type', 'status'],
  properties: {
    id: { type: 'string' },
    type: { enum: ['message', 'function_call', 'function_call_output', 'reasoning'] },
    status: { enum: ['in_progress', 'completed', 'incomplete'] },
  },
  additionalProperties: true,
};

const usageSchema: JsonSchema = {
  type: ['object', 'null'],
  description: 'null until it has ended. `unknown`: the provider did not report it.',
  required: ['input_tokens', 'output_tokens', 'total_tokens'],
  properties: { input_tokens: tokens, output_tokens: tokens, total_tokens: tokens, unknown: { const: true } },
  additionalProperties: true,
};

const responseProperties: Record<string, JsonSchema> = {
  id: { type: 'string', pattern: '^resp_[\\da-f]{32}$', description: 'Leads to its job.' },
  object: { const: 'response' },
  created_at: { type: 'integer', description: 'Epoch seconds.' },
  completed_at: nullOr('integer'),
  status: { enum: ['queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled'] },
  background: { type: 'boolean' },
  error: {
    type: ['object', 'null'],
    required: ['code', 'message'],
    properties: { code: { type: 'string' }, message: { type: 'string' } },
  },
  incomplete_details: nullOr('object'),
  model: {
    type: 'string',
    description: 'As it was asked for; where the job ran, `provider/model`, at the end.',
  },
  output: { type: 'array', items: itemSchema },
  usage: usageSchema,
  service_tier: { type: 'string' },
  metadata: textMap,
  instructions: nullOr('string'),
  previous_response_id: nullOr('string'),
  tools: { type: 'array', items: { type: 'object' } },
  tool_choice: {},
  text: { type: 'object' },
};

const responseSchema = reference('schemas', 'Response', {
  type: 'object',
  required: Object.keys(responseProperties),
  properties: responseProperties,
  additionalProperties: true,
});

const responseContent = { 'application/json': responseSchema };

/** Of the events of a stream. */
const eventsSchema: JsonSchema = {
  type: 'string',
  description:
    'Server-sent events as OpenAI has them, each with a name, the same `type` in its data, and a `sequence_number` from 0. Comments say why a job waits.',
};

const streamableContent = { ...responseContent, 'text/event-stream': eventsSchema };

export const createOperation: DoorOperation = {
  name: 'createResponse',
  tag: 'Responses',
  summary: 'Ask for a response',
  description:
    'The job is durable before the first byte. It is answered at once with `background`; otherwise when the job has ended, or with 504 `still_running` after `front.sync_max_seconds`.',
  headers: jobHeaders,
  body: { schema: reference('schemas', 'ResponseRequest', bodySchema(responseFields, ['model'])) },
  answers: {
    200: { description: 'The response, or with `stream` its events.', content: streamableContent },
  },
  errors: [409, 502, 504],
};

export const getOperation: DoorOperation = {
  name: 'getResponse',
  tag: 'Responses',
  summary: 'Read a response',
  description: 'As it is now, also when it has failed.',
  params: pathId,
  query: {
    stream: {
      description: '`true`: its events. Only of one that was streamed in the background.',
      schema: { type: 'boolean' },
    },
    starting_after: {
      description: 'Events after this number. Until an hour after the end of the job.',
      schema: { type: 'integer', minimum: 0 },
    },
  },
  answers: {
    200: { description: 'The response, or with `stream` its events.', content: streamableContent },
  },
};

export const deleteOperation: DoorOperation = {
  name: 'deleteResponse',
  tag: 'Responses',
  summary: 'Delete a response',
  description: 'It can no longer be read here; one that runs is cancelled. Its job and its cost remain.',
  params: pathId,
  answers: {
    200: { description: 'It is deleted.', content: { 'application/json': deletedOf('response') } },
  },
};

export const cancelOperation: DoorOperation = {
  name: 'cancelResponse',
  tag: 'Responses',
  summary: 'Cancel a response in the background',
  description: 'One that has ended is returned as it is.',
  params: pathId,
  answers: { 200: { description: 'The response at its end.', content: responseContent } },
};

export const listInputOperation: DoorOperation = {
  name: 'listInputItems',
  tag: 'Responses',
  summary: 'List the input of a response',
  description: 'What the model was given, without instructions. A page has at most 8 MiB, or a single item.',
  params: pathId,
  query: pageQuery({ order: 'desc' }),
  answers: { 200: { description: 'One page.', content: { 'application/json': listOf(itemSchema) } } },
};
