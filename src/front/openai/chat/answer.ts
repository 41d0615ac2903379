import type { JobRecord } from '../../../domain/job.ts';
import type { Answer } from '../../../http/route.ts';
import { OpenAiError } from '../errors.ts';
import { jobHeaders } from '../served.ts';
import { type Completion, completionOf } from './completion.ts';

/** The response that has the completion of a job. @throws OpenAiError not_found when the job has no result. */
export function completionAnswer(
  job: JobRecord,
  model: string,
  { headers = {}, metadata }: { headers?: Record<string, string>; metadata?: Completion['metadata'] } = {},
): Answer {
  const { result } = job.life;
  if (result === null) throw new OpenAiError('The job has no result', { status: 404, code: 'not_found' });
  return { headers: { ...jobHeaders(job), ...headers }, json: completionOf(job, result, model, metadata) };
}
