import type { Coordinator, JobView } from '../../../coordinator/coordinator.ts';
import { keptMs } from '../../../coordinator/spools/index.ts';
import { CoordinatorError } from '../../../domain/errors.ts';
import type { JobRecord } from '../../../domain/job.ts';
import { isTerminal } from '../../../domain/states.ts';
import { pageAnswer } from '../../../http/longJson.ts';
import type { HttpParts } from '../../../http/parts.ts';
import type { RawQuery } from '../../../http/query.ts';
import type { Answer, OwnAnswer, RawRequest, ServedRoute } from '../../../http/route.ts';
import { Audience } from '../audience.ts';
import { abandon, dispatch, placed, streamed, untilCompleted } from '../dispatching.ts';
import { completed } from '../ending.ts';
import { invalidField, OpenAiError } from '../errors.ts';
import { digitsOf, responseIdOf } from '../ids.ts';
import { JobStream } from '../jobStream.ts';
import type { Catalogues } from '../models.ts';
import { listFrame, readPage } from '../paging.ts';
import { defineDoorRoute } from '../route.ts';
import { jobHeaders } from '../served.ts';
import { ResponseEvents } from './events.ts';
import { findResponse, withoutInstructions } from './finding.ts';
import { inputItems } from './items.ts';
import {
  cancelOperation,
  createOperation,
  deleteOperation,
  getOperation,
  listInputOperation,
} from './operations.ts';
import { parseResponse, type ResponseRequest } from './parse.ts';
import { StoredPrevious } from './previous.ts';
import { RecordedStream } from './recordedStream.ts';
import { Recorder } from './recorder.ts';
import { askedFields, functionsOf, isBackground, isResumable, responseOf } from './response.ts';

/** POST /v1/responses and what can be done with responses later. */
export function responseRoutes(catalogues: Catalogues): readonly ServedRoute[] {
  const audience = new Audience();
  const createResponse = defineDoorRoute({
    method: 'POST',
    path: '/v1/responses',
    role: 'client',
    document: createOperation,
    reads: 'object',
    handle: async (request, parts) => {
      const startedAt = parts.clock.monotonic();
      const gone = request.whenGone();
      const isKeyed = request.headers['idempotency-key'] !== undefined;
      const previous = new StoredPrevious(parts, request.principal);
      const asked = parseResponse(request.body, request.headers, parts.config());
      const decide = async () => placed(await asked.job(previous), asked.model, catalogues, parts);
      const { view, isNew } = await dispatch({ asked: asked.asked, decide }, request, parts).finally(() =>
        previous.release(),
      );
      const { id } = view.job;
      if (asked.isBackground) return inBackground(view, isNew, asked, { request, parts, gone });
      // It was sent before, and has its status.
      if (isTerminal(view.job.state)) completed(view);
      const { principal } = request;
      const later = `GET /v1/responses/${responseIdOf(id)}`;
      // Before anything else happens to the job.
      const stream = asked.isStream
        ? new JobStream(view, parts, { principal, presenter: new ResponseEvents(view.job), later, gone })
        : null;
      const leave = audience.enter(id, {
        gone,
        isKeyed,
        outlivesClient: asked.outlivesClient,
        clock: parts.clock,
        onLeft: (outlivesClients) => void abandon(id, outlivesClients, parts),
      });
      const turn = request.bodyTaken();
      if (turn !== null) await turn;
      if (stream !== null) return streamed(stream, view, leave);
      try {
        const { job, headers } = await untilCompleted(view, { parts, gone, isKeyed, startedAt });
        return { headers: { ...jobHeaders(job), ...headers }, json: responseOf(job) };
      } finally {
        leave();
      }
    },
  });
  return [createResponse, getResponse, deleteResponse, cancelResponse, listInput];
}

/** Answers at once; the job continues when the client hangs up. */
async function inBackground(
  view: JobView,
  isNew: boolean,
  { isStream }: ResponseRequest,
  { request, parts, gone }: { request: RawRequest; parts: HttpParts; gone: AbortSignal },
): Promise<Answer | OwnAnswer> {
  const { job } = view;
  // Before anything else happens to the job.
  if (isNew && isStream) new Recorder(job, parts);
  const turn = request.bodyTaken();
  if (turn !== null) await turn;
  if (isStream) return recorded(view, -1, { request, parts, gone });
  const shown = isTerminal(job.state) ? {} : { status: 'queued' as const };
  return { headers: { 'X-Svc-Job-Id': job.id }, json: responseOf(job, shown) };
}

/** @param after the last event that the client has. */
function recorded(
  view: JobView,
  after: number,
  { request: { principal }, parts, gone }: { request: RawRequest; parts: HttpParts; gone: AbortSignal },
): OwnAnswer {
  const stream = new RecordedStream(view, parts, { principal, after, gone });
  return {
    headers: { 'X-Svc-Job-Id': view.job.id },
    write: (response) => stream.open(response, view),
  };
}

const getResponse = defineDoorRoute({
  method: 'GET',
  path: '/v1/responses/:id',
  role: 'viewer',
  document: getOperation,
  handle: async (request, parts) => {
    const { params, query, principal } = request;
    const view = await findResponse(params.id ?? '', principal, parts.coordinator);
    const { job } = view;
    if (query.stream !== 'true') return { headers: jobHeaders(job), json: responseOf(job) };
    if (!isResumable(job)) {
      const message =
        'Only a response that was created with background: true and stream: true can be streamed again; get it without stream';
      throw new OpenAiError(message, { status: 400, param: 'stream', code: 'invalid_value' });
    }
    const after = startingAfter(query, job, parts.clock.now());
    return recorded(view, after, { request, parts, gone: request.whenGone() });
  },
});

/** The last event that the client has; -1 for none. @param now epoch ms. @throws OpenAiError. */
function startingAfter({ starting_after: text }: RawQuery, job: JobRecord, now: number): number {
  if (text === undefined) return -1;
  if (typeof text !== 'string' || !/^\d{1,9}$/.test(text))
    throw invalidField('starting_after', 'must be the sequence_number of an event');
  const { finishedAt } = job.life;
  if (finishedAt === null || now < finishedAt + keptMs) return Number(text);
  const message =
    'The events of this response are no longer kept, an hour after its end: get it without stream, or stream it from the beginning';
  throw new OpenAiError(message, { status: 400, param: 'starting_after', code: 'stream_expired' });
}

const deleteResponse = defineDoorRoute({
  method: 'DELETE',
  path: '/v1/responses/:id',
  role: 'client',
  document: deleteOperation,
  handle: async ({ params: { id = '' }, principal }, { coordinator, logger }) => {
    const { job } = await findResponse(id, principal, coordinator);
    await cancelled(job, coordinator);
    await coordinator.annotations.change(job.id, { isDeleted: true });
    await coordinator.spools.remove(job.id).catch((error: unknown) => {
      logger.warn({ err: error, job_id: job.id }, 'the recorded stream of a response is removed later');
    });
    return { json: { id, object: 'response', deleted: true } };
  },
});

const cancelResponse = defineDoorRoute({
  method: 'POST',
  path: '/v1/responses/:id/cancel',
  role: 'client',
  document: cancelOperation,
  handle: async ({ params: { id = '' }, principal }, { coordinator }) => {
    const { job } = await findResponse(id, principal, coordinator);
    if (!isBackground(job)) {
      const message =
        'Only a response that was created with background: true can be cancelled; hang up to cancel another one';
      throw new OpenAiError(message, { status: 400, code: 'response_not_background' });
    }
    return { headers: { 'X-Svc-Job-Id': job.id }, json: responseOf(await cancelled(job, coordinator)) };
  },
});

/** The job at its end: cancelled, unless it has ended otherwise before. @throws StoreUnavailable. */
async function cancelled(job: JobRecord, coordinator: Coordinator): Promise<JobRecord> {
  if (isTerminal(job.state)) return job;
  try {
    return (await coordinator.cancel(job.id)).job;
  } catch (error) {
    if (!(error instanceof CoordinatorError && error.code === 'invalid_transition')) throw error;
    return (await coordinator.job(job.id)).job;
  }
}

const listInput = defineDoorRoute({
  method: 'GET',
  path: '/v1/responses/:id/input_items',
  role: 'viewer',
  document: listInputOperation,
  handle: async ({ params: { id = '' }, query, principal }, { coordinator }) => {
    const page = readPage(query, { order: 'desc' });
    const { job } = await findResponse(id, principal, coordinator);
    const messages = withoutInstructions(job.request.messages ?? [], askedFields(job).instructions);
    const items = inputItems(messages, digitsOf(job.id), functionsOf(job));
    if (!page.isAscending) items.reverse();
    const before = items.findIndex((item) => item.id === page.after);
    if (page.after !== null && before < 0) throw invalidField('after', 'must be the id of one of the items');
    const left = items.slice(before + 1);
    const rows = left.slice(0, page.limit);
    return pageAnswer({
      name: 'data',
      rows,
      present: (item) => item,
      rest: (given) =>
        listFrame(
          rows.slice(0, given).map((item) => item.id),
          given < left.length,
        ),
    });
  },
});
