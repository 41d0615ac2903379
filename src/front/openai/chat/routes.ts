import { isTerminal } from '../../../domain/states.ts';
import type { ServedRoute } from '../../../http/route.ts';
import { Audience } from '../audience.ts';
import { abandon, dispatch, placed, streamed, untilCompleted } from '../dispatching.ts';
import { completed } from '../ending.ts';
import { chatIdOf } from '../ids.ts';
import { JobStream } from '../jobStream.ts';
import type { Catalogues } from '../models.ts';
import { defineDoorRoute } from '../route.ts';
import { completionAnswer } from './answer.ts';
import { ChatChunks } from './chunks.ts';
import { createOperation } from './operation.ts';
import { parseChat } from './parse.ts';
import { storedRoutes } from './stored.ts';

/** POST /v1/chat/completions and what can be read of it later. */
export function chatRoutes(catalogues: Catalogues): readonly ServedRoute[] {
  const audience = new Audience();
  const createCompletion = defineDoorRoute({
    method: 'POST',
    path: '/v1/chat/completions',
    role: 'client',
    reads: 'object',
    document: createOperation,
    handle: async (request, parts) => {
      const startedAt = parts.clock.monotonic();
      const gone = request.whenGone();
      const chat = parseChat(request.body, request.headers, parts.config());
      const isKeyed = request.headers['idempotency-key'] !== undefined;
      const decide = () => placed(chat.job, chat.model, catalogues, parts);
      const { view } = await dispatch({ asked: chat.job, decide }, request, parts);
      const { id } = view.job;
      // It was sent before, and has its status.
      if (isTerminal(view.job.state)) completed(view);
      const { principal } = request;
      const later = `GET /v1/chat/completions/${chatIdOf(id)}`;
      // Before anything else happens to the job.
      const stream = chat.isStream
        ? new JobStream(view, parts, { principal, presenter: new ChatChunks(chat), later, gone })
        : null;
      const leave = audience.enter(id, {
        gone,
        isKeyed,
        outlivesClient: chat.outlivesClient,
        clock: parts.clock,
        onLeft: (outlivesClients) => void abandon(id, outlivesClients, parts),
      });
      const turn = request.bodyTaken();
      if (turn !== null) await turn;
      if (stream !== null) return streamed(stream, view, leave);
      try {
        const { job, headers } = await untilCompleted(view, { parts, gone, isKeyed, startedAt });
        return completionAnswer(job, chat.model, { headers });
      } finally {
        leave();
      }
    },
  });
  return [createCompletion, ...storedRoutes];
}
