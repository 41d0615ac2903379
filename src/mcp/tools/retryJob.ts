import { schemaOf } from '../../http/shape/fromYup.ts';
import { object } from '../../http/shape/shape.ts';
import { validate } from '../../http/validate.ts';
import { own } from '../frame.ts';
import { idSchema } from './ids.ts';
import { presentToolJob, sentenceOf, type ToolJob, toolJobShape } from './job.ts';
import { defineTool } from './tool.ts';

interface Retried {
  job: ToolJob;
}

export const retryJob = defineTool<Retried>({
  name: 'retry_job',
  title: 'Retry a failed or stuck job',
  role: 'client',
  description:
    'Put a job that failed, or whose worker was lost, back into the queue. It keeps its id. Automatic retries are used up by then, so look at the error of the job first (get_job): a wrong request fails again, and costs again.',
  input: schemaOf(idSchema),
  output: object<Retried>({ job: toolJobShape }),
  effect: { isDestructive: false, isIdempotent: false, isOpenWorld: true },

  call: async (args, { parts }) => {
    const { id } = validate(idSchema, args);
    const job = presentToolJob(await parts.coordinator.retry(id.toLowerCase()));
    return { structured: { job }, text: [own(sentenceOf(job))] };
  },
});
