import test from 'ava';
import OpenAI from 'openai';
import { answer } from '../../worker/support/setup.ts';
import { clientOf, hello, type OpenAiHere, openAiHere } from './support.ts';

type Body = Partial<OpenAI.ChatCompletionCreateParamsNonStreaming>;

/** Ask for a completion of the echo that is stored. @returns its id. */
async function store(openai: OpenAI, body: Body = {}): Promise<string> {
  const made = await openai.chat.completions.create({
    model: 'echo',
    messages: hello,
    store: true,
    ...body,
  });
  return made.id;
}

async function idsOf(openai: OpenAI, query: OpenAI.ChatCompletionListParams = {}): Promise<string[]> {
  const ids: string[] = [];
  for await (const { id } of openai.chat.completions.list(query)) ids.push(id);
  return ids;
}

/** The keys of two clients. */
async function twoClients({ client, url }: OpenAiHere) {
  const keys = await Promise.all(
    ['first', 'second'].map((name) => client.createKey({ role: 'client', name })),
  );
  return keys.map(({ key }) => clientOf(url, key)) as [OpenAI, OpenAI];
}

test('stored completions are listed oldest first, in pages, and each key lists its own', async (t) => {
  const here = await openAiHere(t);
  const [first, second] = await twoClients(here);
  const ids = [await store(first), await store(first), await store(first)];
  const others = [await store(second)];
  await first.chat.completions.create({ model: 'echo', messages: hello });
  await first.chat.completions.create({ model: 'echo', messages: hello, store: false });
  t.deepEqual(await idsOf(first), ids);
  t.deepEqual(await idsOf(first, { order: 'desc' }), ids.toReversed());
  t.deepEqual(await idsOf(second), others);
  t.deepEqual(await idsOf(here.openai), [...ids, ...others]);
  for (const order of ['asc', 'desc'] as const) {
    const inOrder = order === 'asc' ? ids : ids.toReversed();
    t.deepEqual(await idsOf(first, { limit: 1, order }), inOrder);
    t.deepEqual(await idsOf(first, { limit: 2, order }), inOrder);
    t.deepEqual(await idsOf(first, { after: inOrder[1] ?? '', order }), inOrder.slice(2));
  }
  const response = await first.chat.completions.list({ limit: 2 }).asResponse();
  const { data, ...frame } = (await response.json()) as { data: OpenAI.ChatCompletion[] };
  t.deepEqual(frame as object, {
    object: 'list',
    first_id: ids[0],
    last_id: ids[1],
    has_more: true,
  });
  t.like(data[1], { id: ids[1], object: 'chat.completion', model: 'echo/echo' });
  t.regex(response.headers.get('openai-processing-ms') ?? '', /^\d+$/);
});

test('a job that has not ended is not in the list', async (t) => {
  const { openai, held } = await openAiHere(t);
  const asked = store(openai, { model: 'held/m' });
  const run = await held.next();
  t.deepEqual(await idsOf(openai), []);
  run.end(answer('Hello'));
  const id = await asked;
  t.deepEqual(await idsOf(openai), [id]);
});

test('the list is filtered by the model, as asked for or as it ran, and by metadata as it is now', async (t) => {
  const { openai } = await openAiHere(t);
  const plain = await store(openai);
  const tagged = await store(openai, { model: 'echo/other', metadata: { team: 'a', kind: 'x' }, user: 'u' });
  t.deepEqual(await idsOf(openai, { model: 'echo' }), [plain]);
  t.deepEqual(await idsOf(openai, { model: 'echo/echo' }), [plain]);
  t.deepEqual(await idsOf(openai, { model: 'echo/other' }), [tagged]);
  t.deepEqual(await idsOf(openai, { metadata: { team: 'a' } }), [tagged]);
  t.deepEqual(await idsOf(openai, { metadata: { team: 'a', kind: 'y' } }), []);
  t.deepEqual(await idsOf(openai, { metadata: { constructor: 'a' } }), []);
  await openai.chat.completions.update(plain, { metadata: { team: 'b' } });
  t.deepEqual(await idsOf(openai, { metadata: { team: 'b' } }), [plain]);
  t.deepEqual((await openai.chat.completions.retrieve(tagged)).metadata, { team: 'a', kind: 'x' });
});

test('metadata is replaced, null takes it away, and the job keeps its own', async (t) => {
  const here = await openAiHere(t);
  const { openai, client } = here;
  const made = await openai.chat.completions.create({
    model: 'echo',
    messages: hello,
    metadata: { a: '1' },
    store: true,
  });
  t.deepEqual(made.metadata, { a: '1' });
  const change = (metadata: Record<string, string> | null) =>
    openai.chat.completions.update(made.id, { metadata });
  const changed = await change({ b: '2' });
  t.like(changed, { id: made.id, object: 'chat.completion', choices: made.choices });
  t.deepEqual(changed.metadata, { b: '2' });
  t.deepEqual((await openai.chat.completions.retrieve(made.id)).metadata, { b: '2' });
  t.is((await change(null)).metadata, undefined);
  const [job] = (await client.jobs()).jobs;
  t.deepEqual((await client.job(job?.id ?? '')).metadata, { a: '1' });
  for (const [metadata, param] of [
    [{ b: 2 }, 'metadata.b'],
    ['text', 'metadata'],
    [undefined, 'metadata'],
    [{ b: 'x'.repeat(513) }, 'metadata.b'],
    [{ ['x'.repeat(65)]: 'b' }, 'metadata'],
    [Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`k${index}`, ''])), 'metadata'],
  ] as const) {
    const refused = change(metadata as unknown as Record<string, string>);
    const error = await t.throwsAsync(refused, { instanceOf: OpenAI.BadRequestError });
    t.like(error, { code: 'invalid_value', param });
  }
});

test('a deleted completion is gone on every route, and its job remains', async (t) => {
  const here = await openAiHere(t);
  const { openai, client } = here;
  const [id, other] = [await store(openai), await store(openai)];
  t.deepEqual(await openai.chat.completions.delete(id), {
    id,
    object: 'chat.completion.deleted',
    deleted: true,
  });
  const gone = [
    () => openai.chat.completions.retrieve(id),
    () => openai.chat.completions.update(id, { metadata: {} }),
    () => openai.chat.completions.delete(id),
    () => openai.chat.completions.messages.list(id),
  ];
  for (const call of gone) {
    t.like(await t.throwsAsync(async () => call(), { instanceOf: OpenAI.NotFoundError }), {
      code: 'not_found',
    });
  }
  t.deepEqual(await idsOf(openai), [other]);
  t.deepEqual(await idsOf(openai, { after: id }), [other], 'its place is known');
  t.like(await client.jobs(), { total: 2 });
});

test('messages are those of the request, with ids, in pages', async (t) => {
  const { openai } = await openAiHere(t);
  const parts = [{ type: 'text' as const, text: 'What is this?' }];
  const messages: OpenAI.ChatCompletionMessageParam[] = [
    { role: 'system', content: 'Be brief' },
    { role: 'user', content: parts, name: 'Ann' },
    { role: 'user', content: 'Now' },
  ];
  const id = await store(openai, { messages });
  const read = async (query: OpenAI.Chat.Completions.MessageListParams) => {
    const found: unknown[] = [];
    for await (const message of openai.chat.completions.messages.list(id, query)) found.push(message);
    return found;
  };
  const shown = [
    { id: `${id}-0`, role: 'system', content: 'Be brief', content_parts: null, name: null },
    { id: `${id}-1`, role: 'user', content: null, content_parts: parts, name: 'Ann' },
    { id: `${id}-2`, role: 'user', content: 'Now', content_parts: null, name: null },
  ];
  t.deepEqual(await read({}), shown);
  t.deepEqual(await read({ limit: 1 }), shown);
  t.deepEqual(await read({ limit: 2, order: 'desc' }), shown.toReversed());
  t.deepEqual(await read({ after: `${id}-1` }), shown.slice(2));
  t.deepEqual(await read({ after: `${id}-1`, order: 'desc' }), shown.slice(0, 1));
  const error = await t.throwsAsync(read({ after: `${id}-3` }), { instanceOf: OpenAI.BadRequestError });
  t.like(error, { code: 'invalid_value', param: 'after' });
});

test('another client key finds nothing, and a viewer reads but changes nothing', async (t) => {
  const here = await openAiHere(t);
  const [first, second] = await twoClients(here);
  const id = await store(first);
  for (const call of [
    () => second.chat.completions.retrieve(id),
    () => second.chat.completions.update(id, { metadata: {} }),
    () => second.chat.completions.delete(id),
    () => second.chat.completions.messages.list(id),
  ])
    await t.throwsAsync(async () => call(), { instanceOf: OpenAI.NotFoundError });
  await t.throwsAsync(async () => second.chat.completions.list({ after: id }), {
    instanceOf: OpenAI.BadRequestError,
  });
  const { key } = await here.client.createKey({ role: 'viewer', name: 'viewer' });
  const viewer = clientOf(here.url, key);
  t.is((await viewer.chat.completions.retrieve(id)).id, id);
  t.is((await viewer.chat.completions.messages.list(id)).data.length, 1);
  t.deepEqual(await idsOf(viewer), [id]);
  for (const call of [
    () => viewer.chat.completions.update(id, { metadata: {} }),
    () => viewer.chat.completions.delete(id),
  ])
    await t.throwsAsync(async () => call(), { instanceOf: OpenAI.PermissionDeniedError });
});

test('what a list cannot be asked for is a 400 that names the parameter', async (t) => {
  const { openai } = await openAiHere(t);
  for (const [query, param] of [
    [{ limit: 0 }, 'limit'],
    [{ limit: 101 }, 'limit'],
    [{ limit: '1e1' }, 'limit'],
    [{ order: 'up' }, 'order'],
    [{ after: 'chatcmpl-1' }, 'after'],
    [{ after: `chatcmpl-${'0'.repeat(32)}` }, 'after'],
  ] as const) {
    const listed = openai.chat.completions.list(query as OpenAI.ChatCompletionListParams);
    const error = await t.throwsAsync(async () => listed, { instanceOf: OpenAI.BadRequestError });
    t.like(error, { code: 'invalid_value', param });
  }
  t.deepEqual(await idsOf(openai, { anything: 'else' } as OpenAI.ChatCompletionListParams), []);
});
