import { pageAnswer } from '../../../http/longJson.ts';
import type { ServedRoute } from '../../../http/route.ts';
import { type Fields, isFields } from '../../../lib/fields.ts';
import { invalidField } from '../errors.ts';
import { chatIdOf } from '../ids.ts';
import { listFrame, readPage } from '../paging.ts';
import { defineDoorRoute } from '../route.ts';
import { completionAnswer } from './answer.ts';
import { completionOf } from './completion.ts';
import { askedModel, findCompletion, shownMetadata } from './find.ts';
import { indexOfMessage, messageId, messagesOf, shownMessage } from './messages.ts';
import { placeOf, readWanted, search } from './search.ts';
import {
  deleteChatCompletion,
  getChatCompletion,
  keyLengthMax,
  listChatCompletionMessages,
  listChatCompletions,
  pairsMax,
  updateChatCompletion,
  valueLengthMax,
} from './storedOperations.ts';

const getCompletion = defineDoorRoute({
  method: 'GET',
  path: '/v1/chat/completions/:id',
  role: 'viewer',
  document: getChatCompletion,
  handle: async ({ params: { id = '' }, principal }, { coordinator }) => {
    const { job, annotation } = await findCompletion(id, principal, coordinator);
    return completionAnswer(job, askedModel(job), { metadata: shownMetadata(job, annotation) });
  },
});

const changeCompletion = defineDoorRoute({
  method: 'POST',
  path: '/v1/chat/completions/:id',
  role: 'client',
  reads: 'smallObject',
  document: updateChatCompletion,
  handle: async ({ params: { id = '' }, principal, body }, { coordinator }) => {
    const metadata = readMetadata(body);
    const { job } = await findCompletion(id, principal, coordinator);
    const annotation = await coordinator.annotations.change(job.id, { metadata });
    return completionAnswer(job, askedModel(job), { metadata: shownMetadata(job, annotation) });
  },
});

const deleteCompletion = defineDoorRoute({
  method: 'DELETE',
  path: '/v1/chat/completions/:id',
  role: 'client',
  document: deleteChatCompletion,
  handle: async ({ params: { id = '' }, principal }, { coordinator }) => {
    const { job } = await findCompletion(id, principal, coordinator);
    await coordinator.annotations.change(job.id, { isDeleted: true });
    return { json: { id, object: 'chat.completion.deleted', deleted: true } };
  },
});

const listMessages = defineDoorRoute({
  method: 'GET',
  path: '/v1/chat/completions/:id/messages',
  role: 'viewer',
  document: listChatCompletionMessages,
  handle: async ({ params: { id = '' }, query, principal }, { coordinator }) => {
    const page = readPage(query);
    const { job } = await findCompletion(id, principal, coordinator);
    const messages = messagesOf(job);
    const start = page.after === null ? null : indexOfMessage(page.after, id, messages.length);
    const indexes = [...messages.keys()];
    const wanted = page.isAscending
      ? indexes.slice(start === null ? 0 : start + 1)
      : indexes.slice(0, start ?? undefined).reverse();
    const rows = wanted.slice(0, page.limit);
    const ids = rows.map((index) => messageId(id, index));
    return pageAnswer({
      name: 'data',
      rows,
      present: (index) => shownMessage(messages[index], messageId(id, index)),
      rest: (given) => listFrame(ids.slice(0, given), given < wanted.length),
    });
  },
});

const listCompletions = defineDoorRoute({
  method: 'GET',
  path: '/v1/chat/completions',
  role: 'viewer',
  document: listChatCompletions,
  handle: async ({ query, principal, whenGone }, { coordinator }) => {
    const page = readPage(query);
    const after = page.after === null ? null : await placeOf(page.after, principal, coordinator);
    const { keyId, role } = principal;
    const createdBy = role === 'client' ? keyId : null;
    const wanted = { ...readWanted(query), createdBy, after };
    const found = await search(wanted, page, coordinator, whenGone());
    const rows = found.slice(0, page.limit);
    const ids = rows.map(({ job }) => chatIdOf(job.id));
    return pageAnswer({
      name: 'data',
      rows,
      present: ({ job, result, metadata }) => completionOf(job, result, askedModel(job), metadata),
      rest: (given) => listFrame(ids.slice(0, given), given < found.length),
    });
  },
});

/** What can be done with completions later. */
export const storedRoutes: readonly ServedRoute[] = [
  listCompletions,
  getCompletion,
  changeCompletion,
  deleteCompletion,
  listMessages,
];

/** @throws OpenAiError invalid_value. */
function readMetadata(body: unknown): Record<string, string> {
  const fields: Fields = isFields(body) ? body : {};
  // null takes all of it away.
  const metadata = fields.metadata === null ? {} : fields.metadata;
  if (!isFields(metadata)) throw invalidField('metadata', 'must be an object');
  const pairs = Object.entries(metadata);
  if (pairs.length > pairsMax) throw invalidField('metadata', `must have at most ${pairsMax} entries`);
  return Object.fromEntries(
    pairs.map(([name, value]) => {
      if (name.length > keyLengthMax)
        throw invalidField('metadata', `must have names of at most ${keyLengthMax} characters`);
      if (typeof value === 'string' && value.length <= valueLengthMax) return [name, value];
      throw invalidField(`metadata.${name}`, `must be a string of at most ${valueLengthMax} characters`);
    }),
  );
}
