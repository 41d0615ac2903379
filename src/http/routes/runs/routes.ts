import type { PlannedLine } from '../../../coordinator/runs/index.ts';
import { runStatuses } from '../../../domain/states.ts';
import { presentRun } from '../../../present/run.ts';
import { smallBody } from '../../body.ts';
import { type BatchBody, batchBody } from '../../middleware/batchBody.ts';
import { locationHeader } from '../../openapi/headers.ts';
import type { HttpParts } from '../../parts.ts';
import { pageParameters, word, words } from '../../query.ts';
import { type Body, defineRoute, type Route } from '../../route.ts';
import { namedSchema } from '../../shape/fromYup.ts';
import { reference } from '../../shape/shape.ts';
import { parseBatch } from '../jobs/batch.ts';
import { batchMax } from '../jobs/limits.ts';
import { allResults, type ResultFormatName, resultFormats, resultsOf } from './results.ts';
import {
  type Line,
  limitsOf,
  lineOf,
  lineSchema,
  linesSchema,
  resumeSchema,
  retrySchema,
  runRequestOf,
  runSchema,
} from './schema.ts';
import {
  runJobsShape,
  runListShape,
  runResultShape,
  runRetryShape,
  runShape,
  runStatusShape,
} from './shape.ts';

const runName = reference('parameters', 'RunName', {
  name: 'name',
  in: 'path',
  required: true,
  description: "The run's name, or its id.",
  schema: { type: 'string' },
  example: 'review-nov',
});

const createRun = defineRoute({
  method: 'POST',
  path: '/api/runs',
  role: 'client',
  name: 'createRun',
  tag: 'Runs',
  summary: 'Make a run, or find it',
  description:
    'If there is a run with this name, it is the response, and nothing of it changes. A run needs no end: it is completed whenever all of its jobs have ended.',

  body: smallBody(runSchema, {
    examples: {
      budget: {
        value: {
          name: 'review-nov',
          max_cost_usd: 5,
          max_failures: 50,
          defaults: { provider: 'openai', model: 'gpt-5-mini', params: { temperature: 0 } },
        },
      },
    },
  }),
  answers: {
    200: {
      description: 'There is a run with this name.',
      shape: runShape,
      headers: locationHeader('run', '/api/runs/'),
    },
    201: { description: 'A new run.', shape: runShape, headers: locationHeader('run', '/api/runs/') },
  },
  problems: ['StoreUnavailable'],

  handle: async ({ body, principal }, { coordinator, config, clock }) => {
    const request = runRequestOf(body, config(), clock.now());
    const { view, isNew } = await coordinator.runs.create(request, principal);
    return {
      status: isNew ? 201 : 200,
      headers: { Location: `/api/runs/${view.run.name}` },
      json: presentRun(view, clock.now()),
    };
  },
});

const listRuns = defineRoute({
  method: 'GET',
  path: '/api/runs',
  role: 'viewer',
  name: 'listRuns',
  tag: 'Runs',
  summary: 'List runs',
  description:
    'Newest first. 1,000 runs are kept; beyond that a new one makes SVC forget an old one that has ended, of the key that has most runs. Its jobs remain.',

  query: {
    status: words(runStatuses, { description: 'One or more, separated by commas.' }, runStatusShape.schema),
    ...pageParameters,
  },
  answers: { 200: { description: 'One page of runs.', shape: runListShape } },

  handle: ({ query: { status, limit, offset } }, { coordinator, clock }) => {
    const { runs, total } = coordinator.runs.list(status, limit, offset);
    return { json: { runs: runs.map((view) => presentRun(view, clock.now())), total, limit, offset } };
  },
});

const getRun = defineRoute({
  method: 'GET',
  path: '/api/runs/:name',
  role: 'viewer',
  name: 'getRun',
  tag: 'Runs',
  summary: 'Read a run: progress, cost, failures',

  params: { name: runName },
  answers: { 200: { description: 'The run.', shape: runShape } },
  problems: ['RunNotFound'],

  handle: ({ params: { name } }, { coordinator, clock }) => ({
    json: presentRun(coordinator.runs.get(name), clock.now()),
  }),
});

/** The lines of a body, for the run whose defaults they take. */
type LinesOf = (run: string) => Promise<PlannedLine[]>;

const lines: Body<LinesOf, HttpParts> = {
  content: {
    'application/json': {
      schema: {
        type: 'object',
        required: ['jobs'],
        additionalProperties: false,
        properties: {
          jobs: {
            type: 'array',
            minItems: 1,
            maxItems: batchMax,
            items: namedSchema('RunLineJob', lineSchema),
          },
        },
      },
      examples: {
        one: { value: { jobs: [{ line_id: 'doc-1', prompt: 'Summarise', input: 'First text' }] } },
      },
    },
    'application/x-ndjson': {
      schema: { description: 'A job a line.', type: 'string' },
      examples: {
        two: {
          value:
            '{"line_id": "doc-1", "prompt": "Summarise", "input": "First text"}\n{"line_id": "doc-2", "prompt": "Summarise", "input": "Second text"}\n',
        },
      },
    },
  },
  reader: ({ uploads, config }) => batchBody(uploads, () => config().http.maxBatchBytes),
  // Which run it is, and so what its defaults are, only the handler knows.
  parse:
    (body, { coordinator, config, uploads }) =>
    (name: string) => {
      const now = config();
      const { defaults } = coordinator.runs.get(name).run;
      const take = (job: Parameters<typeof lineOf>[0]): PlannedLine => planned(lineOf(job, defaults, now));
      const planned = ({ lineId, request }: Line): PlannedLine => ({
        lineId,
        planned: coordinator.plan(request),
      });
      return parseBatch(body as BatchBody, now, uploads.turns, take);
    },
};

const addRunJobs = defineRoute({
  method: 'POST',
  path: '/api/runs/:name/jobs',
  role: 'client',
  name: 'addRunJobs',
  tag: 'Runs',
  summary: 'Send up to 10,000 lines of a run',
  description:
    'Each line is a job with a `line_id`. A line that the run has already is not sent twice, so that you can send the same lines again after a broken connection, or a whole file after it has grown. All or nothing, in one commit.',

  params: { name: runName },
  body: lines,
  answers: { 200: { description: 'How many were new.', shape: runJobsShape } },
  problems: ['RunNotFound', 'RunRefuses', 'BatchRefused', 'NotDispatching'],

  handle: async ({ params: { name }, body, principal }, { coordinator }) => {
    return { json: await coordinator.runs.add(name, await body(name), principal) };
  },
});

const results = {
  type: 'application/x-ndjson',
  shape: runResultShape,
} as const;

const getRunResults = defineRoute({
  method: 'GET',
  path: '/api/runs/:name/results',
  role: 'viewer',
  name: 'getRunResults',
  tag: 'Runs',
  summary: 'The answers of a run, in the order of its lines',
  description:
    'One line for each job, also for those that have not ended, in the order in which they were sent. `csv` has a header; `openai` is the output file of its batch API. The response is produced while you read it, so it may have any length; if something fails midway, the connection breaks before the end.',

  params: { name: runName },
  query: {
    format: word(
      Object.keys(resultFormats) as ResultFormatName[],
      { description: 'How each answer is written.' },
      'ndjson',
    ),
  },
  answers: { 200: { description: 'The answers; the schema is that of a line of NDJSON.', ...results } },
  problems: ['RunNotFound', 'StoreUnavailable'],

  handle: ({ params: { name }, query: { format } }, { coordinator }) => ({
    type: resultFormats[format ?? 'ndjson'].type,
    chunks: allResults(coordinator, coordinator.runs.get(name).run.id, format ?? 'ndjson'),
  }),
});

const readRunResults = defineRoute({
  method: 'POST',
  path: '/api/runs/:name/results',
  role: 'viewer',
  name: 'readRunResults',
  tag: 'Runs',
  summary: 'The answers to up to 1,000 lines, in the order asked',

  params: { name: runName },
  body: smallBody(linesSchema, { examples: { two: { value: { line_ids: ['doc-1', 'doc-2'] } } } }),
  answers: {
    200: { description: 'The answers, one a line; the schema is that of a line.', ...results },
  },
  problems: ['RunNotFound', 'StoreUnavailable'],

  handle: ({ params: { name }, body }, { coordinator }) => ({
    type: results.type,
    chunks: resultsOf(coordinator, coordinator.runs.get(name).run.id, body.line_ids),
  }),
});

const retryRun = defineRoute({
  method: 'POST',
  path: '/api/runs/:name/retry',
  role: 'client',
  name: 'retryRun',
  tag: 'Runs',
  summary: 'Put the failed jobs of a run back into the queue',
  description:
    'All of them, or those that failed with one class of error. They keep their ids; no job is created.',

  params: { name: runName },
  body: smallBody(retrySchema, {
    isOptional: true,
    examples: { some: { value: { class: 'server_error' } } },
  }),
  answers: { 200: { description: 'How many were retried.', shape: runRetryShape } },
  problems: ['RunNotFound', 'RunRefuses', 'StoreUnavailable'],

  handle: async ({ params: { name }, body, doer }, { coordinator, clock }) => {
    const { view, retried, archived } = await coordinator.runs.retry(name, body.class ?? null, doer());
    return { json: { retried, archived, run: presentRun(view, clock.now()) } };
  },
});

const cancelRun = defineRoute({
  method: 'POST',
  path: '/api/runs/:name/cancel',
  role: 'client',
  name: 'cancelRun',
  tag: 'Runs',
  summary: 'Cancel a run and all of its jobs that have not ended',
  description:
    'From the response on none of its jobs starts, and it takes no more. Its pending and running jobs are cancelled after that, also over a restart.',

  params: { name: runName },
  answers: { 200: { description: 'The run, cancelled.', shape: runShape } },
  problems: ['RunNotFound', 'RunRefuses', 'StoreUnavailable'],

  handle: async ({ params: { name }, doer }, { coordinator, clock }) => ({
    json: presentRun(await coordinator.runs.cancel(name, doer()), clock.now()),
  }),
});

const pauseRun = defineRoute({
  method: 'POST',
  path: '/api/runs/:name/pause',
  role: 'client',
  name: 'pauseRun',
  tag: 'Runs',
  summary: 'Pause a run',
  description:
    'None of its waiting jobs starts; running ones continue. If it is paused already, nothing changes.',

  params: { name: runName },
  answers: { 200: { description: 'The run, paused.', shape: runShape } },
  problems: ['RunNotFound', 'RunRefuses', 'StoreUnavailable'],

  handle: async ({ params: { name }, doer, principal }, { coordinator, clock }) => {
    const detail = `${principal.name ?? principal.keyId} paused it; resume the run to go on`;
    return { json: presentRun(await coordinator.runs.pause(name, doer(), detail), clock.now()) };
  },
});

const resumeRun = defineRoute({
  method: 'POST',
  path: '/api/runs/:name/resume',
  role: 'client',
  name: 'resumeRun',
  tag: 'Runs',
  summary: 'Resume a run, or change its limits',
  description: 'A limit that is still reached is a 409: give a higher one, or null for none.',

  params: { name: runName },
  body: smallBody(resumeSchema, { isOptional: true, examples: { more: { value: { max_cost_usd: 20 } } } }),
  answers: { 200: { description: 'The run.', shape: runShape } },
  problems: ['RunNotFound', 'RunRefuses', 'StoreUnavailable'],

  handle: async ({ params: { name }, body, doer }, { coordinator, clock }) => {
    const limits = limitsOf(body, clock.now());
    return { json: presentRun(await coordinator.runs.resume(name, limits, doer()), clock.now()) };
  },
});

/** /api/runs. */
export const runRoutes: readonly Route[] = [
  createRun,
  listRuns,
  getRun,
  addRunJobs,
  getRunResults,
  readRunResults,
  retryRun,
  cancelRun,
  pauseRun,
  resumeRun,
];
