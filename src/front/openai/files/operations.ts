import type { DoorOperation } from '../../../http/route.ts';
import { count, integer, literal, named, object, optional, text } from '../../../http/shape/shape.ts';
import { deletedOf, idParameter, listOf, pageQuery } from '../openapi/parameters.ts';
import type { WireFile } from './wireFile.ts';

/* What the document says of the routes of files. */

const fileShape = named(
  'File',
  object<WireFile>({
    id: text({ pattern: '^file-[\\da-f]{32}$' }),
    object: literal('file'),
    bytes: count(),
    created_at: integer('Epoch seconds.'),
    expires_at: optional(integer('Epoch seconds. Absent for one that is kept until somebody deletes it.')),
    filename: text(),
    purpose: text(),
    status: literal('processed'),
    status_details: { schema: { type: 'null' } },
  }),
);

const fileContent = { 'application/json': fileShape.schema };
const pathId = { id: idParameter('file-019ab1a3c3f07a51a6e6c5b3a2b1c0d9') };

const form = {
  type: 'object',
  required: ['file', 'purpose'],
  properties: {
    file: {
      type: 'string',
      contentMediaType: 'application/octet-stream',
      description: 'One file with a name.',
      'x-svc': 'honoured',
    },
    purpose: {
      type: 'string',
      description: '`batch` wants a name that ends in `.jsonl`.',
      'x-svc': 'honoured',
    },
    'expires_after[anchor]': { const: 'created_at', 'x-svc': 'honoured' },
    'expires_after[seconds]': { type: 'integer', 'x-svc': 'honoured' },
  },
  additionalProperties: true,
};

export const uploadOperation: DoorOperation = {
  name: 'uploadFile',
  tag: 'Files',
  summary: 'Upload a file',
  description: 'It is stored as it comes, and on disk when the response comes.',
  body: { type: 'multipart/form-data', schema: form },
  answers: { 200: { description: 'The file.', content: fileContent } },
};

export const listOperation: DoorOperation = {
  name: 'listFiles',
  tag: 'Files',
  summary: 'List files',
  description: 'For a key with the role `client` its own.',
  query: {
    purpose: { description: 'Only files with this purpose.', schema: { type: 'string' } },
    ...pageQuery({ limitMax: 10_000, limit: 10_000, order: 'desc' }),
  },
  answers: {
    200: { description: 'One page.', content: { 'application/json': listOf(fileShape.schema) } },
  },
};

export const getOperation: DoorOperation = {
  name: 'getFile',
  tag: 'Files',
  summary: 'Read what is known of a file',
  params: pathId,
  answers: { 200: { description: 'The file without its contents.', content: fileContent } },
};

export const contentOperation: DoorOperation = {
  name: 'getFileContent',
  tag: 'Files',
  summary: 'Read the contents of a file',
  params: pathId,
  answers: { 200: { description: 'Its bytes.', content: { 'application/octet-stream': {} } } },
};

export const deleteOperation: DoorOperation = {
  name: 'deleteFile',
  tag: 'Files',
  summary: 'Delete a file',
  params: pathId,
  answers: { 200: { description: 'It is deleted.', content: { 'application/json': deletedOf('file') } } },
  errors: [409],
};
