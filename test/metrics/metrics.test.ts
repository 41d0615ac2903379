import { readFileSync } from 'node:fs';
import test from 'ava';
import { usageFromWire } from '../../src/domain/usage.ts';
import { createJsonStore } from '../../src/store/json/jsonStore.ts';
import { creation, headStart } from '../store/jobs.ts';
import { type ApiBundle, setupApi } from '../support/api.ts';
import { request } from '../support/coordinator.ts';
import { FakeClock } from '../support/fakeClock.ts';
import { temporaryFolder } from '../support/folder.ts';

/** The samples of a scrape: `name{labels}` → value. */
async function scrape({ api }: ApiBundle): Promise<Map<string, number>> {
  const { text } = await api('GET', '/metrics');
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => {
      const space = line.lastIndexOf(' ');
      return [line.slice(0, space), Number(line.slice(space + 1))];
    }),
  );
}

const free = {
  inputPerMillion: 1_000,
  outputPerMillion: 1_000,
  cachedInputPerMillion: null,
  cacheWritePerMillion: null,
  free: false,
};
const failure = {
  class: 'server_error',
  message: 'no',
  status: null,
  code: null,
  retryAfterMs: null,
} as const;

test('a scrape is in the format of Prometheus, and every metric says what it is', async (t) => {
  const { api } = await setupApi(t);
  const reply = await api('GET', '/metrics');
  t.is(reply.status, 200);
  t.regex(reply.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/);
  const names = new Set(reply.text.match(/(?<=^# TYPE )\S+/gm));
  for (const name of names) t.regex(reply.text, new RegExp(`^# HELP ${name} .{10,}\\.$`, 'm'), name);
  for (const name of ['svc_jobs', 'svc_job_claim_seconds', 'gen_ai_client_token_usage', 'svc_commit_seconds'])
    t.true(names.has(name), name);
});

test('every metric of ours is in the operators’ page, and nothing there is made up', async (t) => {
  const { api } = await setupApi(t);
  const { text } = await api('GET', '/metrics');
  const page = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8');
  const ours = /\b(?:svc|gen_ai|http)_[a-z_0-9]+\b/g;
  const told = [...page.matchAll(/^\| `.*?\|/gm)].flatMap(([cell]) => cell.match(ours) ?? []);
  const real = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name);
  t.deepEqual([...new Set(told)].sort(), [...new Set(real)].sort());
});

test('attempts, tokens, cost and durations are counted by provider and model', async (t) => {
  const bundle = await setupApi(t, { pricing: { echo: { m1: free } } });
  const { coordinator, clock } = bundle;
  const hand = await bundle.worker({ models: { echo: ['m1'] } });
  await coordinator.dispatch(request({ model: 'm1' }));
  const first = await hand.job();
  clock.advance(1_500);
  await hand.complete(first);
  await coordinator.dispatch(request({ model: 'm1' }));
  const { job_id: jobId, lease } = await hand.job(2);
  await hand.connection.conclude({ jobId, lease }, { type: 'fail', failure, usage: null });
  const samples = await scrape(bundle);
  const has = (name: string, value: number) => t.is(samples.get(name), value, name);
  has('svc_attempts_total{gen_ai_provider_name="echo",outcome="completed",error_type=""}', 1);
  has('svc_attempts_total{gen_ai_provider_name="echo",outcome="failed",error_type="server_error"}', 1);
  const model = 'gen_ai_operation_name="chat",gen_ai_provider_name="echo",gen_ai_request_model="m1"';
  has(`gen_ai_client_token_usage_sum{${model},gen_ai_token_type="input"}`, 10);
  has(`gen_ai_client_token_usage_sum{${model},gen_ai_token_type="output"}`, 5);
  has(`gen_ai_client_operation_duration_seconds_sum{${model},error_type=""}`, 1.5);
  has(`gen_ai_client_operation_duration_seconds_count{${model},error_type="server_error"}`, 1);
  has('svc_tokens_total{gen_ai_provider_name="echo",kind="input"}', 10);
  has('svc_cost_usd_total{gen_ai_provider_name="echo",gen_ai_request_model="m1"}', 0.015);
  has('svc_job_claim_seconds_count{priority="normal"}', 2);
});

test('what stands is told as it is at the scrape', async (t) => {
  const bundle = await setupApi(t);
  const { coordinator, clock } = bundle;
  const hand = await bundle.worker({ concurrency: 2 });
  for (let count = 0; count < 3; count += 1) await coordinator.dispatch(request());
  await hand.job(2);
  clock.advance(4_000);
  const samples = await scrape(bundle);
  const has = (name: string, value: number) => t.is(samples.get(name), value, name);
  has('svc_runs{state="paused"}', 0);
  has('svc_batches{state="in_progress"}', 0);
  has('svc_jobs{state="pending.ready"}', 1);
  has('svc_jobs{state="running.active"}', 2);
  has('svc_queue_jobs{gen_ai_provider_name="echo",priority="normal"}', 1);
  has('svc_queue_oldest_wait_seconds{gen_ai_provider_name="echo",priority="normal"}', 4);
  has('svc_slots', 2);
  has('svc_slots_taken', 2);
  has('svc_provider_state{gen_ai_provider_name="echo",state="available"}', 1);
  has('svc_provider_state{gen_ai_provider_name="echo",state="open"}', 0);
  has('svc_provider_requests{gen_ai_provider_name="echo"}', 2);
  has('svc_store_up', 1);
  has('svc_files', 0);
  has('svc_file_bytes', 0);
  has('svc_accepting_jobs', 1);
  t.true((samples.get('svc_journal_bytes') ?? 0) > 0);
  for (const job of hand.jobs) await hand.complete(job);
  await hand.complete(await hand.job(3));
  const after = await scrape(bundle);
  t.false(after.has('svc_queue_jobs{gen_ai_provider_name="echo",priority="normal"}'));
});

test('requests are told by route, never by path', async (t) => {
  const bundle = await setupApi(t);
  const { api } = bundle;
  const { id } = (await api('POST', '/api/jobs', { prompt: 'x', provider: 'echo' })).json;
  await api('GET', `/api/jobs/${id}`);
  await api('GET', '/api/jobs/nope');
  await api('GET', '/api/nothing');
  await api('GET', '/health');
  const samples = await scrape(bundle);
  const count = (method: string, route: string, statuses: string) =>
    samples.get(
      `http_server_request_duration_seconds_count{http_request_method="${method}",http_route="${route}",http_response_status_class="${statuses}"}`,
    );
  t.is(count('POST', '/api/jobs', '2xx'), 1);
  t.is(count('GET', '/api/jobs/:id', '2xx'), 1);
  t.is(count('GET', '/api/jobs/:id', '4xx'), 1);
  t.is(count('GET', 'none', '4xx'), 1);
  t.is(count('GET', '/health', '2xx'), 1);
});

test('names that clients make up do not become labels', async (t) => {
  const bundle = await setupApi(t);
  const hand = await bundle.worker({ concurrency: 1_000 });
  const jobs = Array.from({ length: 50 }, (_, index) => [
    { prompt: 'x', provider: 'echo', model: `made-up-${index}` },
    { prompt: 'x', provider: `made-up-${index}`, tier: `made-up-${index}`, tags: [`made-up-${index}`] },
  ]).flat();
  await bundle.api('POST', '/api/jobs/batch', { jobs });
  await hand.job(50);
  for (const job of hand.jobs) await hand.complete(job);
  const samples = await scrape(bundle);
  t.deepEqual(
    [...samples.keys()].filter((name) => name.includes('made-up')),
    [],
  );
  t.is(samples.get('svc_queue_jobs{gen_ai_provider_name="other",priority="normal"}'), 50);
  const model = 'gen_ai_operation_name="chat",gen_ai_provider_name="echo",gen_ai_request_model="other"';
  t.is(samples.get(`gen_ai_client_operation_duration_seconds_count{${model},error_type=""}`), 50);
});

test('of any number of configured priorities 20 are labels', async (t) => {
  const priorities = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`p${index}`, index]));
  const bundle = await setupApi(t, { jobs: { priorities } });
  const hand = await bundle.worker({ concurrency: 30 });
  const jobs = Object.keys(priorities).map((priority) => ({ prompt: 'x', provider: 'echo', priority }));
  t.is((await bundle.api('POST', '/api/jobs/batch', { jobs })).status, 201);
  await hand.job(30);
  const claims = [...(await scrape(bundle))].filter(([name]) =>
    name.startsWith('svc_job_claim_seconds_count'),
  );
  t.is(claims.length, 21);
  t.is(claims.find(([name]) => name.includes('"other"'))?.[1], 10);
});

test('where no model was asked for, the label is the one that the worker says it ran', async (t) => {
  const bundle = await setupApi(t);
  const hand = await bundle.worker();
  await bundle.coordinator.dispatch(request());
  const { job_id: jobId, lease } = await hand.job();
  await hand.connection.conclude(
    { jobId, lease },
    {
      type: 'complete',
      output: 'x',
      finishReason: 'stop',
      model: 'own-default',
      usage: usageFromWire({ input_tokens: 1 }),
      latencyMs: 1,
      firstTokenMs: null,
    },
  );
  const model = 'gen_ai_operation_name="chat",gen_ai_provider_name="echo",gen_ai_request_model="own-default"';
  const samples = await scrape(bundle);
  t.is(samples.get(`gen_ai_client_operation_duration_seconds_count{${model},error_type=""}`), 1);
});

test('a fleet that advertises any number of models has a bounded number of labels', async (t) => {
  const bundle = await setupApi(t);
  const models = Array.from({ length: 130 }, (_, index) => `m${index}`);
  const hand = await bundle.worker({ models: { echo: models }, concurrency: 1_000 });
  const jobs = models.map((model) => ({ prompt: 'x', provider: 'echo', model }));
  await bundle.api('POST', '/api/jobs/batch', { jobs });
  await hand.job(130);
  for (const job of hand.jobs) await hand.complete(job);
  const { text } = await bundle.api('GET', '/metrics');
  t.is(new Set(text.match(/gen_ai_request_model="[^"]+"/g)).size, 101);
});

test('an attempt that was taken for lost and then completes counts as both', async (t) => {
  const bundle = await setupApi(t);
  const { coordinator, clock } = bundle;
  const hand = await bundle.worker({ name: 'box' });
  const { job } = await coordinator.dispatch(request());
  const assigned = await hand.job();
  clock.advance(25_000);
  hand.connection.heard();
  hand.connection.heartbeat([], undefined);
  await bundle.jobAs(job.id, 'pending');
  await hand.complete(assigned);
  const samples = await scrape(bundle);
  const count = (outcome: string, errorType: string) =>
    samples.get(
      `svc_attempts_total{gen_ai_provider_name="echo",outcome="${outcome}",error_type="${errorType}"}`,
    );
  t.is(count('lost', 'lost'), 1);
  t.is(count('completed', ''), 1);
});

test('the store tells how long every commit took, and nothing of claims that found nothing', async (t) => {
  const took: number[] = [];
  const onCommit = (tookMs: number) => took.push(tookMs);
  const store = createJsonStore({ path: temporaryFolder(t), clock: new FakeClock(), headStart, onCommit });
  await store.open();
  t.teardown(() => store.close());
  await store.commit([creation('a')]);
  await store.claim({ lanes: ['none'], limit: 1 }, () => 'close');
  t.deepEqual(took, [0]);
});
