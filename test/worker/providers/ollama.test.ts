import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import type { Clock } from '../../../src/domain/clock.ts';
import type { Assignment } from '../../../src/domain/workerProtocol.ts';
import { systemClock } from '../../../src/lib/systemClock.ts';
import { ProviderUnreachable, type RunOutcome } from '../../../src/worker/provider.ts';
import type { Timeouts } from '../../../src/worker/providers/http/timeoutWatch.ts';
import { createOllama } from '../../../src/worker/providers/ollama.ts';
import { testProvider } from '../../conformance/provider.ts';
import { type FakeOllama, fakeOllama } from '../../fixtures/providers/ollama.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { job } from '../support/setup.ts';

const apiKey = 'a-secret-key-of-a-provider';

testProvider('ollama', async (t) => {
  const fake = await fakeOllama(t);
  return {
    provider: createOllama({ name: 'ollama', baseUrl: fake.url, apiKey, model: 'llama3.2' }),
    answered: { input: 'The sky over the sea' },
    answeredOtherwise: { model: 'other' },
    endless: { model: 'endless' },
    failing: [
      { job: { model: 'missing' }, class: 'model_not_found', status: 404 },
      { job: { model: 'busy' }, class: 'overloaded', status: 503 },
      { job: { model: 'bad' }, class: 'invalid_request', status: 400 },
      { job: { model: 'long' }, class: 'context_overflow', status: 400 },
      { job: { model: 'large' }, class: 'model_not_loaded', status: 500 },
      { job: { model: 'crashed' }, class: 'server_error', status: 500 },
      { job: { model: 'limited' }, class: 'rate_limited', status: 429 },
      { job: { model: 'locked' }, class: 'auth', status: 401 },
      { job: { model: 'page' }, class: 'unknown', status: 404 },
      { job: { model: 'dropped' }, class: 'network' },
      { job: { model: 'reset' }, class: 'server_error' },
      { job: { model: 'cut' }, class: 'server_error' },
      { job: { model: 'failing' }, class: 'server_error' },
      { job: { model: 'garbled' }, class: 'server_error' },
    ],
    secrets: [apiKey],
    whenClosed: () => fake.closed(),
  };
});

interface Begun {
  fake: FakeOllama;
  pieces: string[];
  outcome: Promise<RunOutcome>;
}

/** Run a job on a fake server. */
async function run(
  t: ExecutionContext,
  more: Partial<Assignment>,
  {
    clock = systemClock as Clock,
    timeouts = undefined as Timeouts | undefined,
    model = 'llama3.2' as string | null,
  } = {},
): Promise<Begun> {
  const fake = await fakeOllama(t);
  const provider = createOllama({
    name: 'ollama',
    baseUrl: `${fake.url}/`,
    apiKey: null,
    model,
    ...(timeouts && { timeouts }),
  });
  const pieces: string[] = [];
  const { signal } = new AbortController();
  const context = { clock, signal, onText: (text: string) => pieces.push(text), onPart: () => {} };
  return { fake, pieces, outcome: provider.run(job('a', { provider: 'ollama', ...more }), context) };
}

const errorOf = (outcome: RunOutcome) => (outcome.ok ? null : outcome.error);

test('the answer comes as it is made, with the usage and the model of the last line', async (t) => {
  const { pieces, outcome } = await run(t, {});
  t.deepEqual(await outcome, {
    ok: true,
    result: {
      output: 'The sky is blau – größer 👍.',
      finish_reason: 'stop',
      model: 'llama3.2',
      usage: { input_tokens: 26, output_tokens: 4, total_tokens: 30 },
      raw_usage: {
        prompt_eval_count: 26,
        eval_count: 4,
        total_duration: 4_883_583_458,
        load_duration: 1_334_875,
        prompt_eval_duration: 342_546_000,
        eval_duration: 4_535_599_000,
      },
    },
  });
  t.deepEqual(pieces, ['The sky', ' is', ' blau', ' – größer 👍.']);
});

test('thinking is no output, and the reason of the end is told', async (t) => {
  const { pieces, outcome } = await run(t, { model: 'thinking' });
  t.like(await outcome, { ok: true, result: { output: 'Yes', finish_reason: 'length' } });
  t.deepEqual(pieces, ['Yes']);
});

test('a count that the server leaves out is unknown, not 0; a last line needs no newline', async (t) => {
  const { outcome } = await run(t, { model: 'cached' });
  const ended = await outcome;
  t.deepEqual(ended.ok && ended.result.usage, { output_tokens: 4 });
});

test('with an input the prompt is the system message; nothing may be cut off silently', async (t) => {
  const { fake, outcome } = await run(t, { prompt: 'Summarise.', input: 'The sea.' });
  await outcome;
  t.deepEqual(fake.asked, [
    {
      model: 'llama3.2',
      messages: [
        { role: 'system', content: 'Summarise.' },
        { role: 'user', content: 'The sea.' },
      ],
      stream: true,
      truncate: false,
      shift: false,
      options: {},
    },
  ]);
  t.is(fake.requests[0]?.headers['content-type'], 'application/json');
});

test('params become options of the model, and what stands beside them', async (t) => {
  const schema = { type: 'object' };
  const { fake, outcome } = await run(t, {
    params: {
      num_ctx: 8192,
      temperature: 0,
      max_tokens: 50,
      stop: 'END',
      seed: null,
      keep_alive: '10m',
      think: false,
      stream: false,
      echo_delay_ms: 5,
      response_format: { type: 'json_schema', json_schema: { name: 'x', schema } },
      options: { top_k: 5 },
    },
  });
  await outcome;
  t.like(fake.asked[0], { stream: true, keep_alive: '10m', think: false, format: schema });
  t.deepEqual(fake.asked[0]?.options, {
    num_ctx: 8192,
    temperature: 0,
    num_predict: 50,
    stop: ['END'],
    top_k: 5,
  });
});

test('messages go as they are; texts in parts are joined, images go as base64', async (t) => {
  const { fake, outcome } = await run(t, {
    prompt: null,
    messages: [
      { role: 'developer', content: 'Be brief' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is ' },
          { type: 'text', text: 'this?' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,aGVsbG8=' } },
        ],
      },
    ],
  });
  await outcome;
  t.deepEqual(fake.asked[0]?.messages, [
    { role: 'system', content: 'Be brief' },
    { role: 'user', content: 'What is this?', images: ['aGVsbG8='] },
  ]);
});

test('what cannot be asked fails the job without asking', async (t) => {
  const image = { type: 'image_url', image_url: { url: 'https://host/cat.png' } };
  const cases: [Partial<Assignment>, RegExp][] = [
    [
      { prompt: null, messages: [{ role: 'user', content: [image] }] },
      /messages\[0\]\.content\[0\] is neither/,
    ],
    [{ prompt: null, messages: [{ role: 'user', content: 5 }] }, /neither text nor a list/],
    [{ params: { tools: {} } }, /params\.tools must be a list/],
    [{ params: { tool_choice: 'required' } }, /params\.tool_choice is not supported by ollama/],
    [{ params: { top_kk: 5 } }, /params\.top_kk is not known to ollama/],
    [{ params: { n: 2 } }, /params\.n is not supported/],
    [{ prompt: '', input: '' }, /neither a prompt nor a message/],
  ];
  for (const [more, message] of cases) {
    const { fake, outcome } = await run(t, more);
    const error = errorOf(await outcome);
    t.is(error?.class, 'invalid_request');
    t.regex(error?.message ?? '', message);
    t.is(fake.requests.length, 0);
  }
});

test('a model that is missing is said in the words that users look for', async (t) => {
  const { outcome } = await run(t, { model: 'missing' });
  t.is(errorOf(await outcome)?.message, 'Model not found: model "missing" not found, try pulling it first');
  const nameless = await run(t, {}, { model: null });
  t.like(errorOf(await nameless.outcome), { class: 'model_not_loaded' });
  t.regex(
    errorOf(await nameless.outcome)?.message ?? '',
    /^No model loaded: .*ollama\.model is not configured$/,
  );
});

test('Retry-After is handed on', async (t) => {
  const { outcome } = await run(t, { model: 'limited' });
  t.is(errorOf(await outcome)?.retry_after_seconds, 17);
});

test('a prompt that does not fit says what helps', async (t) => {
  const { outcome } = await run(t, { model: 'long' });
  t.regex(errorOf(await outcome)?.message ?? '', /context length; params\.num_ctx sets a larger window$/);
});

const timeouts = { connectMs: 10_000, firstMs: 600_000, idleMs: 60_000, totalMs: 0 };

test('a model that takes long to load is waited for, far longer than five minutes, and not for ever', async (t) => {
  const clock = new FakeClock();
  const { fake, outcome } = await run(t, { model: 'silent' }, { clock, timeouts });
  await fake.askedFor(1);
  clock.advance(599_999);
  clock.advance(1);
  t.like(errorOf(await outcome), { class: 'timeout' });
  t.regex(errorOf(await outcome)?.message ?? '', /nothing was answered within 600 s$/);
  await fake.closed();
  t.is(clock.untilNext, null, 'no timer is left');
});

test('an answer that stops coming ends the run', async (t) => {
  const clock = new FakeClock();
  const { fake, pieces, outcome } = await run(t, { model: 'stalled' }, { clock, timeouts });
  await fake.askedFor(1);
  await clock.timerWithin(60_000);
  while (pieces.length === 0) await new Promise((resolve) => setImmediate(resolve));
  clock.advance(60_000);
  t.like(errorOf(await outcome), { class: 'timeout' });
  t.regex(errorOf(await outcome)?.message ?? '', /nothing more came within 60 s$/);
  await fake.closed();
});

test('a connection that is not made in time is given up', async (t) => {
  // It takes the connection and never answers the TLS hello.
  const deaf = createServer();
  deaf.listen(0, '127.0.0.1');
  await once(deaf, 'listening');
  t.teardown(() => deaf.close());
  const baseUrl = `https://127.0.0.1:${(deaf.address() as AddressInfo).port}`;
  const clock = new FakeClock();
  const provider = createOllama({ name: 'ollama', baseUrl, apiKey: null, model: 'm', timeouts });
  const context = { clock, signal: new AbortController().signal, onText: () => {}, onPart: () => {} };
  const connected = once(deaf, 'connection');
  const outcome = provider.run(job('a', { provider: 'ollama' }), context);
  await connected;
  clock.advance(10_000);
  t.regex(errorOf(await outcome)?.message ?? '', /no connection within 10 s$/);
});

test('a server that is not there is a failure of the network, with its address', async (t) => {
  const provider = createOllama({
    name: 'ollama',
    baseUrl: 'http://127.0.0.1:9/x',
    apiKey: null,
    model: 'm',
  });
  const context = {
    clock: systemClock,
    signal: new AbortController().signal,
    onText: () => {},
    onPart: () => {},
  };
  const outcome = await provider.run(job('a', { provider: 'ollama' }), context);
  t.like(errorOf(outcome), { class: 'network', code: 'ECONNREFUSED' });
  t.regex(
    errorOf(outcome)?.message ?? '',
    /at http:\/\/127\.0\.0\.1:9\/x does not answer: the connection was refused/,
  );
});

test('its models are listed under every name that it takes', async (t) => {
  const fake = await fakeOllama(t);
  const provider = createOllama({ name: 'ollama', baseUrl: fake.url, apiKey: null, model: null });
  t.deepEqual(await provider.models(), ['llama3.2:latest', 'llama3.2', 'qwen3:8b']);
  fake.models = [];
  t.deepEqual(await provider.models(), []);
});

test('a server that cannot be reached when models are listed says where it was looked for and what to do', async (t) => {
  const gone = createOllama({
    name: 'ollama',
    baseUrl: 'http://me:secret@127.0.0.1:9',
    apiKey: null,
    model: null,
  });
  await t.throwsAsync(gone.models(), {
    instanceOf: ProviderUnreachable,
    message:
      'could not connect to the ollama server at http://127.0.0.1:9: the connection was refused (ECONNREFUSED). Start it with "ollama serve". If it is elsewhere, set SVC_LOCAL_MODEL_HOST or providers.ollama.base_url',
  });
  const fake = await fakeOllama(t);
  const other = createOllama({ name: 'ollama', baseUrl: `${fake.url}/elsewhere`, apiKey: null, model: null });
  await t.throwsAsync(other.models(), {
    instanceOf: ProviderUnreachable,
    message: /\(status \d+\) does not answer like ollama/,
  });
  const baseUrl = fake.url.replace('http:', 'https:');
  const plain = createOllama({ name: 'ollama', baseUrl, apiKey: null, model: null });
  // It runs: to start it is no advice.
  await t.throwsAsync(plain.models(), {
    instanceOf: ProviderUnreachable,
    message: /it does not use TLS: should the address begin with http:\/\/ \(EPROTO\)\. If it is elsewhere/,
  });
});
