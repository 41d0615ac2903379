import type { Coordinator, JobView } from '../../../coordinator/coordinator.ts';
import type { Message } from '../../../domain/job.ts';
import type { Principal } from '../../../domain/key.ts';
import { OpenAiError } from '../errors.ts';
import { jobOfResponse } from '../ids.ts';
import { readable } from '../reading.ts';
import { askedFields, hasMessage } from './response.ts';

/** @throws OpenAiError not_found, also for one of another key, and one that was deleted. StoreUnavailable. */
export async function findResponse(
  id: string,
  principal: Principal,
  coordinator: Coordinator,
): Promise<JobView> {
  const view = await find(id, principal, coordinator);
  if (view !== null) return view;
  const message = `There is no response ${id.slice(0, 100)}`;
  throw new OpenAiError(message, { status: 404, param: 'id', code: 'not_found' });
}

/**
 * What was said up to a response and in it, without its instructions.
 * @throws OpenAiError previous_response_not_found; when it has no output. StoreUnavailable.
 */
export async function conversationOf(
  id: string,
  principal: Principal,
  coordinator: Coordinator,
): Promise<Message[]> {
  const param = 'previous_response_id';
  const view = await find(id, principal, coordinator);
  if (view === null) {
    const message = `There is no response ${id.slice(0, 100)} to go on from`;
    throw new OpenAiError(message, { status: 404, param, code: 'previous_response_not_found' });
  }
  const { job } = view;
  const { result } = job.life;
  if (result === null) {
    const message = `The response ${id} is not completed, so nothing can go on from it`;
    throw new OpenAiError(message, { status: 400, param, code: 'previous_response_not_completed' });
  }
  const { messages } = job.request;
  const { output, toolCalls = [] } = result;
  const said = {
    role: 'assistant',
    content: hasMessage(result) ? output : null,
    ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
  };
  return [...withoutInstructions(messages ?? [], askedFields(job).instructions), said];
}

/** They are the first message where there are any. */
export function withoutInstructions(messages: readonly Message[], instructions: unknown): readonly Message[] {
  return typeof instructions === 'string' ? messages.slice(1) : messages;
}

async function find(id: string, principal: Principal, coordinator: Coordinator): Promise<JobView | null> {
  const jobId = jobOfResponse(id);
  const view = jobId === null ? null : await readable(jobId, principal, coordinator, ['response']);
  const annotation = view === null ? undefined : await coordinator.annotations.get(view.job.id);
  return annotation?.isDeleted === true ? null : view;
}
