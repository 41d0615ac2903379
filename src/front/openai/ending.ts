import type { Coordinator, JobView } from '../../coordinator/coordinator.ts';
import { isTerminal, statusOf } from '../../domain/states.ts';
import { cancelledJob, failedJob, type OpenAiError, stillRunning } from './errors.ts';

/** A day. Waits for a stream are as long as its job takes. */
const waitMs = 86_400_000;

/** The job when it has a result. @throws OpenAiError when it failed or was cancelled. */
export function completed(view: JobView): JobView {
  const { id, state } = view.job;
  const status = statusOf(state);
  if (status === 'failed') throw failedJob(view.job);
  if (status === 'cancelled') throw cancelledJob(id);
  return view;
}

/**
 * The job when it has ended, however long that takes; or as it is when the client has gone.
 * @throws OpenAiError when the coordinator stops before it ended.
 */
export async function endOf(coordinator: Coordinator, jobId: string, gone: AbortSignal): Promise<JobView> {
  const view = await coordinator.jobAtEnd(jobId, waitMs, gone);
  if (isTerminal(view.job.state) || gone.aborted) return view;
  throw stopping(jobId, false);
}

/** The coordinator stops while a request waits. @param isKeyed the request has an idempotency key, so it can be sent again. */
export function stopping(jobId: string, isKeyed: boolean): OpenAiError {
  const message = `The coordinator is restarting; job ${jobId} goes on`;
  const facts = isKeyed ? { mayRetry: true, retryAfterSeconds: 5 } : {};
  return stillRunning(jobId, message, { status: 503, ...facts });
}
