import type { Coordinator } from '../../../coordinator/coordinator.ts';
import type { JobRequest } from '../../../domain/job.ts';
import { statusOf } from '../../../domain/states.ts';
import type { WireBatch } from '../../../domain/wire/job.ts';
import { presentJob } from '../../../present/job.ts';
import { type BatchBody, batchBody } from '../../middleware/batchBody.ts';
import { jsonBody } from '../../middleware/jsonBody.ts';
import { locationHeader } from '../../openapi/headers.ts';
import type { HttpParts } from '../../parts.ts';
import { type Body, defineRoute } from '../../route.ts';
import type { JsonSchema } from '../../shape/shape.ts';
import { parseBatch } from './batch.ts';
import { pendingJobExample } from './examples.ts';
import { batchMax } from './limits.ts';
import { waitParameters } from './parameters.ts';
import { dispatchShape, idempotencyKeyHeader, parseDispatch, parseIdempotencyKey } from './schema.ts';
import { batchShape, jobShape } from './shape.ts';

/** The body of one job. */
export function dispatchBody(examples: JsonSchema): Body<JobRequest> {
  return {
    content: { 'application/json': { schema: dispatchShape.schema, examples } },
    reader: ({ uploads, config }) => jsonBody(uploads, () => config().http.maxBodyBytes),
    parse: (body, { config }) => parseDispatch(body, config()),
  };
}

const jobLocation = locationHeader('job', '/api/jobs/');

export const dispatchJob = defineRoute({
  method: 'POST',
  path: '/api/jobs',
  role: 'client',
  name: 'dispatchJob',
  tag: 'Jobs',
  summary: 'Dispatch a job',
  description:
    'The job is durable when you get the response. With `Idempotency-Key` you can send the same request again after a broken connection without creating a second job. With `wait` the response comes when the job has ended or the time has run out; `status` tells which.',

  query: waitParameters,
  headers: [idempotencyKeyHeader],
  body: dispatchBody({
    prompt: {
      summary: 'A prompt with its input',
      value: {
        prompt: 'Summarise in one sentence',
        input: 'The quick brown fox …',
        provider: 'openai',
        model: 'gpt-5-mini',
        priority: 'high',
        tier: 'gold',
        tags: ['nightly', 'private'],
      },
    },
    chat: {
      summary: 'A chat whose provider the routing chooses',
      value: {
        messages: [
          { role: 'system', content: 'Be brief' },
          { role: 'user', content: 'What is a lease?' },
        ],
        params: { temperature: 0, max_tokens: 200 },
        timeout_seconds: 120,
        metadata: { run: '7' },
      },
    },
  }),
  answers: {
    200: {
      description: 'The request was sent before with this `Idempotency-Key`; this is its job as it is now.',
      shape: jobShape,
      headers: jobLocation,
    },
    201: {
      description: 'A new job.',
      shape: jobShape,
      examples: { pending: pendingJobExample },
      headers: jobLocation,
    },
  },
  problems: ['IdempotencyConflict', 'QueueFull', 'NotDispatching'],

  handle: async ({ body, query: { wait }, headers, principal, whenGone, bodyTaken }, { coordinator }) => {
    const key = parseIdempotencyKey(headers, principal);
    const { view, isNew } =
      key === null
        ? { view: await coordinator.dispatch(body, principal), isNew: true }
        : await coordinator.dispatchOnce(key, body, principal);
    const { id } = view.job;
    const turn = bodyTaken();
    if (turn !== null) await turn;
    const shown = wait === 0 ? view : await coordinator.jobAtEnd(id, wait * 1000, whenGone());
    return {
      status: isNew ? 201 : 200,
      headers: { Location: `/api/jobs/${id}` },
      json: presentJob(shown),
    };
  },
});

const batch: Body<ReturnType<Coordinator['plan']>[], HttpParts> = {
  content: {
    'application/json': {
      schema: {
        type: 'object',
        required: ['jobs'],
        additionalProperties: false,
        properties: {
          jobs: { type: 'array', minItems: 1, maxItems: batchMax, items: dispatchShape.schema },
        },
      },
      examples: {
        two: {
          value: {
            jobs: [
              { prompt: 'Summarise', input: 'First text', provider: 'echo' },
              { prompt: 'Summarise', input: 'Second text', provider: 'echo' },
            ],
          },
        },
      },
    },
    'application/x-ndjson': {
      schema: { description: 'A job a line.', type: 'string' },
      examples: {
        two: {
          value:
            '{"prompt": "Summarise", "input": "First text", "provider": "echo"}\n{"prompt": "Summarise", "input": "Second text", "provider": "echo"}\n',
        },
      },
    },
  },
  reader: ({ uploads, config }) => batchBody(uploads, () => config().http.maxBatchBytes),
  parse: (body, { coordinator, config, uploads }) => {
    const now = config();
    return parseBatch(body as BatchBody, now, uploads.turns, (job) =>
      coordinator.plan(parseDispatch(job, now)),
    );
  },
};

export const dispatchBatch = defineRoute({
  method: 'POST',
  path: '/api/jobs/batch',
  role: 'client',
  name: 'dispatchBatch',
  tag: 'Jobs',
  summary: 'Dispatch up to 10,000 jobs at once',
  description:
    'All or nothing, in one commit: if one job has a fault, all are rejected, and `errors` gives the place of each fault, `jobs[7].priority`, at most 100 of them. In NDJSON, each line is one job. With `Idempotency-Key` you can send the same jobs again after a broken connection without creating them twice.',

  headers: [idempotencyKeyHeader],
  body: batch,
  answers: {
    200: {
      description:
        'The jobs were sent before with this `Idempotency-Key`; these are the first ones, as they are now.',
      shape: batchShape,
    },
    201: { description: 'The new jobs, in the order they were sent.', shape: batchShape },
  },
  problems: ['IdempotencyConflict', 'BatchRefused', 'NotDispatching'],

  handle: async ({ body, headers, principal }, { coordinator }) => {
    const key = parseIdempotencyKey(headers, principal);
    const { jobs, isNew } =
      key === null
        ? { jobs: await coordinator.dispatchAll(body, principal), isNew: true }
        : await coordinator.dispatchAllOnce(key, body, principal);
    const taken: WireBatch = {
      jobs: jobs.map(({ id, state }) => ({ id, status: statusOf(state) })),
      count: jobs.length,
    };
    return { status: isNew ? 201 : 200, json: taken };
  },
});
