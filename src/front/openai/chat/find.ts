import type { Coordinator, JobView } from '../../../coordinator/coordinator.ts';
import type { Annotation } from '../../../domain/annotation.ts';
import type { JobRecord } from '../../../domain/job.ts';
import type { Principal } from '../../../domain/key.ts';
import { isTerminal } from '../../../domain/states.ts';
import { completed } from '../ending.ts';
import { OpenAiError, stillRunning } from '../errors.ts';
import { jobOfChat } from '../ids.ts';
import { readable } from '../reading.ts';
import { metadataOf } from '../served.ts';

/** Jobs that can be read as completions: those of this form, and those of the native API. */
const forms = ['chat', null];

/** A completion that may be read. */
interface Stored {
  job: JobRecord;
  annotation: Annotation | undefined;
}

/** @throws OpenAiError not_found, still_running; the error of a job that failed or was cancelled. StoreUnavailable. */
export async function findCompletion(
  id: string,
  principal: Principal,
  coordinator: Coordinator,
): Promise<Stored> {
  const view = await readableChat(id, principal, coordinator);
  const annotation = view === null ? undefined : await coordinator.annotations.get(view.job.id);
  if (view === null || annotation?.isDeleted === true) throw noCompletion(id);
  const { job } = view;
  if (!isTerminal(job.state)) {
    const message = `Job ${job.id} has not ended yet; ask again later`;
    throw stillRunning(job.id, message, { status: 409 });
  }
  completed(view);
  return { job, annotation };
}

/** A job that can be read as a completion, if this key may read it; it may be deleted. null for an id of anything else. */
export async function readableChat(
  id: string,
  principal: Principal,
  coordinator: Coordinator,
): Promise<JobView | null> {
  const jobId = jobOfChat(id);
  return jobId === null ? null : readable(jobId, principal, coordinator, forms);
}

function noCompletion(id: string): OpenAiError {
  const message = `There is no chat completion ${id.slice(0, 100)}`;
  return new OpenAiError(message, { status: 404, code: 'not_found' });
}

/** As the client named it; jobs of the native API, and older ones, do not have it. */
export function askedModel({ request }: JobRecord): string {
  const model = request.door?.fields.model;
  return typeof model === 'string' ? model : (request.model ?? 'auto');
}

export function shownMetadata(job: JobRecord, annotation: Annotation | undefined): Record<string, string> {
  return annotation?.metadata ?? metadataOf(job);
}
