import test, { type ExecutionContext } from 'ava';
import type { DispatchBody, WireJob } from '../../src/domain/wire/job.ts';
import type { WireWorker } from '../../src/domain/wire/worker.ts';
import { endless, refused, stalled, whole } from '../fixtures/providers/answers.ts';
import { anthropic } from '../fixtures/providers/anthropic.ts';
import type { Dialect, Turn } from '../fixtures/providers/dialect.ts';
import { openaiChat, rateLimited } from '../fixtures/providers/openaiChat.ts';
import { lmstudio, lmstudioModels } from '../fixtures/providers/openaiCompatible.ts';
import { type Answer, FakeServer } from '../fixtures/providers/server.ts';
import {
  adminKey,
  calmed,
  type Running,
  type SvcProcess,
  sharedCoordinator,
  startCoordinator,
  startSvc,
  until,
  within,
} from '../support/process.ts';
import { serveConfig } from '../worker/support/configServer.ts';

/**
 * Real coordinators and real `svc worker` processes on servers that speak as the providers do. Every test has its own
 * workers; they run one after the other.
 */

const shared = sharedCoordinator();

const providerKey = 'sk-test-the-key-of-a-provider-0123456789';
const turn: Turn = { model: 'gpt-4o', text: ['The sky', ' is', ' blue.'] };
const localTurn: Turn = { model: 'qwen3-8b', text: ['Cloudy', ' today.'] };
const refusedKey = openaiChat.errors.find(({ title }) => title === '401 a wrong key');
/** From the API's answer to a cancel until the provider sees its socket close. */
const closedWithinMs = 100;

async function fake(t: ExecutionContext, answer: Answer): Promise<FakeServer> {
  const server = await FakeServer.listen(answer);
  t.teardown(() => server.close());
  return server;
}

interface Setup {
  coordinator: Running;
  openai: FakeServer;
  /** Start a worker of this provider and wait until it is connected. */
  worker(name: string, args?: readonly string[]): Promise<SvcProcess>;
}

/** A coordinator and a fake OpenAI; with a configuration, one of the test's own. */
async function setup(t: ExecutionContext, config?: object): Promise<Setup> {
  const openai = await fake(t, whole(openaiChat, turn));
  const coordinator =
    config === undefined ? await calmed(shared()) : await startCoordinator(t, { config: { ...config } });
  const worker: Setup['worker'] = async (name, args = []) => {
    const flags = ['worker', '--provider', 'openai', '--name', name, '--coordinator', coordinator.url];
    const svc = startSvc(t, [...flags, ...args], {
      env: { OPENAI_API_KEY: providerKey },
      config: { providers: { openai: { base_url: `${openai.url}/v1`, api_key_env: 'OPENAI_API_KEY' } } },
    });
    await connected(coordinator, svc, name);
    return svc;
  };
  return { coordinator, openai, worker };
}

async function connected(coordinator: Running, svc: SvcProcess, name: string): Promise<WireWorker> {
  return until(
    () => `${name} is connected: ${svc.said()}`,
    async () => {
      const { workers } = await coordinator.client.workers();
      return workers.find((worker) => worker.name === name && worker.connected);
    },
  );
}

const dispatch = ({ client }: Running, more: Partial<DispatchBody> = {}): Promise<WireJob> =>
  client.dispatch({ prompt: 'Describe the sky', provider: 'openai', model: 'gpt-4o', ...more });

function jobWhen(
  { client }: Running,
  id: string,
  isReached: (job: WireJob) => boolean,
  timeoutMs?: number,
): Promise<WireJob> {
  let last: WireJob | null = null;
  return until(
    () => `job ${id} gets there; it is ${JSON.stringify(last)}`,
    async () => {
      last = await client.job(id);
      return isReached(last) ? last : null;
    },
    timeoutMs,
  );
}

const hasEnded = ({ status }: WireJob) => ['completed', 'failed', 'cancelled'].includes(status);

/** Says its text, and the rest when the gate is opened. */
function gated(dialect: Dialect, said: Turn, gate: Promise<void>): Answer {
  return async ({ asked, response }) => {
    const script = dialect.script(said, asked.body);
    const [first = '', ...rest] = said.text.map((piece) => script.text(piece));
    response.writeHead(200, { 'content-type': dialect.contentType });
    response.write(script.begin().join('') + first);
    await gate;
    response.end(rest.join('') + script.end().join(''));
  };
}

/** The text of a job's event stream, as it comes. */
async function* eventsOf({ url }: Running, id: string): AsyncGenerator<string> {
  const answer = await fetch(`${url}/api/jobs/${id}/events`, {
    headers: { authorization: `Bearer ${adminKey}` },
  });
  if (answer.body === null) throw new Error('no event stream');
  const decoder = new TextDecoder();
  for await (const part of answer.body) yield decoder.decode(part, { stream: true });
}

test.serial('a job is answered, its output is seen as it comes, and what it cost is known', async (t) => {
  const { coordinator, openai, worker } = await setup(t);
  const svc = await worker('cloud');
  const gate = Promise.withResolvers<void>();
  openai.answer(gated(openaiChat, turn, gate.promise));
  const { id } = await dispatch(coordinator);
  let seen = '';
  const streamed = (async () => {
    for await (const part of eventsOf(coordinator, id)) {
      seen += part;
      if (seen.includes('The sky')) gate.resolve();
    }
  })();
  const job = await jobWhen(coordinator, id, hasEnded);
  await within('the event stream ends with the job', streamed);
  t.like(job, { status: 'completed', attempt_count: 1, error: null });
  t.like(job.result, {
    output: 'The sky is blue.',
    finish_reason: 'stop',
    provider: 'openai',
    model: 'gpt-4o',
    usage: { input_tokens: 26, output_tokens: 9, total_tokens: 35 },
  });
  // 26 × 2.50 + 9 × 10 dollars a million.
  t.is(job.cost_usd, 0.000155);
  t.is(job.cost_status, 'known');
  const { latency_ms: latency = 0, first_token_ms: first } = job.result ?? {};
  t.true(typeof first === 'number' && first <= latency && latency > 0, `${first} of ${latency} ms`);
  t.like(openai.bodies[0], { model: 'gpt-4o', stream: true });
  t.is(openai.asked[0]?.headers.authorization, `Bearer ${providerKey}`);
  for (const said of [svc.out, svc.err, coordinator.process.out, JSON.stringify(job), seen]) {
    t.false(said.includes(providerKey), 'the key stays on the worker');
  }
  for (const log of [svc.out, svc.err, coordinator.process.out]) {
    t.false(log.includes('The sky') || log.includes('Describe the sky'), 'no content in logs');
  }
});

test.serial('a key in its usual variable goes to the host that it is for, and to no other', async (t) => {
  const openai = await fake(t, whole(openaiChat, turn));
  const coordinator = await calmed(shared());
  const flags = ['worker', '--provider', 'openai', '--name', 'cloud', '--coordinator', coordinator.url];
  const svc = startSvc(t, flags, {
    env: { OPENAI_API_KEY: providerKey },
    config: { providers: { openai: { base_url: `${openai.url}/v1` } } },
  });
  await connected(coordinator, svc, 'cloud');
  const { id } = await dispatch(coordinator);
  t.is((await jobWhen(coordinator, id, hasEnded)).status, 'completed');
  t.false(JSON.stringify(openai.asked).includes(providerKey));
});

test.serial('a 429 is waited for as long as the provider says, and burns no attempt', async (t) => {
  const rate_limit = { max_concurrent: 5, retry_after_seconds: 60, max_retries: 2 };
  const { coordinator, openai, worker } = await setup(t, { providers: { openai: { rate_limit } } });
  await worker('cloud');
  const row = { title: '', status: 429, body: rateLimited(), class: 'rate_limited' } as const;
  openai.answer(refused({ ...row, headers: { 'retry-after': '1' } }), whole(openaiChat, turn));
  const startedAt = performance.now();
  const { id } = await dispatch(coordinator);
  const waiting = await jobWhen(coordinator, id, ({ waiting }) => waiting?.reason === 'provider_limited');
  t.is(waiting.status, 'pending');
  const job = await jobWhen(coordinator, id, hasEnded);
  const tookMs = performance.now() - startedAt;
  t.is(job.status, 'completed', JSON.stringify(job.error));
  t.true(tookMs >= 1_000 && tookMs < 30_000, `${tookMs.toFixed(0)} ms`);
  t.deepEqual(
    job.attempts.map(({ outcome }) => outcome),
    ['rate_limited', 'completed'],
  );
  t.is(openai.bodies.length, 2);
});

test.serial('without rate_limit a 429 fails the job with the words that users look for', async (t) => {
  const { coordinator, openai, worker } = await setup(t);
  await worker('cloud');
  openai.answer(refused({ title: '', status: 429, body: rateLimited(), class: 'rate_limited' }));
  const { id } = await dispatch(coordinator);
  const { error } = await jobWhen(coordinator, id, hasEnded);
  t.like(error, { class: 'rate_limited', status: 429 });
  t.regex(error?.message ?? '', /^429 Too Many Requests: Rate limit exceeded/);
});

test.serial(
  'a cancel closes the socket to the provider; what it has charged until then is unknown, not half a bill',
  async (t) => {
    const model = 'claude-sonnet-4-5';
    const claude = await fake(t, endless(anthropic, { model, text: [] }, 5));
    const coordinator = await calmed(shared());
    const svc = startSvc(
      t,
      ['worker', '--provider', 'anthropic', '--name', 'claude', '--coordinator', coordinator.url],
      {
        env: { ANTHROPIC_API_KEY: providerKey },
        config: {
          providers: { anthropic: { base_url: `${claude.url}/v1`, api_key_env: 'ANTHROPIC_API_KEY' } },
        },
      },
    );
    await connected(coordinator, svc, 'claude');
    const { id } = await dispatch(coordinator, { provider: 'anthropic', model });
    await claude.askedFor(1);
    for await (const part of eventsOf(coordinator, id)) if (part.includes('word')) break;
    const answered = await coordinator.client.cancel(id);
    const cancelledAt = performance.now();
    t.is(answered.status, 'cancelled');
    await within('the socket to the provider closes', claude.idle());
    const closedAfterMs = performance.now() - cancelledAt;
    t.true(closedAfterMs <= closedWithinMs, `closed ${closedAfterMs.toFixed(0)} ms after the answer`);
    const { running } = await until('the slot is free', async () => {
      const { workers } = await coordinator.client.workers();
      return workers.find(({ name, running: count }) => name === 'claude' && count === 0);
    });
    t.is(running, 0);
    const { attempts } = await coordinator.client.job(id);
    t.like(attempts[0], { outcome: 'cancelled', cost_status: 'unknown' });
    t.like(attempts[0]?.usage, { input_tokens: 25, output_tokens: 0 });
  },
);

test.serial(
  'a local-model server that cannot be reached ends the start with 1 and says what to do',
  async (t) => {
    for (const provider of ['lmstudio', 'llamacpp', 'vllm', 'ollama']) {
      const svc = startSvc(t, ['worker', '--provider', provider], {
        env: { SVC_LOCAL_MODEL_HOST: 'http://127.0.0.1:9' },
      });
      const { code } = await within('it ends', svc.exited);
      t.is(code, 1, svc.said());
      const words = `could not connect to the ${provider} server at http://127.0.0.1:9`;
      t.true(svc.err.includes(words), svc.err);
    }
  },
);

test.serial(
  'a local worker tells what its server has now, and a job for another model fails by name',
  async (t) => {
    const server = await fake(t, whole(lmstudio, localTurn));
    const embedding = { key: 'text-embedding-nomic', loaded: true, embedding: true };
    server.gets.set('/api/v1/models', lmstudioModels([embedding]));
    const coordinator = await calmed(shared());
    const svc = startSvc(
      t,
      ['worker', '--provider', 'lmstudio', '--name', 'box', '--coordinator', coordinator.url],
      { env: { SVC_LOCAL_MODEL_HOST: server.url } },
    );
    t.deepEqual((await connected(coordinator, svc, 'box')).models, { lmstudio: [] });
    const none = {
      error: {
        message: "No models loaded. Please load a model in the developer page or use the 'lms load' command.",
      },
    };
    server.answer(refused({ title: '', status: 400, body: none, class: 'model_not_loaded' }));
    const first = await dispatch(coordinator, { provider: 'lmstudio', model: 'qwen3-8b' });
    const failed = await jobWhen(coordinator, first.id, hasEnded);
    t.like(failed.error, { class: 'model_not_loaded' });
    t.regex(failed.error?.message ?? '', /No model loaded/);
    server.gets.set('/api/v1/models', lmstudioModels([embedding, { key: 'qwen3-8b', loaded: true }]));
    server.answer(whole(lmstudio, localTurn));
    await until('the heartbeat brings the loaded model', async () => {
      const { workers } = await coordinator.client.workers();
      return workers.some(({ models }) => models.lmstudio?.includes('qwen3-8b'));
    });
    const second = await dispatch(coordinator, { provider: 'lmstudio', model: 'qwen3-8b' });
    const done = await jobWhen(coordinator, second.id, hasEnded);
    t.like(done.result, { output: 'Cloudy today.', provider: 'lmstudio' });
    t.is(done.cost_usd, 0, 'one’s own machine is free');
  },
);

test.serial('SIGTERM lets a call finish within the grace', async (t) => {
  const { coordinator, openai, worker } = await setup(t);
  const svc = await worker('cloud');
  const gate = Promise.withResolvers<void>();
  openai.answer(gated(openaiChat, turn, gate.promise));
  const { id } = await dispatch(coordinator);
  await openai.askedFor(1);
  svc.signal('SIGTERM');
  await until('the worker drains', async () => {
    const { workers } = await coordinator.client.workers();
    return workers.some(({ name, status }) => name === 'cloud' && status === 'draining');
  });
  gate.resolve();
  t.deepEqual(await within('it ends', svc.exited), { code: 0, signal: null });
  const job = await jobWhen(coordinator, id, hasEnded);
  t.like(job, { status: 'completed', attempt_count: 1 });
  t.is(job.result?.output, 'The sky is blue.');
});

test.serial(
  'SIGTERM gives a call back that does not finish within the grace, and burns no attempt',
  async (t) => {
    const { coordinator, openai, worker } = await setup(t);
    const svc = await worker('first', ['--grace', '0.5']);
    openai.answer(endless(openaiChat, turn, 5), whole(openaiChat, turn));
    const { id } = await dispatch(coordinator);
    await openai.askedFor(1);
    svc.signal('SIGTERM');
    t.deepEqual(await within('it ends', svc.exited), { code: 0, signal: null });
    await within('its socket is closed', openai.idle());
    t.like(await coordinator.client.job(id), { status: 'pending', reap_count: 0 });
    await worker('second');
    const job = await jobWhen(coordinator, id, hasEnded);
    t.is(job.status, 'completed');
    t.deepEqual(
      job.attempts.map(({ outcome }) => outcome),
      ['released', 'completed'],
    );
  },
);

test.serial('SIGKILL of the worker leaves a job that another one does', async (t) => {
  const { coordinator, openai, worker } = await setup(t, { jobs: { reap_stale_after_seconds: 2 } });
  const svc = await worker('first');
  openai.answer(endless(openaiChat, turn, 5), whole(openaiChat, turn));
  const { id } = await dispatch(coordinator);
  await openai.askedFor(1);
  await svc.kill();
  await worker('second');
  const job = await jobWhen(coordinator, id, hasEnded);
  t.like(job, { status: 'completed', reap_count: 1 });
  t.is(job.result?.output, 'The sky is blue.');
});

test.serial('a restart of the coordinator leaves a call running, and takes its result', async (t) => {
  const { coordinator, openai, worker } = await setup(t, { jobs: { reap_stale_after_seconds: 60 } });
  await worker('cloud', ['--concurrency', '2']);
  const before = Promise.withResolvers<void>();
  const after = Promise.withResolvers<void>();
  openai.answer(
    gated(openaiChat, turn, before.promise),
    gated(openaiChat, { ...turn, text: ['Still', ' blue.'] }, after.promise),
  );
  const first = await dispatch(coordinator);
  await openai.askedFor(1);
  const second = await dispatch(coordinator);
  await openai.askedFor(2);
  await coordinator.process.kill();
  // One call ends while there is no coordinator, the other when there is one again.
  before.resolve();
  await until('the first call is over', () => openai.open === 1);
  const again = await coordinator.again();
  // A worker that has tried in vain for a while comes back after up to 30 s.
  const done = await jobWhen(again, first.id, hasEnded, 60_000);
  t.like(done, { status: 'completed', attempt_count: 1, reap_count: 0 });
  t.is(done.result?.output, 'The sky is blue.');
  t.is((await again.client.job(second.id)).status, 'running');
  after.resolve();
  const last = await jobWhen(again, second.id, hasEnded);
  t.like(last, { status: 'completed', attempt_count: 1 });
  t.is(last.result?.output, 'Still blue.');
  t.is(openai.bodies.length, 2, 'nothing was paid twice');
});

test.serial(
  'a key that is rotated away stops its worker’s calls; the new one is taken without a restart',
  async (t) => {
    const openai = await fake(t, stalled(openaiChat, turn));
    const coordinator = await calmed(shared());
    const old = await coordinator.client.createKey({ role: 'worker', name: 'old' });
    const remote = (key: string) => JSON.stringify({ worker: { api_key: key } });
    const configServer = await serveConfig(t, remote(old.key));
    const svc = startSvc(
      t,
      ['worker', '--provider', 'openai', '--name', 'rotated', '--coordinator', coordinator.url],
      {
        env: {
          SVC_API_KEY: '',
          SVC_CONFIG_URL: configServer.url.href,
          OPENAI_API_KEY: providerKey,
        },
        config: { providers: { openai: { base_url: `${openai.url}/v1`, api_key_env: 'OPENAI_API_KEY' } } },
      },
    );
    await connected(coordinator, svc, 'rotated');
    const { id } = await dispatch(coordinator);
    await openai.askedFor(1);
    const next = await coordinator.client.rotateKey(old.id);
    configServer.answer = remote(next.key);
    const failed = await jobWhen(coordinator, id, hasEnded);
    t.like(failed.error, { class: 'auth', status: 401 });
    t.regex(failed.error?.message ?? '', /401 Unauthorized: Authentication failed/);
    await within('the call that nobody wants is closed', openai.idle());
    openai.answer(whole(openaiChat, turn));
    const { id: retried } = await dispatch(coordinator);
    t.is((await jobWhen(coordinator, retried, hasEnded)).status, 'completed', svc.said());
    for (const secret of [old.key, next.key, providerKey]) t.false(svc.said().includes(secret));
  },
);

test.serial(
  'a worker whose key the provider refuses gets one job, which is done with a good key like all others',
  async (t) => {
    const { coordinator, openai, worker } = await setup(t);
    const { client } = coordinator;
    if (refusedKey === undefined) throw new Error('there is no such answer');
    const bad = await fake(t, refused(refusedKey));
    await worker('good');
    const flags = ['worker', '--provider', 'openai', '--name', 'bad', '--coordinator', coordinator.url];
    const svc = startSvc(t, [...flags, '--concurrency', '8'], {
      env: { OPENAI_API_KEY: providerKey },
      config: { providers: { openai: { base_url: `${bad.url}/v1`, api_key_env: 'OPENAI_API_KEY' } } },
    });
    const { id } = await connected(coordinator, svc, 'bad');
    const body: DispatchBody = { prompt: 'Why is the sky blue?', provider: 'openai', model: 'gpt-4o' };
    // Both are idle and the one with more slots is the less busy one, after the first job at the latest.
    const first = await Promise.all([client.dispatch(body), client.dispatch(body)]);
    const ends = await Promise.all(first.map((job) => client.waitFor(job.id)));
    t.deepEqual(
      ends.map(({ status }) => status),
      ['completed', 'completed'],
    );
    t.like((await client.worker(id)).refusals, [
      { provider: 'openai', fault: 'refused', error: { class: 'auth', status: 401 } },
    ]);
    const { jobs } = await client.dispatchBatch(Array.from({ length: 20 }, () => body));
    const later = await Promise.all(jobs.map((job) => client.waitFor(job.id)));
    t.deepEqual(new Set(later.map(({ status }) => status)), new Set(['completed']));
    t.is(bad.bodies.length, 1);
    t.is(openai.bodies.length, 22);
  },
);
