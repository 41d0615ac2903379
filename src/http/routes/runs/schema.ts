import { array, type InferType, mixed, number, object, string } from 'yup';
import type { Config } from '../../../config/config.ts';
import type { RunRequest } from '../../../coordinator/runs/index.ts';
import { CoordinatorError, type FieldError } from '../../../domain/errors.ts';
import { errorClasses } from '../../../domain/failure.ts';
import type { JobRequest } from '../../../domain/job.ts';
import {
  lineIdMax,
  outputRetriesDefault,
  outputRetriesMax,
  type RunLimits,
  runNameMax,
  runNamePattern,
} from '../../../domain/run.ts';
import { boundedList } from '../../../lib/boundedList.ts';
import { type Fields, isFields } from '../../../lib/fields.ts';
import { errorClassShape } from '../../shape/common.ts';
import { time } from '../../time.ts';
import { dispatchSchema, parseDispatch } from '../jobs/schema.ts';

/** Dollars: as nano-dollars they are still exact. */
const maxCostMax = 1_000_000;
const maxFailuresMax = 1_000_000_000;
/** Lines whose answers are asked for at once. */
const lineIdsMax = 1_000;

const limits = {
  max_cost_usd: number().min(0).max(maxCostMax).nullable().meta({
    description:
      'The run pauses before it spends more. What running jobs may cost is set aside, so that many slots together do not spend more.',
  }),
  max_failures: number().integer().min(1).max(maxFailuresMax).nullable().meta({
    description: 'The run pauses when this many of its jobs have failed.',
  }),
  deadline: time({ description: 'The run pauses at this time. It must be in the future.' }).nullable(),
};

const isSchema = (value: unknown): boolean =>
  value === undefined || value === null || typeof value === 'boolean' || isFields(value);

/** The body of POST /api/runs. */
export const runSchema = object({
  name: string().min(1).max(runNameMax).matches(runNamePattern, nameMessage()).required().meta({
    description: 'Unique. Letters, digits, `.`, `_` and `-`; the first is a letter or a digit.',
  }),
  ...limits,
  defaults: object()
    .nullable()
    .meta({
      description:
        'Fields of a job, for jobs that do not set them. `params` and `metadata` of both are joined; where both set the same name, that of the job counts.',
      json: { type: 'object', additionalProperties: true },
    }),
  output_schema: mixed()
    .nullable()
    .test('schema', 'must be a JSON Schema: an object, true or false', isSchema)
    .meta({
      description:
        'JSON Schema (draft 2020-12) that every answer must match as JSON. One that does not fails with the class `invalid_output`, and costs what it costs.',
      json: { type: ['object', 'boolean', 'null'] },
    }),
  output_retries: number()
    .integer()
    .min(0)
    .max(outputRetriesMax)
    .nullable()
    .meta({
      description: `How often a job is run again after such an answer; ${outputRetriesDefault} if left out.`,
    }),
}).noUnknown();

/** The body of POST /api/runs/:name/resume. */
export const resumeSchema = object(limits)
  .noUnknown()
  .meta({ description: 'Limits to replace; null removes one.' });

/** The body of POST /api/runs/:name/retry. */
export const retrySchema = object({
  class: string().oneOf(errorClasses).nullable().meta({ shape: errorClassShape }),
}).noUnknown();

/** The body of POST /api/runs/:name/results. */
export const linesSchema = object({
  line_ids: boundedList(lineIdsMax, array().of(string().defined().min(1).max(lineIdMax)).min(1).required()),
}).noUnknown();

function nameMessage(): string {
  return 'must have only letters, digits, dots, underscores and hyphens, and begin with a letter or a digit';
}

/** Characters of the defaults and the schema of a run, as JSON: they are kept as long as the run. */
const settingsMax = 32_768;

/** @throws CoordinatorError invalid_request, also for defaults that no job could have. */
export function runRequestOf(body: InferType<typeof runSchema>, config: Config, now: number): RunRequest {
  const { name, defaults } = body;
  const fields: Fields = isFields(defaults) ? defaults : {};
  for (const field of ['defaults', 'output_schema'] as const) {
    if (JSON.stringify(body[field] ?? null).length > settingsMax)
      throw invalid([{ field, message: `must have at most ${settingsMax} characters as JSON` }]);
  }
  checkDefaults(fields, config);
  const { maxCost = null, maxFailures = null, deadline = null } = limitsOf(body, now);
  const { output_schema: schema, output_retries: retries } = body;
  return {
    name,
    limits: { maxCost, maxFailures, deadline },
    defaults: fields,
    ...(isFields(schema) || typeof schema === 'boolean'
      ? { check: { schema, retries: retries ?? outputRetriesDefault } }
      : {}),
  };
}

/** The limits that are given. @throws CoordinatorError invalid_request when the deadline has passed. */
export function limitsOf(
  { max_cost_usd, max_failures, deadline }: InferType<typeof resumeSchema>,
  now: number,
): Partial<RunLimits> {
  const at = typeof deadline === 'string' ? Date.parse(deadline) : deadline;
  if (typeof at === 'number' && at <= now) throw invalid([{ field: 'deadline', message: 'has passed' }]);
  return {
    ...(max_cost_usd === undefined
      ? {}
      : { maxCost: max_cost_usd === null ? null : Math.round(max_cost_usd * 1e9) }),
    ...(max_failures === undefined ? {} : { maxFailures: max_failures }),
    ...(at === undefined ? {} : { deadline: at }),
  };
}

/** A line of POST /api/runs/:name/jobs. */
export interface Line {
  lineId: string;
  request: JobRequest;
}

/** @param job members of a line as it came. @throws CoordinatorError invalid_request. */
export function lineOf({ line_id, ...job }: Fields, defaults: Fields, config: Config): Line {
  if (typeof line_id !== 'string' || line_id.length === 0 || line_id.length > lineIdMax) {
    const message = `must be a text of 1 to ${lineIdMax} characters`;
    throw invalid([{ field: 'line_id', message }]);
  }
  return { lineId: line_id, request: parseDispatch(joined(defaults, job), config) };
}

/** A line's own fields count before the run's; a chat takes the place of a prompt. */
function joined(defaults: Fields, job: Fields): Fields {
  const { prompt, ...others } = defaults;
  const base = isGiven(job.messages) || !isGiven(prompt) ? others : { ...others, prompt };
  const given = Object.fromEntries(Object.entries(job).filter(([, value]) => isGiven(value)));
  const both: Record<string, unknown> = { ...base, ...given };
  for (const name of ['params', 'metadata'] as const) {
    const [general, own] = [defaults[name], job[name]];
    if (isFields(general) && isFields(own)) both[name] = { ...general, ...own };
  }
  return both;
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== null;

/** @throws CoordinatorError invalid_request that names the member of `defaults`. */
function checkDefaults(defaults: Fields, config: Config): void {
  const hasPrompt = isGiven(defaults.prompt) || isGiven(defaults.messages);
  try {
    parseDispatch(hasPrompt ? defaults : { ...defaults, prompt: 'a line' }, config);
  } catch (error) {
    if (!(error instanceof CoordinatorError) || error.code !== 'invalid_request') throw error;
    throw invalid(
      (error.details.errors ?? []).map(({ field, message }) => ({
        field: field === '' ? 'defaults' : `defaults.${field}`,
        message,
      })),
    );
  }
}

function invalid(errors: FieldError[]): CoordinatorError {
  const named = errors.map(({ field, message }) => `${field} ${message}`).join('; ');
  return new CoordinatorError('invalid_request', `The request is not valid: ${named}`, { errors });
}

/** A line as the document shows it. */
export const lineSchema = dispatchSchema([]).shape({
  line_id: string().min(1).max(lineIdMax).required().meta({
    description: 'Unique in the run: a line that is sent again is known, and nothing is sent twice.',
  }),
});
