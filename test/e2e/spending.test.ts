import test, { type ExecutionContext } from 'ava';
import type { DispatchBody, WireJob } from '../../src/domain/wire/job.ts';
import { endless, failingInside, whole } from '../fixtures/providers/answers.ts';
import { anthropic } from '../fixtures/providers/anthropic.ts';
import type { Turn } from '../fixtures/providers/dialect.ts';
import { sse } from '../fixtures/providers/dialect.ts';
import { openaiChat, rateLimited } from '../fixtures/providers/openaiChat.ts';
import { modelList, vllm } from '../fixtures/providers/openaiCompatible.ts';
import { type Answer, FakeServer } from '../fixtures/providers/server.ts';
import {
  adminKey,
  calmed,
  type Running,
  type SvcProcess,
  sharedCoordinator,
  startSvc,
  until,
  within,
} from '../support/process.ts';

/** What attempts cost that did not end well, from a provider's own words to the API, over real processes. */

const shared = sharedCoordinator();

const turn: Turn = { model: 'gpt-4o', text: ['The sky', ' is', ' blue.'] };

async function serve(t: ExecutionContext, answer: Answer): Promise<FakeServer> {
  const server = await FakeServer.listen(answer);
  t.teardown(() => server.close());
  return server;
}

/** Gemini counts as it goes; it says two words, and then nothing more. */
const counting: Answer = ({ response }) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const event = {
    candidates: [{ content: { parts: [{ text: 'The sky' }], role: 'model' }, index: 0 }],
    usageMetadata: { promptTokenCount: 8, candidatesTokenCount: 2, totalTokenCount: 10 },
    modelVersion: 'gemini-2.5-flash',
  };
  response.write(sse(event));
};

/** A worker of one provider that only its own configuration knows the address of. */
async function work(
  t: ExecutionContext,
  { url, client }: Running,
  provider: string,
  settings: object,
  { name = 'box', args = [] }: { name?: string; args?: string[] } = {},
): Promise<SvcProcess> {
  const flags = ['worker', '--provider', provider, '--name', name, '--coordinator', url, ...args];
  const svc = startSvc(t, flags, {
    env: { PROVIDER_KEY: 'sk-test-the-key-of-a-provider-0123456789' },
    config: { providers: { [provider]: { api_key_env: 'PROVIDER_KEY', ...settings } } },
  });
  await until(
    () => `${name} is connected: ${svc.said()}`,
    async () => (await client.workers()).workers.some((worker) => worker.name === name && worker.connected),
  );
  return svc;
}

const dispatch = ({ client }: Running, more: Partial<DispatchBody>): Promise<WireJob> =>
  client.dispatch({ prompt: 'Describe the sky', ...more });

function jobWhen({ client }: Running, id: string, isReached: (job: WireJob) => boolean): Promise<WireJob> {
  let last: WireJob | null = null;
  return until(
    () => `job ${id} gets there; it is ${JSON.stringify(last)}`,
    async () => {
      last = await client.job(id);
      return isReached(last) ? last : null;
    },
  );
}

/** Resolves when something that the job says has reached the coordinator. */
async function untilHeard({ url }: Running, id: string): Promise<void> {
  const controller = new AbortController();
  const answer = await fetch(`${url}/api/jobs/${id}/events`, {
    headers: { authorization: `Bearer ${adminKey}` },
    signal: controller.signal,
  });
  let seen = '';
  for await (const part of answer.body ?? []) {
    seen += Buffer.from(part).toString();
    if (/"text":"\w/.test(seen)) break;
  }
  controller.abort();
}

const hasEnded = ({ status }: WireJob) => ['completed', 'failed', 'cancelled'].includes(status);
const v1 = (server: FakeServer) => ({ base_url: `${server.url}/v1` });

test.serial('an error inside a 200 costs nothing at once, and an unknown amount after text', async (t) => {
  const coordinator = await calmed(shared());
  const limit = sse(rateLimited());
  const server = await serve(t, failingInside(openaiChat, turn, limit));
  await work(t, coordinator, 'openai', v1(server));
  const job = { provider: 'openai', model: 'gpt-4o' };
  const late = await jobWhen(coordinator, (await dispatch(coordinator, job)).id, hasEnded);
  t.like(late, { status: 'failed', cost_status: 'unknown' });
  t.is(late.error?.class, 'rate_limited');
  server.answer(
    ({ response }) => void response.writeHead(200, { 'content-type': 'text/event-stream' }).end(limit),
  );
  const early = await jobWhen(coordinator, (await dispatch(coordinator, job)).id, hasEnded);
  t.like(early, { status: 'failed', cost_status: 'none' });
});

for (const signal of ['SIGTERM', 'SIGHUP'] as const) {
  test.serial(
    `${signal}: what was streamed and given back costs an unknown amount, and is no attempt`,
    async (t) => {
      const coordinator = await calmed(shared());
      const server = await serve(t, endless(openaiChat, turn, 5));
      const svc = await work(t, coordinator, 'openai', v1(server), { args: ['--grace', '0.2'] });
      const { id } = await dispatch(coordinator, { provider: 'openai', model: 'gpt-4o' });
      await server.askedFor(1);
      svc.signal(signal);
      t.deepEqual(await within('it ends', svc.exited), { code: 0, signal: null });
      const back = await jobWhen(coordinator, id, ({ status }) => status === 'pending');
      t.like(back, { attempt_count: 0, cost_status: 'unknown' });
      t.like(back.attempts[0], { outcome: 'released', usage: null, cost_usd: null, cost_status: 'unknown' });
      server.answer(whole(openaiChat, turn));
      await work(t, coordinator, 'openai', v1(server), { name: 'second' });
      const job = await jobWhen(coordinator, id, hasEnded);
      t.like(job, { status: 'completed', attempt_count: 1, cost_status: 'partial' });
      t.true((job.cost_usd ?? 0) > 0);
    },
  );
}

test.serial('what was given back is charged by the usage that the provider had told', async (t) => {
  const coordinator = await calmed(shared());
  const server = await serve(t, counting);
  const svc = await work(
    t,
    coordinator,
    'google',
    { base_url: `${server.url}/v1beta` },
    { args: ['--grace', '0.2'] },
  );
  const { id } = await dispatch(coordinator, { provider: 'google', model: 'gemini-2.5-flash' });
  await server.askedFor(1);
  svc.signal('SIGTERM');
  await within('it ends', svc.exited);
  const job = await jobWhen(coordinator, id, ({ attempts }) => (attempts[0]?.usage ?? null) !== null);
  t.like(job, { status: 'pending', attempt_count: 0, cost_status: 'known' });
  t.true((job.cost_usd ?? 0) > 0);
});

test.serial('a cancelled attempt of a job without a model is priced by what the provider runs', async (t) => {
  const coordinator = await calmed(shared());
  const server = await serve(t, counting);
  await work(t, coordinator, 'google', { base_url: `${server.url}/v1beta`, model: 'gemini-2.5-flash' });
  const { id } = await dispatch(coordinator, { provider: 'google' });
  await server.askedFor(1);
  await within('it says something', untilHeard(coordinator, id));
  await coordinator.client.cancel(id);
  const job = await jobWhen(coordinator, id, ({ attempts }) => (attempts[0]?.usage ?? null) !== null);
  t.like(job, { status: 'cancelled', cost_status: 'known' });
  t.like(job.attempts[0], { model: 'gemini-2.5-flash', outcome: 'cancelled' });
  t.true((job.cost_usd ?? 0) > 0);
});

test.serial('a cancelled run of Anthropic keeps the input that was counted', async (t) => {
  const coordinator = await calmed(shared());
  const server = await serve(t, endless(anthropic, { ...turn, model: 'claude-sonnet-4-5' }, 5));
  await work(t, coordinator, 'anthropic', v1(server));
  const { id } = await dispatch(coordinator, { provider: 'anthropic', model: 'claude-sonnet-4-5' });
  await within('it says something', untilHeard(coordinator, id));
  await coordinator.client.cancel(id);
  const job = await jobWhen(coordinator, id, ({ attempts }) => (attempts[0]?.usage ?? null) !== null);
  t.like(job.attempts[0]?.usage, { input_tokens: 25, output_tokens: 0 });
  t.is(job.cost_status, 'unknown', 'half a bill is not the whole');
});

test.serial(
  'a server in the own network that only its worker knows is free, also when it is cancelled',
  async (t) => {
    const coordinator = await calmed(shared());
    const local: Turn = { ...turn, model: 'house-model' };
    const server = await serve(t, whole(vllm, local));
    server.gets.set('/v1/models', modelList('house-model'));
    await work(t, coordinator, 'house', v1(server));
    const done = await jobWhen(
      coordinator,
      (await dispatch(coordinator, { provider: 'house' })).id,
      hasEnded,
    );
    t.like(done, { status: 'completed', cost_usd: 0, cost_status: 'known' });
    server.answer(endless(vllm, local, 5));
    const { id } = await dispatch(coordinator, { provider: 'house' });
    await server.askedFor(2);
    await coordinator.client.cancel(id);
    const cancelled = await jobWhen(coordinator, id, hasEnded);
    t.like(cancelled, { cost_usd: 0, cost_status: 'known' });
  },
);

test.serial('a worker that calls a cloud provider free is not believed where a price is known', async (t) => {
  const coordinator = await calmed(shared());
  const server = await serve(t, whole(vllm, { ...turn, model: 'gpt-4o' }));
  server.gets.set('/v1/models', modelList('gpt-4o'));
  // By its name it is OpenAI's, and its server is in the own network.
  await work(t, coordinator, 'openai-proxy', v1(server));
  const { id } = await dispatch(coordinator, { provider: 'openai-proxy', model: 'gpt-4o' });
  const job = await jobWhen(coordinator, id, hasEnded);
  t.is(job.cost_status, 'known');
  t.true((job.cost_usd ?? 0) > 0);
});
