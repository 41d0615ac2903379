import test from 'ava';
import {
  bodyOf,
  draftOf,
  emptyDraft,
  newIdempotencyKey,
  problemsOf,
} from '../../src/dashboard/pages/newJob/draft.ts';
import { suggestionsOf } from '../../src/dashboard/pages/newJob/suggestions.ts';
import type { WireJob } from '../../src/domain/wire/job.ts';
import type { WireWorker } from '../../src/domain/wire/worker.ts';

test('a draft becomes a body with what is filled in, and nothing else', (t) => {
  t.deepEqual(bodyOf({ ...emptyDraft, prompt: 'Say hello' }), {
    body: { prompt: 'Say hello' },
    problems: {},
  });
  const { body, problems } = bodyOf({
    isChat: true,
    prompt: 'not sent',
    messages: '[{"role": "user", "content": "Hi"}]',
    input: ' spaces stay ',
    provider: ' echo ',
    model: 'm',
    priority: 'high',
    tier: 'batch',
    tags: 'a, b,,c ',
    params: '{"temperature": 0.2}',
    metadata: 'ticket=42\nquery=a=b\n',
    timeout: '0',
  });
  t.deepEqual(problems, {});
  t.deepEqual(body, {
    messages: [{ role: 'user', content: 'Hi' }],
    input: ' spaces stay ',
    provider: 'echo',
    model: 'm',
    priority: 'high',
    tier: 'batch',
    tags: ['a', 'b', 'c'],
    params: { temperature: 0.2 },
    metadata: { ticket: '42', query: 'a=b' },
    timeout_seconds: 0,
  });
});

test('what cannot be sent is named at its field', (t) => {
  const { problems } = bodyOf({
    ...emptyDraft,
    isChat: true,
    messages: '[',
    params: '{temperature}',
    metadata: 'no equals sign',
    timeout: 'soon',
  });
  t.deepEqual(Object.keys(problems).sort(), ['messages', 'metadata', 'params', 'timeout']);
});

test('a job is a draft, and its body asks for the same again', (t) => {
  const asked = {
    prompt: 'Say hello',
    input: 'x',
    provider: 'echo',
    priority: 'high',
    tags: ['a', 'b'],
    params: { n: [1] },
    metadata: { ticket: '42' },
    timeout_seconds: 5,
  };
  const job = { ...asked, messages: null, model: null, tier: null } as unknown as WireJob;
  t.deepEqual(bodyOf(draftOf(job)).body, asked);
  const messages = [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }];
  const chat = { ...job, prompt: null, messages } as unknown as WireJob;
  t.deepEqual(bodyOf(draftOf(chat)).body.messages, messages);
});

test('what the coordinator refuses stands at the fields that it named', (t) => {
  t.deepEqual(
    problemsOf('The body is not valid', [
      { field: 'tags[1]', message: 'must be at most 200 characters' },
      { field: 'tags', message: 'must not repeat a tag' },
      { field: 'timeout_seconds', message: 'must be positive' },
      { field: 'colour', message: 'is not known' },
    ]),
    {
      tags: 'tags[1] must be at most 200 characters; must not repeat a tag',
      timeout: 'must be positive',
      form: 'colour is not known',
    },
  );
  t.deepEqual(problemsOf('The queue is full', []), { form: 'The queue is full' });
});

test('providers and models are those of connected workers', (t) => {
  const worker = (connected: boolean, models: Record<string, string[]>): WireWorker =>
    ({ connected, models, providers: Object.keys(models) }) as unknown as WireWorker;
  const fleet = [
    worker(true, { ollama: ['b', 'a'], echo: [] }),
    worker(true, { ollama: ['a'], vllm: ['c'] }),
    worker(false, { gone: ['d'] }),
  ];
  t.deepEqual(suggestionsOf(fleet, ''), { providers: ['echo', 'ollama', 'vllm'], models: ['a', 'b', 'c'] });
  t.deepEqual(suggestionsOf(fleet, 'ollama').models, ['a', 'b']);
});

test('an idempotency key is as random as its source', (t) => {
  t.is(
    newIdempotencyKey((bytes) => bytes.fill(171)),
    `form-${'ab'.repeat(16)}`,
  );
});
