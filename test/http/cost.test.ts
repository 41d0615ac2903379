import test from 'ava';
import type { WireCostBreakdown, WireCostSummary } from '../../src/domain/wire/cost.ts';
import { type ApiBundle, setupApi } from '../support/api.ts';
import { request } from '../support/coordinator.ts';

const minute = 60_000;
const hour = 60 * minute;

/** 1,000 dollars a million in, 2,000 out: a job of 10 and 5 tokens costs 2 cents. */
const gold = {
  inputPerMillion: 1_000,
  outputPerMillion: 2_000,
  cachedInputPerMillion: null,
  cacheWritePerMillion: null,
  free: false,
};
const pricing = { gold: { 'gold-1': gold, 'gold-2': { ...gold, inputPerMillion: 3_000 } } };

async function complete(
  { coordinator, worker, jobAs }: ApiBundle,
  fields: Parameters<typeof request>[0],
  name = 'w',
): Promise<string> {
  const hand = await worker({ name, providers: [fields?.provider ?? 'gold'] });
  const { job } = await coordinator.dispatch(request({ provider: 'gold', model: 'gold-1', ...fields }));
  await hand.complete(await hand.job());
  await jobAs(job.id, 'completed');
  hand.drop();
  return job.id;
}

async function summary({ api }: ApiBundle, query = ''): Promise<WireCostSummary> {
  const { status, json } = await api('GET', `/api/cost/summary${query}`);
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(json)}`);
  return json as unknown as WireCostSummary;
}

async function breakdown({ api }: ApiBundle, query = ''): Promise<WireCostBreakdown> {
  return (await api('GET', `/api/cost/breakdown${query}`)).json as unknown as WireCostBreakdown;
}

test('a summary is of the day in UTC unless it is told, and begins with nothing', async (t) => {
  const bundle = await setupApi(t, { pricing });
  t.deepEqual(await summary(bundle), {
    period: 'day',
    from: '2026-11-21T00:00:00.000Z',
    to: '2026-11-21T09:00:00.000Z',
    timezone: 'UTC',
    currency: 'USD',
    total_cost_usd: 0,
    jobs: 0,
    attempts: 0,
    input_tokens: 0,
    output_tokens: 0,
    cached_input_tokens: 0,
    reasoning_tokens: 0,
    unknown_cost_attempts: 0,
    previous: {
      from: '2026-11-20T00:00:00.000Z',
      to: '2026-11-21T00:00:00.000Z',
      total_cost_usd: 0,
      jobs: 0,
      attempts: 0,
      input_tokens: 0,
      output_tokens: 0,
      cached_input_tokens: 0,
      reasoning_tokens: 0,
      unknown_cost_attempts: 0,
    },
    series: Array.from({ length: 10 }, (_, i) => ({
      from: `2026-11-21T0${i}:00:00.000Z`,
      cost_usd: 0,
      jobs: 0,
      unknown_cost_attempts: 0,
    })),
  });
  t.deepEqual((await breakdown(bundle)).providers, []);
});

test('what was spent shows in its hour, its day, and tomorrow in the day before', async (t) => {
  const bundle = await setupApi(t, { pricing });
  await complete(bundle, {});
  bundle.clock.advance(hour + 59 * minute + 59_999);
  await complete(bundle, {});
  const day = await summary(bundle);
  t.like(day, { total_cost_usd: 0.04, jobs: 2, attempts: 2, input_tokens: 20, output_tokens: 10 });
  t.deepEqual(day.series.slice(-2), [
    { from: '2026-11-21T09:00:00.000Z', cost_usd: 0.02, jobs: 1, unknown_cost_attempts: 0 },
    { from: '2026-11-21T10:00:00.000Z', cost_usd: 0.02, jobs: 1, unknown_cost_attempts: 0 },
  ]);
  const week = await summary(bundle, '?period=week');
  t.deepEqual(
    [week.from, week.series.length, week.series.at(-1)],
    [
      '2026-11-16T00:00:00.000Z',
      6,
      { from: '2026-11-21T00:00:00.000Z', cost_usd: 0.04, jobs: 2, unknown_cost_attempts: 0 },
    ],
  );
  t.is((await summary(bundle, '?period=month')).series.length, 21);
  bundle.clock.advance(24 * hour);
  const next = await summary(bundle);
  t.like(next, { total_cost_usd: 0, jobs: 0 });
  t.like(next.previous, { total_cost_usd: 0.04, jobs: 2, from: '2026-11-21T00:00:00.000Z' });
});

test('a report of days has both of them whole, their course, and as many days before', async (t) => {
  const bundle = await setupApi(t, { pricing });
  await complete(bundle, {});
  bundle.clock.advance(24 * hour);
  await complete(bundle, {});
  bundle.clock.advance(24 * hour);
  const both = await summary(bundle, '?from=2026-11-21&to=2026-11-22');
  t.like(both, { period: 'custom', total_cost_usd: 0.04, jobs: 2, to: '2026-11-23T00:00:00.000Z' });
  t.deepEqual(
    both.series.map(({ from, jobs }: { from: string; jobs: number }) => [from, jobs]),
    [
      ['2026-11-21T00:00:00.000Z', 1],
      ['2026-11-22T00:00:00.000Z', 1],
    ],
  );
  t.is((await breakdown(bundle, '?from=2026-11-21&to=2026-11-22')).total_cost_usd, 0.04);
  const second = await summary(bundle, '?from=2026-11-22&to=2026-11-22');
  t.like(second, { total_cost_usd: 0.02, jobs: 1 });
  t.like(second.previous, { total_cost_usd: 0.02, from: '2026-11-21T00:00:00.000Z' });
  t.is(second.series.length, 24, 'a day by its hours');
  const running = await summary(bundle, '?from=2026-11-20&to=2026-11-30');
  t.like(running, { jobs: 2, to: new Date(bundle.clock.now()).toISOString() });
  t.is(running.series.length, 4, 'none after now');
  t.like(await summary(bundle, '?from=2026-12-01&to=2026-12-02'), { jobs: 0, total_cost_usd: 0 });
});

test('the day is that of the time zone', async (t) => {
  const bundle = await setupApi(t, { pricing });
  await complete(bundle, {});
  bundle.clock.advance(9 * hour + 20 * minute);
  // 18:20 UTC: past midnight in Nepal (+5:45), still the same day in Berlin.
  const nepal = await summary(bundle, '?tz=Asia/Kathmandu');
  t.like(nepal, { timezone: 'Asia/Kathmandu', from: '2026-11-21T18:15:00.000Z', total_cost_usd: 0 });
  t.is(nepal.previous.total_cost_usd, 0.02);
  t.deepEqual(nepal.series, [
    { from: '2026-11-21T18:15:00.000Z', cost_usd: 0, jobs: 0, unknown_cost_attempts: 0 },
  ]);
  const berlin = await summary(bundle, '?tz=Europe/Berlin');
  t.like(berlin, { from: '2026-11-20T23:00:00.000Z', total_cost_usd: 0.02 });
  t.is((await breakdown(bundle, '?tz=Asia/Kathmandu')).total_cost_usd, 0);
});

test('a breakdown shows providers with their models, the dearest first, with shares', async (t) => {
  const bundle = await setupApi(t, { pricing });
  await complete(bundle, {});
  await complete(bundle, { model: 'gold-2' });
  await complete(bundle, { provider: 'echo', model: null });
  await complete(bundle, { provider: 'nobody', model: 'm' });
  const { total_cost_usd, providers } = await breakdown(bundle);
  t.is(total_cost_usd, 0.06);
  t.deepEqual(
    providers?.map(({ provider, cost_usd, share, jobs, unknown_cost_attempts, models }) => [
      provider,
      cost_usd,
      share,
      jobs,
      unknown_cost_attempts,
      models.map(({ model, cost_usd: cost, share: part }) => [model, cost, part.toFixed(3)]),
    ]),
    [
      [
        'gold',
        0.06,
        1,
        2,
        0,
        [
          ['gold-2', 0.04, '0.667'],
          ['gold-1', 0.02, '0.333'],
        ],
      ],
      ['echo', 0, 0, 1, 0, [[null, 0, '0.000']]],
      ['nobody', 0, 0, 1, 1, [['m', 0, '0.000']]],
    ],
  );
  t.is((await summary(bundle)).unknown_cost_attempts, 1);
});

test('a breakdown is by model, worker, tag or tier when it is asked for', async (t) => {
  const bundle = await setupApi(t, { pricing });
  await complete(bundle, { tier: 'vip', tags: ['a', 'b'] }, 'first');
  await complete(bundle, { tags: ['a'] }, 'second');
  await complete(bundle, {}, 'second');
  const by = (name: string) => breakdown(bundle, `?by=${name}`);
  const { workers } = (await bundle.api('GET', '/api/workers')).json as unknown as {
    workers: { id: string; name: string }[];
  };
  const idOf = (name: string) => workers.find((worker) => worker.name === name)?.id;
  t.deepEqual(
    (await by('worker')).workers?.map(({ worker_id, name, cost_usd }) => [worker_id, name, cost_usd]),
    [
      [idOf('second'), 'second', 0.04],
      [idOf('first'), 'first', 0.02],
    ],
  );
  t.deepEqual(
    (await by('tag')).tags?.map(({ tag, cost_usd, jobs }) => [tag, cost_usd, jobs]),
    [
      ['a', 0.04, 2],
      ['b', 0.02, 1],
      [null, 0.02, 1],
    ],
  );
  t.deepEqual(
    (await by('tier')).tiers?.map(({ tier, cost_usd }) => [tier, cost_usd]),
    [
      [null, 0.04],
      ['vip', 0.02],
    ],
  );
  t.deepEqual(
    (await by('model')).models?.map(({ provider, model, cost_usd }) => [provider, model, cost_usd]),
    [['gold', 'gold-1', 0.06]],
  );
  t.is((await by('provider')).providers?.length, 1);
  await bundle.api('DELETE', `/api/workers/${idOf('first')}`);
  t.is((await by('worker')).workers?.at(-1)?.name, null);
});

test('an attempt whose worker falls silent is unknown until the worker tells, and then counts in the period of its end', async (t) => {
  const bundle = await setupApi(t, { pricing, jobs: { reapStaleAfterSeconds: 60, maxReaps: 0 } });
  const { coordinator, clock, jobAs } = bundle;
  const hand = await bundle.worker({ name: 'w', providers: ['gold'] });
  const { job } = await coordinator.dispatch(request({ provider: 'gold', model: 'gold-1' }));
  const assigned = await hand.job();
  hand.drop();
  clock.advance(61_000);
  const failed = await jobAs(job.id, 'failed');
  t.deepEqual(failed.life.attempts[0]?.cost, { nanoDollars: null, status: 'unknown' });
  t.like(await summary(bundle), { total_cost_usd: 0, jobs: 1, attempts: 1, unknown_cost_attempts: 1 });
  t.like((await bundle.api('GET', `/api/jobs/${job.id}`)).json, { cost_usd: null, cost_status: 'unknown' });
  clock.advance(2 * hour);
  const back = await bundle.worker({ name: 'w', providers: ['gold'] });
  await back.complete(assigned);
  t.like(back.ack, { accepted: false, reason: 'lease_lost' });
  const after = await summary(bundle);
  t.like(after, { total_cost_usd: 0.02, jobs: 1, attempts: 1, unknown_cost_attempts: 0, input_tokens: 10 });
  t.deepEqual(
    after.series.filter(({ cost_usd }) => cost_usd > 0).map(({ from }) => from),
    ['2026-11-21T09:00:00.000Z'],
  );
  t.like((await bundle.api('GET', `/api/jobs/${job.id}`)).json, { cost_usd: 0.02, cost_status: 'known' });
});

test('a result whose usage the provider did not tell costs an unknown amount, or 0 where the provider is free', async (t) => {
  const bundle = await setupApi(t, { pricing });
  for (const [provider, cost] of [
    ['gold', { cost_usd: null, cost_status: 'unknown' }],
    ['ollama', { cost_usd: 0, cost_status: 'known' }],
  ] as const) {
    const hand = await bundle.worker({ name: provider, providers: [provider] });
    const { job } = await bundle.coordinator.dispatch(request({ provider, model: 'gold-1' }));
    await hand.complete(await hand.job(), 'hello', null);
    t.like((await bundle.api('GET', `/api/jobs/${job.id}`)).json, { status: 'completed', ...cost });
  }
  t.like(await summary(bundle), { total_cost_usd: 0, attempts: 2, unknown_cost_attempts: 1 });
});

test('a cancelled and a timed out attempt are unknown, or 0 where the provider is free', async (t) => {
  const bundle = await setupApi(t, { pricing, jobs: { timeoutSeconds: 5 } });
  const { coordinator, clock, jobAs } = bundle;
  for (const provider of ['gold', 'ollama']) {
    const hand = await bundle.worker({ name: provider, providers: [provider], concurrency: 2 });
    const first = await coordinator.dispatch(request({ provider, model: 'gold-1' }));
    await hand.job();
    await coordinator.cancel(first.job.id);
    const second = await coordinator.dispatch(request({ provider, model: 'gold-1' }));
    await hand.job(2);
    clock.advance(5_001);
    await jobAs(second.job.id, 'failed');
  }
  const { providers = [] } = await breakdown(bundle);
  t.deepEqual(
    providers.map(({ provider, attempts, jobs, unknown_cost_attempts }) => [
      provider,
      attempts,
      jobs,
      unknown_cost_attempts,
    ]),
    [
      ['gold', 2, 2, 2],
      ['ollama', 2, 2, 0],
    ],
  );
});

test('a failure costs what its worker says; without a word it depends on whether the provider ran anything', async (t) => {
  const bundle = await setupApi(t, { pricing, jobs: { maxAttempts: 1 } });
  const hand = await bundle.worker({ providers: ['gold'] });
  const usage = {
    inputTokens: 10,
    outputTokens: 0,
    cachedInputTokens: 0,
    reasoningTokens: 0,
    totalTokens: 10,
  };
  const costs: unknown[] = [];
  const kinds = [
    ['server_error', 500, usage],
    ['server_error', 500, null],
    ['server_error', null, null],
    ['auth', null, null],
    ['invalid_request', null, null, 'result_too_large'],
    ['timeout', null, null],
    ['network', null, null, 'ECONNRESET'],
  ] as const;
  for (const [i, [errorClass, status, told, code = null]] of kinds.entries()) {
    const { job } = await bundle.coordinator.dispatch(request({ provider: 'gold', model: 'gold-1' }));
    const { job_id, lease } = await hand.job(i + 1);
    const failure = { class: errorClass, message: 'no', status, code, retryAfterMs: null };
    await hand.connection.conclude({ jobId: job_id, lease }, { type: 'fail', failure, usage: told });
    costs.push((await bundle.jobAs(job.id, 'failed')).life.attempts[0]?.cost);
  }
  t.deepEqual(costs, [
    { nanoDollars: 10_000_000, status: 'known' },
    { nanoDollars: null, status: 'none' },
    { nanoDollars: null, status: 'unknown' },
    { nanoDollars: null, status: 'none' },
    { nanoDollars: null, status: 'unknown' },
    { nanoDollars: null, status: 'unknown' },
    { nanoDollars: null, status: 'unknown' },
  ]);
  t.like(await summary(bundle), { attempts: 7, jobs: 7, unknown_cost_attempts: 4, total_cost_usd: 0.01 });
});

test('cost outlives a restart and a checkpoint', async (t) => {
  const bundle = await setupApi(t, { pricing });
  await complete(bundle, { tags: ['a'] });
  await bundle.store.checkpoint();
  await complete(bundle, { tags: ['a'] });
  const before = await breakdown(bundle, '?by=tag');
  const { store } = await bundle.restart();
  await store.checkpoint();
  const [bucket] = await store.costBuckets(Date.parse('2026-11-21T09:00:00Z'), bundle.clock.now() + 1, 'tag');
  t.is(bucket?.amounts.nanoDollars, 40_000_000);
  t.is(before.total_cost_usd, 0.04);
});

test('a bad query is refused with the field, also an empty one', async (t) => {
  const { api } = await setupApi(t);
  for (const [path, field] of [
    ['summary?period=year', 'period'],
    ['summary?period=', 'period'],
    ['summary?period=Day', 'period'],
    ['summary?period=day&period=week', 'period'],
    ['summary?period=day,week', 'period'],
    ['summary?tz=Mars/One', 'tz'],
    ['summary?tz=', 'tz'],
    ['summary?tz=%2B01:23', 'tz'],
    ['summary?from=2026-11-01', 'to'],
    ['summary?to=2026-11-01', 'from'],
    ['summary?from=2026-02-30&to=2026-03-01', 'from'],
    ['summary?from=2026-11-01T00:00:00Z&to=2026-11-02', 'from'],
    ['summary?from=2026-11-02&to=2026-11-01', 'to'],
    ['summary?from=2025-11-01&to=2026-11-02', 'to'],
    ['breakdown?from=2026-11-01&to=2026-11-02&period=day', 'period'],
    ['summary?by=model', 'by'],
    ['breakdown?by=colour', 'by'],
    ['breakdown?by=', 'by'],
    ['breakdown?limit=3', 'limit'],
  ] as const) {
    const { status, json } = await api('GET', `/api/cost/${path}`);
    t.is(status, 400, path);
    t.is(json.code, 'invalid_request');
    t.deepEqual(
      json.errors?.map((error) => error.field),
      [field],
      path,
    );
  }
});

test('a viewer may read cost, a worker may not, and a stranger learns nothing', async (t) => {
  const { api, keys } = await setupApi(t);
  const as = async (key: string) =>
    (await api('GET', '/api/cost/summary', undefined, { authorization: `Bearer ${key}` })).status;
  t.is(await as(keys.viewer), 200);
  t.is(await as(keys.worker), 403);
  t.is(await as('nobody'), 401);
});
