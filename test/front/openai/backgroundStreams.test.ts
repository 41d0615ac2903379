import { readdirSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { adminKey, startCoordinator, startWorker, until } from '../../support/process.ts';
import { answer } from '../../worker/support/setup.ts';
import {
  clientOf,
  eventsOf,
  listOf,
  type OpenAiHere,
  openAiHere,
  postResponse,
  type ResponseEvent,
  responseEventsOf,
} from './support.ts';

const ask = { model: 'held/m', input: 'Say hello', background: true, stream: true };

function resumed({ url }: { url: string }, id: string, after?: number): Promise<Response> {
  const query = after === undefined ? '' : `&starting_after=${after}`;
  return fetch(`${url}/v1/responses/${id}?stream=true${query}`, {
    headers: { authorization: `Bearer ${adminKey}` },
  });
}

function idOf(jobId: string): string {
  return `resp_${jobId.replaceAll('-', '')}`;
}

/** The next event of a type. */
async function nextOf(events: AsyncGenerator<ResponseEvent>, type: string): Promise<ResponseEvent> {
  for (;;) {
    const { value, done } = await events.next();
    if (done === true) throw new Error(`the stream ended without ${type}`);
    if (value.type === type) return value;
  }
}

/** A stream in the background of which one piece was read. */
async function begun(here: OpenAiHere) {
  const response = await postResponse(here, ask);
  const events = responseEventsOf(response);
  const run = await here.held.next();
  run.context.onText('Hel');
  const delta = await nextOf(events, 'response.output_text.delta');
  return { id: idOf(run.assignment.job_id), run, events, delta };
}

test('everyone who reads it gets the same events, from the beginning or from a number on, then and later', async (t) => {
  const here = await openAiHere(t);
  const { id, run, events, delta } = await begun(here);
  t.is(delta.delta, 'Hel');
  const second = responseEventsOf(await resumed(here, id));
  t.deepEqual(await nextOf(second, 'response.output_text.delta'), delta);
  run.context.onPart({ type: 'reasoning', text: 'Hm' });
  run.context.onText('lo');
  await nextOf(events, 'response.reasoning_summary_text.delta');
  run.end(answer('Hello!'));
  const rest = await listOf(events);
  t.is(rest.at(-1)?.type, 'response.completed');
  t.deepEqual((await listOf(second)).slice(-rest.length), rest);
  const all = await listOf(responseEventsOf(await resumed(here, id)));
  t.deepEqual(
    all.slice(0, 3).map(({ type }) => type),
    ['response.created', 'response.queued', 'response.in_progress'],
  );
  t.deepEqual(all.slice(-rest.length), rest);
  for (const after of [0, delta.sequence_number, all.length - 2]) {
    const later = await listOf(responseEventsOf(await resumed(here, id, after), after + 1));
    t.deepEqual(later, all.slice(after + 1));
  }
  t.deepEqual(await listOf(responseEventsOf(await resumed(here, id, all.length))), []);
});

test("the SDK's helper resumes a stream, and its raw stream does", async (t) => {
  const here = await openAiHere(t);
  const { id, run, delta } = await begun(here);
  const stream = here.openai.responses.stream({ response_id: id, starting_after: delta.sequence_number });
  const seen: number[] = [];
  stream.on('event', ({ sequence_number: number }) => seen.push(number));
  const raw = await here.openai.responses.retrieve(id, {
    stream: true,
    starting_after: delta.sequence_number,
  });
  run.end(answer('Hello'));
  t.is((await stream.finalResponse()).output_text, 'Hello');
  t.is(seen[0], delta.sequence_number + 1);
  const events = await listOf(raw);
  t.deepEqual(
    events.map(({ sequence_number: number }) => number),
    seen,
  );
});

test('a client that hangs up at the first event loses nothing', async (t) => {
  const here = await openAiHere(t);
  const asked = request(`${here.url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
  });
  asked.on('error', () => {});
  const gone = new Promise((resolve) => asked.once('close', resolve));
  asked.once('response', (response) => response.once('data', () => response.destroy()));
  asked.end(JSON.stringify(ask));
  const run = await here.held.next();
  await gone;
  const id = idOf(run.assignment.job_id);
  run.context.onText('Hel');
  const events = responseEventsOf(await resumed(here, id));
  t.is((await nextOf(events, 'response.output_text.delta')).delta, 'Hel');
  run.end(answer('Hello'));
  t.is((await nextOf(events, 'response.output_text.done')).text, 'Hello');
  t.like(await here.openai.responses.retrieve(id), { status: 'completed', background: true });
});

test('a response that waits can be cancelled while it is streamed, and deleted with what was recorded', async (t) => {
  const here = await openAiHere(t);
  const { id, events } = await begun(here);
  t.like(await here.openai.responses.cancel(id), { status: 'cancelled' });
  t.like((await listOf(events)).at(-1), { type: 'error', code: 'job_cancelled' });
  const again = await listOf(responseEventsOf(await resumed(here, id)));
  t.like(again.at(-1), { type: 'error', code: 'job_cancelled' });
  t.is(again.filter(({ type }) => type === 'response.output_text.delta').length, 1);
  await here.openai.responses.delete(id);
  t.is((await resumed(here, id)).status, 404);
  await here.client.pauseQueue();
  const waiting = await postResponse(here, ask);
  const waitingId = idOf(waiting.headers.get('x-svc-job-id') ?? '');
  const early = responseEventsOf(waiting);
  await nextOf(early, 'response.queued');
  await here.openai.responses.cancel(waitingId);
  t.like((await listOf(early)).at(0), { type: 'error', sequence_number: 2 });
});

test('a failed attempt after text ends every stream with an error, then and later; the response goes on', async (t) => {
  const here = await openAiHere(t);
  const { id, run, events } = await begun(here);
  run.end({ ok: false, error: { class: 'overloaded', message: 'busy', status: 503 } });
  const error = (await listOf(events)).at(-1);
  t.like(error, { type: 'error', code: 'attempt_failed_midstream' });
  (await here.held.next()).end(answer('Hello'));
  await until(
    'it is completed',
    async () => (await here.openai.responses.retrieve(id)).status === 'completed',
  );
  const again = await listOf(responseEventsOf(await resumed(here, id)));
  t.deepEqual(again.at(-1), error);
  t.is((await here.openai.responses.retrieve(id)).output_text, 'Hello');
  const failing = await postResponse(here, { ...ask, model: 'echo', echo_fail: 'invalid_request' });
  const failed = await listOf(responseEventsOf(failing));
  t.like(failed.at(-1), { type: 'response.failed', response: { error: { code: 'invalid_prompt' } } });
});

test('only a stream in the background can be streamed again, and numbers must be numbers', async (t) => {
  const here = await openAiHere(t);
  const { id } = await here.openai.responses.create({ model: 'echo', input: 'Hi', background: true });
  const refused = await resumed(here, id);
  t.is(refused.status, 400);
  t.like(await refused.json(), { error: { param: 'stream' } });
  const streamed = await postResponse(here, { ...ask, model: 'echo' });
  const events = await listOf(responseEventsOf(streamed));
  t.is(events.at(-1)?.type, 'response.completed');
  const echoId = idOf(streamed.headers.get('x-svc-job-id') ?? '');
  const odd = await fetch(`${here.url}/v1/responses/${echoId}?stream=true&starting_after=x`, {
    headers: { authorization: `Bearer ${adminKey}` },
  });
  t.is(odd.status, 400);
  t.like(await odd.json(), { error: { param: 'starting_after' } });
});

test('a coordinator that stops ends its streams with an error that takes no number', async (t) => {
  const here = await openAiHere(t);
  const { events, delta } = await begun(here);
  const stopped = here.stop();
  const last = (await listOf(events)).at(-1);
  t.like(last, { type: 'error', code: 'still_running', sequence_number: delta.sequence_number });
  await stopped;
});

test('comments say why a response waits', async (t) => {
  const here = await openAiHere(t);
  await here.client.pauseQueue();
  for (const background of [true, false]) {
    const abort = new AbortController();
    const response = await postResponse(here, { ...ask, background }, { signal: abort.signal });
    const comments: string[] = [];
    for await (const event of eventsOf(response)) {
      if (String(event).startsWith(':')) comments.push(String(event));
      if (comments.length > 0) break;
    }
    t.regex(comments[0] ?? '', /^: queued position=\d+ reason=queue_paused/);
    abort.abort();
  }
});

test('the same Idempotency-Key reads the same stream', async (t) => {
  const here = await openAiHere(t);
  const options = { headers: { 'idempotency-key': 'b-1' } };
  const first = responseEventsOf(await postResponse(here, ask, options));
  const run = await here.held.next();
  run.context.onText('Hel');
  await nextOf(first, 'response.output_text.delta');
  const second = responseEventsOf(await postResponse(here, ask, options));
  await nextOf(second, 'response.output_text.delta');
  run.end(answer('Hello'));
  t.deepEqual(await listOf(second), await listOf(first));
});

test.serial(
  'an hour after its end a stream is made of the result, and has no numbers to go on from',
  async (t) => {
    const here = await openAiHere(t);
    const { id, run, events } = await begun(here);
    run.end(answer('Hello'));
    await listOf(events);
    const { now } = Date;
    Date.now = () => now() + 3_600_001;
    try {
      const late = await resumed(here, id, 3);
      t.is(late.status, 400);
      t.like(await late.json(), { error: { code: 'stream_expired', param: 'starting_after' } });
      const all = await listOf(responseEventsOf(await resumed(here, id)));
      t.like(all.at(-1), { type: 'response.completed' });
    } finally {
      Date.now = now;
    }
  },
);

/** A real coordinator that is killed after a client has read 15 events of a stream in the background. */
async function killedAfter15(t: ExecutionContext) {
  const first = await startCoordinator(t);
  const worker = startWorker(t, first);
  await until('the worker is connected', async () => (await first.client.workers()).total > 0);
  const words = Array.from({ length: 200 }, (_, n) => `word${n} `).join('');
  const echo = { echo_output: words, echo_delay_ms: 4_000, echo_chunk_ms: 50 };
  const response = await postResponse(first, { ...ask, model: 'echo', ...echo });
  const id = idOf(response.headers.get('x-svc-job-id') ?? '');
  const seen: ResponseEvent[] = [];
  for await (const event of responseEventsOf(response)) {
    seen.push(event);
    if (seen.length === 15) break;
  }
  await first.process.kill();
  return { id, seen, words, worker, again: first.again };
}

test('a stream goes on after kill -9 where the client has read to, from what was recorded and the result', async (t) => {
  const { id, seen, words, again } = await killedAfter15(t);
  const second = await again();
  const spools = readdirSync(join(second.folder, 'files')).filter((name) => name.startsWith('stream-'));
  t.is(spools.length, 1);
  const rest = await listOf(responseEventsOf(await resumed(second, id, 14), 15));
  const textOf = (events: ResponseEvent[]) =>
    events.map(({ type, delta }) => (type === 'response.output_text.delta' ? delta : '')).join('');
  t.is(textOf([...seen, ...rest]), words);
  t.like(rest.at(-1), { type: 'response.completed', response: { id, status: 'completed' } });
  const all = await listOf(responseEventsOf(await resumed(second, id)));
  t.deepEqual(all, [...seen, ...rest]);
  const stream = clientOf(second.url).responses.stream({ response_id: id, starting_after: 14 });
  t.is((await stream.finalResponse()).output_text, words);
});

test('a stream ends with an error when its attempt was lost with the coordinator; the response has the next one', async (t) => {
  const { id, seen, words, worker, again } = await killedAfter15(t);
  await worker.kill();
  const second = await again();
  startWorker(t, second, ['--name', 'other']);
  const events = await listOf(responseEventsOf(await resumed(second, id)));
  t.deepEqual(events.slice(0, seen.length), seen);
  t.like(events.at(-1), { type: 'error', code: 'attempt_failed_midstream' });
  t.like(await clientOf(second.url).responses.retrieve(id), { status: 'completed', output_text: words });
});
