import type { Coordinator, JobView } from '../../../coordinator/coordinator.ts';
import { CoordinatorError } from '../../../domain/errors.ts';
import type { Principal } from '../../../domain/key.ts';
import { isTerminal } from '../../../domain/states.ts';
import type { HttpParts } from '../../../http/parts.ts';
import type { Answer, OwnAnswer, RawRequest, ServedRoute } from '../../../http/route.ts';
import { parseIdempotencyKey } from '../../../http/routes/jobs/schema.ts';
import { OpenAiError, stillRunning } from '../errors.ts';
import { jobOfChat } from '../ids.ts';
import type { Catalogues } from '../models.ts';
import { defineDoorRoute } from '../route.ts';
import { Audience } from './audience.ts';
import { completionOf, costOf } from './completion.ts';
import { completed, stopping } from './ending.ts';
import { type ChatRequest, parseChat } from './parse.ts';
import { ChatStream } from './stream.ts';

/** POST /v1/chat/completions and what can be read of it later. */
export function chatRoutes(catalogues: Catalogues): readonly ServedRoute[] {
  const audience = new Audience();
  const createCompletion = defineDoorRoute({
    method: 'POST',
    path: '/v1/chat/completions',
    role: 'client',
    hasBody: true,
    handle: async (request, parts) => {
      const startedAt = parts.clock.monotonic();
      const gone = request.whenGone();
      const chat = await readChat(request, parts, catalogues);
      const isKeyed = request.headers['idempotency-key'] !== undefined;
      const noRoom = parts.answers.refusalOfShare(request.principal);
      if (noRoom !== null) throw noRoom;
      const view = await dispatch(chat, request, parts.coordinator);
      const { id } = view.job;
      // It was sent before, and has its status.
      if (isTerminal(view.job.state)) completed(view);
      const { principal } = request;
      // Before anything else happens to the job.
      const stream = chat.isStream ? new ChatStream(view, parts, { ...chat, principal, gone }) : null;
      const leave = audience.enter(id, gone, () => {
        if (chat.outlivesClient) parts.logger.debug({ job_id: id }, 'the client hung up; its job goes on');
        else void cancel(id, parts);
      });
      const turn = request.bodyTaken();
      if (turn !== null) await turn;
      if (stream !== null) return streamed(stream, view, leave);
      try {
        return await whole(view, chat, { parts, gone, isKeyed, startedAt });
      } finally {
        leave();
      }
    },
  });
  return [createCompletion, getCompletion];
}

async function readChat(
  { body, headers }: RawRequest,
  { config: configNow, coordinator, clock }: HttpParts,
  catalogues: Catalogues,
): Promise<ChatRequest> {
  const config = configNow();
  const chat = parseChat(body, headers, config);
  const place = await catalogues.resolve(chat.job, chat.model, {
    coordinator,
    config,
    now: clock.monotonic(),
  });
  return { ...chat, job: { ...chat.job, ...place } };
}

/** Durable when it resolves; the first job when its idempotency key was used before. */
async function dispatch(
  { job }: ChatRequest,
  { headers, principal }: RawRequest,
  coordinator: Coordinator,
): Promise<JobView> {
  const key = parseIdempotencyKey(headers, principal);
  if (key === null) return coordinator.dispatch(job, principal);
  return (await coordinator.dispatchOnce(key, job, principal)).view;
}

/** @param leave called when the stream is closed. */
function streamed(stream: ChatStream, view: JobView, leave: () => void): OwnAnswer {
  return {
    headers: { 'X-Svc-Job-Id': view.job.id },
    write: (response) => {
      response.once('close', leave);
      stream.open(response, view);
    },
  };
}

/** The completion when the job has ended. @throws OpenAiError when it failed, or takes too long. */
async function whole(
  { job: { id } }: JobView,
  { model }: ChatRequest,
  {
    parts,
    gone,
    isKeyed,
    startedAt,
  }: { parts: HttpParts; gone: AbortSignal; isKeyed: boolean; startedAt: number },
): Promise<Answer> {
  const { coordinator, config, clock } = parts;
  const { syncMaxSeconds } = config().front;
  const view = await coordinator.jobAtEnd(id, syncMaxSeconds * 1000, gone);
  if (isTerminal(view.job.state)) {
    const processingMs = String(Math.round(clock.monotonic() - startedAt));
    return completionAnswer(completed(view), model, { 'OpenAI-Processing-Ms': processingMs });
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

function completionAnswer({ job }: JobView, model: string, headers: Record<string, string> = {}): Answer {
  const { result } = job.life;
  if (result === null) throw new OpenAiError('The job has no result', { status: 404, code: 'not_found' });
  const cost = costOf(job);
  return {
    headers: {
      'X-Svc-Job-Id': job.id,
      ...(cost === null ? {} : { 'X-Svc-Cost-Usd': String(cost) }),
      ...headers,
    },
    json: completionOf(job, result, model),
  };
}

/** The client hung up, and nobody else waits for the job. */
async function cancel(jobId: string, { coordinator, logger }: HttpParts): Promise<void> {
  try {
    await coordinator.cancel(jobId);
    logger.info({ job_id: jobId }, 'the client hung up; its job was cancelled');
  } catch (error) {
    // It has just ended, as it should.
    if (error instanceof CoordinatorError && error.code === 'invalid_transition') return;
    logger.warn({ err: error, job_id: jobId }, 'the client hung up, but its job was not cancelled');
  }
}

const getCompletion = defineDoorRoute({
  method: 'GET',
  path: '/v1/chat/completions/:id',
  role: 'viewer',
  handle: async ({ params: { id = '' }, principal }, { coordinator }) => {
    const jobId = jobOfChat(id);
    const view = jobId === null ? null : await readable(jobId, principal, coordinator);
    if (view === null) throw noCompletion(id);
    const { state, request } = view.job;
    if (!isTerminal(state)) {
      const message = `Job ${view.job.id} has not ended yet; ask again later`;
      throw stillRunning(view.job.id, message, { status: 409 });
    }
    return completionAnswer(completed(view), request.model ?? 'auto');
  },
});

/** The job, if this key may read it here: a client key reads its own. */
async function readable(
  jobId: string,
  { keyId, role }: Principal,
  coordinator: Coordinator,
): Promise<JobView | null> {
  try {
    const view = await coordinator.job(jobId);
    const isOwn = role !== 'client' || view.job.createdBy?.keyId === keyId;
    return isOwn ? view : null;
  } catch (error) {
    if (error instanceof CoordinatorError && error.code === 'job_not_found') return null;
    throw error;
  }
}

function noCompletion(id: string): OpenAiError {
  const message = `There is no chat completion ${id.slice(0, 100)}`;
  return new OpenAiError(message, { status: 404, code: 'not_found' });
}
