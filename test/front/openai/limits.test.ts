import test from 'ava';
import OpenAI from 'openai';
import { StoreUnavailable } from '../../../src/domain/errors.ts';
import { presentError } from '../../../src/front/openai/errors.ts';
import { setupApi } from '../../support/api.ts';
import { answer } from '../../worker/support/setup.ts';
import { clientOf, eventsOf, hello, openAiHere } from './support.ts';

const ask = { model: 'held/m', messages: hello };

test('a full queue is a 429 that the SDK sends again; what made no job may be sent again, nothing else', async (t) => {
  const { openai, post, held, client } = await openAiHere(t, { config: { jobs: { max_pending: 1 } } });
  await client.pauseQueue();
  const first = await post({ ...ask, stream: true });
  const refused = await t.throwsAsync(openai.chat.completions.create(ask), {
    instanceOf: OpenAI.RateLimitError,
  });
  t.like(refused, { code: 'queue_full' });
  t.is((refused as InstanceType<typeof OpenAI.APIError>).headers?.get('x-should-retry'), 'true');
  t.is((refused as InstanceType<typeof OpenAI.APIError>).headers?.get('retry-after'), '10');
  await client.resumeQueue();
  (await held.next()).end(answer('Hello'));
  await first.text();
  t.like(presentError(new StoreUnavailable('disk')), { status: 503, headers: { 'X-Should-Retry': 'true' } });
});

test('a timeout of the client cancels the job, and one of the job is a 504', async (t) => {
  const { openai, held, client } = await openAiHere(t);
  const impatient = openai.withOptions({ timeout: 300 });
  await t.throwsAsync(impatient.chat.completions.create(ask), {
    instanceOf: OpenAI.APIConnectionTimeoutError,
  });
  const { assignment } = await held.next();
  t.like(await client.waitFor(assignment.job_id), { status: 'cancelled' });
  const short = { headers: { 'x-svc-timeout-seconds': '0.2' } };
  t.like(
    await t.throwsAsync(openai.chat.completions.create(ask, short), {
      instanceOf: OpenAI.InternalServerError,
    }),
    {
      status: 504,
      code: 'timeout',
    },
  );
});

test('a key that is taken back ends what it waits for, in the form of OpenAI', async (t) => {
  const { url, held, client } = await openAiHere(t);
  const { key, id } = await client.createKey({ role: 'client', name: 'brief' });
  const brief = clientOf(url, key);
  const whole = brief.chat.completions.create(ask);
  const stream = brief.chat.completions.stream(ask);
  const runs = [await held.next(), await held.next()];
  for (const run of runs) run.context.onText('Hel');
  await new Promise((resolve) => stream.once('content', resolve));
  const refusals = [
    t.throwsAsync(whole, { instanceOf: OpenAI.AuthenticationError }),
    t.throwsAsync(stream.done(), { instanceOf: Error }),
  ];
  await client.revokeKey(id);
  t.like((await Promise.all(refusals))[0], { code: 'invalid_api_key' });
  for (const run of runs) t.like(await client.waitFor(run.assignment.job_id), { status: 'cancelled' });
});

test('who joins a job that runs gets the text so far first', async (t) => {
  const { openai, held } = await openAiHere(t);
  const options = { headers: { 'Idempotency-Key': 'k' } };
  const first = openai.chat.completions.stream(ask, options);
  const run = await held.next();
  run.context.onText('Hel');
  await new Promise((resolve) => first.once('content', resolve));
  const second = openai.chat.completions.stream(ask, options);
  const pieces: string[] = [];
  second.on('content', (piece) => pieces.push(piece));
  await new Promise((resolve) => second.once('content', resolve));
  run.context.onText('lo');
  run.end(answer('Hello'));
  t.is(await first.finalContent(), 'Hello');
  t.is(await second.finalContent(), 'Hello');
  t.is(pieces[0], 'Hel');
  const third = openai.chat.completions.stream(ask, options);
  t.is(await third.finalContent(), 'Hello');
  t.is(held.runs.length, 1);
});

test('a stream whose job waits says its place every ten seconds', async (t) => {
  const { url, clock, keys, coordinator } = await setupApi(t, {
    jobs: { defaultProvider: 'echo' },
  });
  const gone = new AbortController();
  const ask = () =>
    fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${keys.client}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'auto', stream: true, messages: hello }),
      signal: gone.signal,
    });
  await ask();
  const response = await ask();
  const events = eventsOf(response);
  t.is((await events.next()).value, ': queued reason=no_worker');
  clock.advance(10_000);
  t.is((await events.next()).value, ': queued position=2 reason=no_worker');
  clock.advance(10_000);
  t.is((await events.next()).value, ': queued position=2 reason=no_worker');
  gone.abort();
  await coordinator.jobAtEnd(
    response.headers.get('x-svc-job-id') ?? '',
    60_000,
    new AbortController().signal,
  );
  t.pass();
});
