import { batchStatuses } from '../../../domain/states.ts';
import type { DoorOperation } from '../../../http/route.ts';
import { idempotencyKeyHeader } from '../../../http/routes/jobs/schema.ts';
import {
  count,
  integer,
  list,
  literal,
  loosely,
  named,
  nullable,
  number,
  object,
  oneOf,
  record,
  text,
} from '../../../http/shape/shape.ts';
import { bodySchema } from '../fields.ts';
import { idParameter, listOf, pageQuery } from '../openapi/parameters.ts';
import type { WireBatch, WireBatchFacts, WireBatchUsage } from './batch.ts';
import { batchFields } from './fields.ts';

/* What the document says of the routes of batches. */

const time = nullable(integer('Epoch seconds.'));

const usage = object<WireBatchUsage>({
  input_tokens: count(),
  input_tokens_details: object({ cached_tokens: count() }),
  output_tokens: count(),
  output_tokens_details: object({ reasoning_tokens: count() }),
  total_tokens: count(),
});

const facts = object<WireBatchFacts>({
  run: text('The run of its jobs in the native API.'),
  pending: count('Lines that wait, also those that are not in the queue yet.'),
  running: count(),
  cost_usd: number({ minimum: 0 }),
  cost_expected_usd: nullable(number({ minimum: 0 }), 'At its end, from the mean of what has ended.'),
  max_cost_usd: nullable(number({ minimum: 0 })),
  max_failures: nullable(integer({ minimum: 1 })),
  expected_end: nullable(text(), 'ISO 8601, at the rate of the last minute.'),
  paused: nullable(object({ reason: text(), detail: text() }), 'Why none of its lines starts.'),
});

const batchShape = named(
  'Batch',
  object<WireBatch>({
    id: text({ pattern: '^batch_[\\da-f]{32}$' }),
    object: literal('batch'),
    endpoint: text(),
    errors: nullable(
      object({
        object: literal('list'),
        data: list(
          object({
            code: text(),
            message: text(),
            param: nullable(text()),
            line: nullable(integer({ minimum: 1 })),
          }),
        ),
      }),
      'Why its file was refused; at most 100.',
    ),
    input_file_id: text(),
    completion_window: text(),
    status: loosely(oneOf(batchStatuses.filter((status) => status !== 'expiring'))),
    output_file_id: nullable(text()),
    error_file_id: nullable(text()),
    created_at: integer('Epoch seconds.'),
    in_progress_at: time,
    expires_at: integer('Epoch seconds.'),
    finalizing_at: time,
    completed_at: time,
    failed_at: time,
    expired_at: time,
    cancelling_at: time,
    cancelled_at: time,
    request_counts: object({ total: count(), completed: count(), failed: count() }),
    usage: nullable(usage, 'null until it has ended.'),
    metadata: nullable(loosely(record(text()))),
    svc: facts,
  }),
);

const pathId = { id: idParameter('batch_019ab1a3c3f07a51a6e6c5b3a2b1c0d9') };
const batchAnswer = {
  200: { description: 'The batch.', content: { 'application/json': batchShape.schema } },
};
const linesAnswer = {
  200: {
    description: 'One line for each; `X-Incomplete` is `true` while the batch runs.',
    content: { 'application/jsonl': { type: 'string' } },
  },
};

export const createOperation: DoorOperation = {
  name: 'createBatch',
  tag: 'Batches',
  summary: 'Run the requests of a file',
  description: 'The file is checked after the response: one that is wrong makes a batch that is `failed`.',
  headers: [idempotencyKeyHeader],
  body: { schema: bodySchema(batchFields, ['endpoint']) },
  answers: batchAnswer,
  errors: [409],
};

export const listOperation: DoorOperation = {
  name: 'listBatches',
  tag: 'Batches',
  summary: 'List batches',
  description: 'Newest first; for a key with the role `client` its own.',
  query: pageQuery({ order: 'desc' }),
  answers: { 200: { description: 'One page.', content: { 'application/json': listOf(batchShape.schema) } } },
};

export const getOperation: DoorOperation = {
  name: 'getBatch',
  tag: 'Batches',
  summary: 'Read a batch: progress, cost, its files',
  params: pathId,
  answers: batchAnswer,
};

export const cancelOperation: DoorOperation = {
  name: 'cancelBatch',
  tag: 'Batches',
  summary: 'Cancel a batch',
  description: 'What has ended by then is in its files. Cancelling it again changes nothing.',
  params: pathId,
  answers: batchAnswer,
  errors: [409],
};

export const retryOperation: DoorOperation = {
  name: 'retryBatch',
  tag: 'Batches',
  summary: 'Send the lines that have no answer again, as a new batch',
  description: 'Not in OpenAI’s API.',
  params: pathId,
  answers: batchAnswer,
  errors: [409],
};

export const outputOperation: DoorOperation = {
  name: 'getBatchOutput',
  tag: 'Batches',
  summary: 'The lines that were answered so far',
  description: 'In the order of the input file. Not in OpenAI’s API.',
  params: pathId,
  answers: linesAnswer,
};

export const errorsOperation: DoorOperation = {
  ...outputOperation,
  name: 'getBatchErrors',
  summary: 'The lines that failed so far',
};
