import type { PlannedRequest } from '../../coordinator/jobs/index.ts';
import { CoordinatorError, type FieldError } from '../../domain/errors.ts';
import { type JobStatus, statusOf } from '../../domain/states.ts';
import { jobStatusShape } from '../../http/shape/common.ts';
import { count, flag, list, object, text } from '../../http/shape/shape.ts';
import { faultsMax } from '../../http/validate.ts';
import { own } from '../frame.ts';
import { fault, idempotencyKeySchema, jobSchema, parseJob, refuseUnread, withoutKey } from './submitting.ts';
import { defineTool, type ToolCall } from './tool.ts';

/** Jobs of one call: more of them would fill the context of an agent that lists them. */
const jobsMax = 100;

interface SubmittedJobs {
  jobs: { id: string; status: JobStatus }[];
  count: number;
  is_new: boolean;
}

export const submitJobs = defineTool<SubmittedJobs>({
  name: 'submit_jobs',
  title: 'Submit up to 100 jobs',
  role: 'client',
  description:
    'Put up to 100 jobs into the queue at once, all or none of them. Give them a tag of their own to find them with list_jobs later. With idempotency_key the call can be repeated without submitting anything twice.',
  input: {
    type: 'object',
    required: ['jobs'],
    additionalProperties: false,
    properties: {
      jobs: { type: 'array', minItems: 1, maxItems: jobsMax, items: jobSchema },
      idempotency_key: idempotencyKeySchema,
    },
  },
  output: object<SubmittedJobs>({
    jobs: list(object({ id: text(), status: jobStatusShape }), 'In the order in which they were given.'),
    count: count(),
    is_new: flag('false: the idempotency key was used before, and these are its jobs.'),
  }),
  effect: { isDestructive: false, isIdempotent: false, isOpenWorld: true },

  call: async (args, call) => {
    refuseUnread(call);
    const { coordinator } = call.parts;
    const { principal } = call.caller;
    const { key, rest } = withoutKey(args, call);
    const planned = parseJobs(rest, call);
    const { jobs, isNew } =
      key === null
        ? { jobs: await coordinator.dispatchAll(planned, principal), isNew: true }
        : await coordinator.dispatchAllOnce(key, planned, principal);
    const submitted = jobs.map(({ id, state }) => ({ id, status: statusOf(state) }));
    const ids = submitted.map(({ id }) => id).join('\n');
    return {
      structured: { jobs: submitted, count: submitted.length, is_new: isNew },
      text: [own(`${submitted.length} jobs are in the queue, in this order:\n${ids}`)],
    };
  },
});

/** @throws CoordinatorError invalid_request with the place of every fault, at most 100. */
function parseJobs(args: Record<string, unknown>, { parts }: ToolCall): PlannedRequest[] {
  const { jobs, ...others } = args;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw fault(unknown, 'is not known');
  if (!Array.isArray(jobs) || jobs.length === 0) throw fault('jobs', 'must be a list of at least 1 job');
  if (jobs.length > jobsMax)
    throw fault('jobs', `must have at most ${jobsMax} items; submit the others in another call`);
  const config = parts.config();
  const faults: FieldError[] = [];
  const planned: PlannedRequest[] = [];
  for (const [index, job] of jobs.entries()) {
    try {
      planned.push(parts.coordinator.plan(parseJob(job, config)));
    } catch (error) {
      faults.push(...faultsOf(error, `jobs[${index}]`));
    }
    if (faults.length >= faultsMax) break;
  }
  if (faults.length === 0) return planned;
  throw new CoordinatorError('invalid_request', 'Some jobs are not valid, and none was submitted', {
    errors: faults.slice(0, faultsMax),
  });
}

function faultsOf(error: unknown, place: string): FieldError[] {
  if (!(error instanceof CoordinatorError) || error.code !== 'invalid_request') throw error;
  const { errors = [{ field: '', message: error.message }] } = error.details;
  return errors.map(({ field, message }) => ({
    field: field === '' ? place : `${place}.${field}`,
    message,
  }));
}
