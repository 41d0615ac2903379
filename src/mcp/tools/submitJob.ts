import type { JobStatus } from '../../domain/states.ts';
import { jobStatusShape } from '../../http/shape/common.ts';
import { flag, nullable, object, text } from '../../http/shape/shape.ts';
import { own } from '../frame.ts';
import { presentToolJob, sentenceOf, type ToolWaiting, waitingShape } from './job.ts';
import {
  idempotencyKeySchema,
  jobProperties,
  jobSchema,
  parseJob,
  refuseUnread,
  withoutKey,
} from './submitting.ts';
import { defineTool } from './tool.ts';

interface Submitted {
  id: string;
  status: JobStatus;
  /** Whether this call created it. */
  is_new: boolean;
  waiting: ToolWaiting | null;
}

export const submitJob = defineTool<Submitted>({
  name: 'submit_job',
  title: 'Submit a job',
  role: 'client',
  description:
    'Put one prompt, or one list of messages, into the queue for a language model. Returns at once with the id of the job, which is then durable: it runs whether or not anybody waits, also across restarts. Read its answer with get_job. The id stays valid for at least as long as the coordinator keeps ended jobs (days, as configured).',
  input: {
    ...jobSchema,
    properties: { ...jobProperties, idempotency_key: idempotencyKeySchema },
  },
  output: object<Submitted>({
    id: text('For get_job, cancel_jobs and retry_job.'),
    status: jobStatusShape,
    is_new: flag('false: the idempotency key was used before, and this is its job.'),
    waiting: nullable(waitingShape),
  }),
  effect: { isDestructive: false, isIdempotent: false, isOpenWorld: true },

  call: async (args, call) => {
    refuseUnread(call);
    const { coordinator, config } = call.parts;
    const { principal } = call.caller;
    const { key, rest } = withoutKey(args, call);
    const request = parseJob(rest, config());
    const { view, isNew } =
      key === null
        ? { view: await coordinator.dispatch(request, principal), isNew: true }
        : await coordinator.dispatchOnce(key, request, principal);
    const { id, status, waiting } = presentToolJob(view);
    const structured = { id, status, is_new: isNew, waiting };
    const advice = 'Call get_job with this id and wait_seconds to wait for its answer.';
    return { structured, text: [own(`${sentenceOf(structured)} ${advice}`)] };
  },
});
