import type { DoorOperation } from '../../../http/route.ts';
import { reference } from '../../../http/shape/shape.ts';
import { bodySchema } from '../fields.ts';
import { jobHeaders } from '../openapi/parameters.ts';
import { chatFields } from './fields.ts';
import { chunkSchema, completionShape } from './shape.ts';

/** What the document says of POST /v1/chat/completions. */
export const createOperation: DoorOperation = {
  name: 'createChatCompletion',
  tag: 'Chat',
  summary: 'Ask for a chat completion',
  description:
    'The job is durable before the first byte of the response. Without `stream` the response comes when the job has ended, or is 504 `still_running` after `front.sync_max_seconds`.',
  headers: jobHeaders,
  body: {
    schema: reference('schemas', 'ChatCompletionRequest', bodySchema(chatFields, ['model', 'messages'])),
  },
  answers: {
    200: {
      description: 'The completion, or with `stream` its pieces.',
      content: { 'application/json': completionShape.schema, 'text/event-stream': chunkSchema },
    },
  },
  errors: [409, 502, 504],
};
