import type { JobView } from '../../coordinator/coordinator.ts';
import { CoordinatorError } from '../../domain/errors.ts';
import type { JobRecord, JobRequest, OpenRequest } from '../../domain/job.ts';
import { isTerminal } from '../../domain/states.ts';
import type { HttpParts } from '../../http/parts.ts';
import type { OwnAnswer, RawRequest } from '../../http/route.ts';
import { parseIdempotencyKey } from '../../http/routes/jobs/schema.ts';
import { completed, stopping } from './ending.ts';
import { stillRunning } from './errors.ts';
import type { JobStream } from './jobStream.ts';
import type { Catalogues } from './models.ts';

/** The job at the place that its model leads to. @throws OpenAiError model_not_found; StoreUnavailable. */
export async function placed(
  job: JobRequest,
  model: string,
  catalogues: Catalogues,
  { coordinator, config, clock }: HttpParts,
): Promise<JobRequest> {
  const now = clock.monotonic();
  return { ...job, ...(await catalogues.resolve(job, model, { coordinator, config: config(), now })) };
}

/**
 * Durable when it resolves; the first job when its idempotency key was used before, whatever has changed since: which
 * workers have its model, or whether what it refers to still exists.
 * @throws CoordinatorError as `Coordinator.dispatch`; share_exceeded when unread answers of the key fill its share; what
 * `decide` throws.
 */
export async function dispatch(
  open: OpenRequest,
  { headers, principal }: RawRequest,
  { coordinator, answers }: HttpParts,
): Promise<{ view: JobView; isNew: boolean }> {
  const noRoom = answers.refusalOfShare(principal);
  if (noRoom !== null) throw noRoom;
  const key = parseIdempotencyKey(headers, principal);
  if (key !== null) return coordinator.dispatchOnce(key, open, principal);
  return { view: await coordinator.dispatch(await open.decide(), principal), isNew: true };
}

/** @param leave called when the stream is closed. */
export function streamed(stream: JobStream, view: JobView, leave: () => void): OwnAnswer {
  return {
    headers: { 'X-Svc-Job-Id': view.job.id },
    write: (response) => {
      response.once('close', leave);
      stream.open(response, view);
    },
  };
}

/** What is needed to wait for a job. */
interface Waiting {
  parts: HttpParts;
  gone: AbortSignal;
  /** The request has an idempotency key. */
  isKeyed: boolean;
  /** When the request came, ms of the monotonic clock. */
  startedAt: number;
}

/** The job when it has completed, and the headers that say how. @throws OpenAiError when it failed, or takes too long. */
export async function untilCompleted(
  { job: { id } }: JobView,
  { parts, gone, isKeyed, startedAt }: Waiting,
): Promise<{ job: JobRecord; headers: Record<string, string> }> {
  const { coordinator, config, clock } = parts;
  const { syncMaxSeconds } = config().front;
  const view = await coordinator.jobAtEnd(id, syncMaxSeconds * 1000, gone);
  if (isTerminal(view.job.state)) {
    const processingMs = String(Math.round(clock.monotonic() - startedAt));
    return { job: completed(view).job, headers: { 'OpenAI-Processing-Ms': processingMs } };
  }
  if (coordinator.status === 'draining' || coordinator.status === 'stopped') throw stopping(id, isKeyed);
  const again = isKeyed
    ? 'send the same request with the same Idempotency-Key to wait for it again'
    : 'a request with an Idempotency-Key can be sent again to wait on';
  throw stillRunning(
    id,
    `Job ${id} did not end within ${syncMaxSeconds} s (front.sync_max_seconds) and goes on: ${again}, or stream`,
  );
}

/** The client hung up, and nobody else waits for the job. @param outlivesClient it was asked to go on then. */
export async function abandon(
  jobId: string,
  outlivesClient: boolean,
  { coordinator, logger }: HttpParts,
): Promise<void> {
  if (outlivesClient) {
    logger.debug({ job_id: jobId }, 'the client hung up; its job goes on');
    return;
  }
  try {
    await coordinator.cancel(jobId);
    logger.info({ job_id: jobId }, 'the client hung up; its job was cancelled');
  } catch (error) {
    // It has just ended, as it should.
    if (error instanceof CoordinatorError && error.code === 'invalid_transition') return;
    logger.warn({ err: error, job_id: jobId }, 'the client hung up, but its job was not cancelled');
  }
}
