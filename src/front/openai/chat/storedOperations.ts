import type { DoorOperation } from '../../../http/route.ts';
import { textMap } from '../fields.ts';
import { deletedOf, idParameter, listOf, pageQuery } from '../openapi/parameters.ts';
import { completionShape } from './shape.ts';

/* What the document says of the routes of stored completions. */

/** OpenAI's bounds: 50,000 annotations are kept, see `annotationsMax`, and all of them may be as large. */
export const pairsMax = 16;
export const keyLengthMax = 64;
export const valueLengthMax = 512;

const pathId = { id: idParameter('chatcmpl-019ab1a3c3f07a51a6e6c5b3a2b1c0d9') };
const completionContent = { 'application/json': completionShape.schema };

const metadataBody = {
  type: 'object',
  required: ['metadata'],
  properties: {
    metadata: {
      type: ['object', 'null'],
      maxProperties: pairsMax,
      propertyNames: { maxLength: keyLengthMax },
      additionalProperties: { type: 'string', maxLength: valueLengthMax },
      'x-svc': 'honoured',
    },
  },
  additionalProperties: true,
};

const messageSchema = {
  type: 'object',
  required: ['id', 'role', 'content', 'content_parts', 'name'],
  properties: {
    id: { type: 'string', description: 'The id of the completion, a dash and its place.' },
    role: { type: 'string' },
    content: { description: 'null where the message has parts.' },
    content_parts: { type: ['array', 'null'], items: {} },
    name: { type: ['string', 'null'] },
  },
  additionalProperties: true,
};

export const getChatCompletion: DoorOperation = {
  name: 'getChatCompletion',
  tag: 'Chat',
  summary: 'Read a chat completion',
  description: 'Any that has ended, also without `store`.',
  params: pathId,
  answers: { 200: { description: 'The completion.', content: completionContent } },
  errors: [409, 502, 504],
};

export const updateChatCompletion: DoorOperation = {
  name: 'updateChatCompletion',
  tag: 'Chat',
  summary: 'Replace the metadata of a chat completion',
  description: 'The metadata of its job stays as it is.',
  params: pathId,
  body: { schema: metadataBody },
  answers: { 200: { description: 'The completion.', content: completionContent } },
  errors: [409, 502, 504],
};

export const deleteChatCompletion: DoorOperation = {
  name: 'deleteChatCompletion',
  tag: 'Chat',
  summary: 'Delete a chat completion',
  description: 'It can no longer be read here. Its job and its cost remain.',
  params: pathId,
  answers: {
    200: {
      description: 'It is deleted.',
      content: { 'application/json': deletedOf('chat.completion.deleted') },
    },
  },
  errors: [409, 502, 504],
};

export const listChatCompletionMessages: DoorOperation = {
  name: 'listChatCompletionMessages',
  tag: 'Chat',
  summary: 'List the messages of the request',
  description: 'A page has at most 8 MiB, or a single message.',
  params: pathId,
  query: pageQuery(),
  answers: { 200: { description: 'One page.', content: { 'application/json': listOf(messageSchema) } } },
  errors: [409, 502, 504],
};

export const listChatCompletions: DoorOperation = {
  name: 'listChatCompletions',
  tag: 'Chat',
  summary: 'List stored chat completions',
  description:
    'Those that were asked for with `store: true`, have ended well and are not archived; for a key with the role `client` its own. A page has at most 8 MiB, or a single completion.',
  query: {
    model: {
      description: 'As it was asked for, or as the completion names it.',
      schema: { type: 'string' },
    },
    metadata: {
      description: 'Pairs that the metadata must have: `metadata[team]=a`.',
      style: 'deepObject',
      explode: true,
      schema: { ...textMap, maxProperties: pairsMax },
    },
    ...pageQuery(),
  },
  answers: {
    200: { description: 'One page.', content: { 'application/json': listOf(completionShape.schema) } },
  },
};
