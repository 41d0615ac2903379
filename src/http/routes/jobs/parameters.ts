import { filterTagsMax, searchLengthMax } from '../../../domain/limits.ts';
import { jobStates, jobStatuses } from '../../../domain/states.ts';
import type { JobFilter } from '../../../store/store.ts';
import { id, integer, type Parameters, pairs, text, texts, time, words } from '../../query.ts';
import { jobStateShape, jobStatusShape } from '../../shape/common.ts';
import { reference } from '../../shape/shape.ts';

/** `?wait=` at most, seconds. */
const waitSecondsMax = 300;

/** The parameters that choose jobs, in lists, exports, and requests that change many. */
export const filterParameters = {
  status: words(
    jobStatuses,
    { description: 'One or more, separated by commas or repeated.', example: ['pending', 'running'] },
    jobStatusShape.schema,
  ),
  state: words(
    jobStates,
    {
      description: "One or more states of the job's machine, separated by commas or repeated.",
      example: ['running.stuck'],
    },
    jobStateShape.schema,
  ),
  provider: text(),
  model: text(),
  worker: id({ description: 'Id of the worker that runs or last ran it.' }),
  created_by: text({ description: 'Id of the key that sent it.' }),
  tag: texts(filterTagsMax, { description: 'Repeat it for jobs that have all of several tags.' }),
  priority: text(),
  tier: text(),
  run: text({ description: 'Name of the run that it belongs to.' }),
  metadata: pairs(filterTagsMax, {
    description: "`name=value` of the job's metadata. Repeat it for jobs that have all of several entries.",
    example: ['customer=acme'],
  }),
  created_after: time({ example: '2026-11-21T09:00:00Z' }),
  created_before: time(),
  q: text({ description: 'Text in the prompt or in the id; case is ignored.' }, searchLengthMax),
};

export const newestParameter = id({
  description:
    'Id of a job that is not archived: leaves out jobs created after it, so that pages stay stable while new jobs arrive.',
});

type FilterValues = typeof filterParameters extends Parameters<infer Q> ? Q : never;

/** The jobs that the values of `filterParameters` choose. @param newest has no sense for all jobs. */
export function filterOf(values: FilterValues, newest: string | null = null): JobFilter {
  return {
    statuses: values.status,
    states: values.state,
    provider: values.provider,
    model: values.model,
    worker: values.worker,
    createdBy: values.created_by,
    tags: values.tag,
    priority: values.priority,
    tier: values.tier,
    run: values.run,
    metadata: values.metadata,
    createdAfter: values.created_after,
    createdBefore: values.created_before,
    text: values.q,
    newest,
  };
}

/** How long to wait for the job's end, seconds. */
const wait = integer(
  { min: 0, max: waitSecondsMax, fallback: 0 },
  { description: "Seconds to wait for the job's end before responding." },
);
export const waitParameters = { wait };

export const jobId = reference('parameters', 'JobId', {
  name: 'id',
  in: 'path',
  required: true,
  description: "The job's id.",
  schema: { type: 'string' },
  example: '019aa5a2-7d80-7c3e-9b1f-3f2f6d0e5a11',
});
