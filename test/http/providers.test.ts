import test from 'ava';
import { type ApiBundle, setupApi } from '../support/api.ts';

const breaker = { ratio: 0.5, minimum: 2, windowSeconds: 60, openSeconds: 30 };
const rateLimit = { maxConcurrent: 4, retryAfterSeconds: 20, maxRetries: 5, retryAfterMaxSeconds: 300 };
const configured = { rateLimit, model: 'm1', baseUrl: null, apiKeyEnv: null, breaker };
const noUsage = null;

async function provider({ api }: ApiBundle, name: string): Promise<Record<string, unknown>> {
  const { providers } = (await api('GET', '/api/providers')).json as { providers: { name: string }[] };
  return { ...providers.find((one) => one.name === name) };
}

const failure = (errorClass: 'rate_limited' | 'server_error') =>
  ({ class: errorClass, message: 'no', status: null, code: null, retryAfterMs: null }) as const;

test('every provider that is configured, served or was met is listed, with its settings and its fleet', async (t) => {
  const bundle = await setupApi(t, { providers: { quiet: configured } });
  const models = { busy: ['b', 'a'] };
  const hand = await bundle.worker({ providers: ['busy'], models, concurrency: 3 });
  const paused = await bundle.worker({ providers: ['busy'], models: { busy: ['a', 'c'] }, concurrency: 2 });
  await bundle.api('POST', `/api/workers/${paused.id}/pause`);
  await bundle.api('POST', '/api/jobs', { prompt: 'x', provider: 'busy' });
  await hand.job();
  const { providers, total } = (await bundle.api('GET', '/api/providers')).json;
  t.is(total, 2);
  t.deepEqual(
    (providers as { name: string }[]).map(({ name }) => name),
    ['busy', 'quiet'],
  );
  t.like(await provider(bundle, 'busy'), {
    configured: false,
    status: 'available',
    running: 1,
    max_concurrent: null,
    rate_limit: null,
    workers: 2,
    slots: 5,
    free_slots: 2,
    models: ['a', 'b', 'c'],
  });
  t.like(await provider(bundle, 'quiet'), {
    configured: true,
    status: 'available',
    until: null,
    running: 0,
    model: 'm1',
    max_concurrent: 4,
    rate_limit: {
      max_concurrent: 4,
      retry_after_seconds: 20,
      max_retries: 5,
      retry_after_max_seconds: 300,
    },
    breaker: { ratio: 0.5, minimum: 2, window_seconds: 60, open_seconds: 30, attempts: 0, failed: 0 },
    workers: 0,
    models: [],
  });
});

test('a limited provider says until when; a reset sends it the job that waits', async (t) => {
  const bundle = await setupApi(t, { providers: { echo: configured } });
  const hand = await bundle.worker();
  const { id } = (await bundle.api('POST', '/api/jobs', { prompt: 'x', provider: 'echo' })).json;
  const { job_id: jobId, lease } = await hand.job();
  await hand.connection.conclude(
    { jobId, lease },
    { type: 'fail', failure: failure('rate_limited'), usage: noUsage },
  );
  const limited = await provider(bundle, 'echo');
  t.like(limited, { status: 'limited', limits_in_row: 1 });
  t.true(Date.parse(String(limited.until)) >= bundle.clock.now() + 20_000);
  t.like((await bundle.api('GET', `/api/jobs/${id}`)).json, { waiting: { reason: 'provider_limited' } });
  const reset = await bundle.api('POST', '/api/providers/echo/reset');
  t.like(reset, { status: 200, json: { name: 'echo', status: 'available', until: null, limits_in_row: 0 } });
  t.is((await hand.job(2)).job_id, jobId);
});

test('an open breaker shows what opened it; a reset forgets it', async (t) => {
  const bundle = await setupApi(t, { providers: { echo: configured } });
  const hand = await bundle.worker({ concurrency: 2 });
  for (let count = 0; count < 2; count += 1)
    await bundle.api('POST', '/api/jobs', { prompt: 'x', provider: 'echo' });
  await hand.job(2);
  for (const { job_id: jobId, lease } of hand.jobs) {
    await hand.connection.conclude(
      { jobId, lease },
      { type: 'fail', failure: failure('server_error'), usage: noUsage },
    );
  }
  t.like(await provider(bundle, 'echo'), {
    status: 'open',
    breaker: { attempts: 2, failed: 2, opens_in_row: 1, opened_by: { class: 'server_error' } },
  });
  const { json } = await bundle.api('POST', '/api/providers/echo/reset');
  t.like(json, {
    status: 'available',
    until: null,
    breaker: { attempts: 0, failed: 0, opens_in_row: 0, opened_by: null },
  });
});

test('what happened before the window does not count any more', async (t) => {
  const bundle = await setupApi(t);
  const hand = await bundle.worker();
  await bundle.api('POST', '/api/jobs', { prompt: 'x', provider: 'echo' });
  await hand.complete(await hand.job());
  t.like(await provider(bundle, 'echo'), { breaker: { attempts: 1, failed: 0 } });
  bundle.clock.advance(60_001);
  t.like(await provider(bundle, 'echo'), { breaker: { attempts: 0 } });
});

test('a provider that nobody knows cannot be reset', async (t) => {
  const { api } = await setupApi(t);
  t.like(await api('POST', '/api/providers/constructor/reset'), { status: 404, json: { code: 'not_found' } });
  t.is((await api('GET', '/api/providers')).json.total, 0);
});
