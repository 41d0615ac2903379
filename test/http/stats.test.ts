import test from 'ava';
import { statsRanges } from '../../src/domain/stats.ts';
import type { WireStatsHistory } from '../../src/domain/wire/stats.ts';
import { type ApiBundle, setupApi } from '../support/api.ts';
import { request } from '../support/coordinator.ts';

const stats = async ({ api }: ApiBundle) => (await api('GET', '/api/stats')).json;

test('figures of a coordinator that has nothing to do', async (t) => {
  const bundle = await setupApi(t);
  const figures = await stats(bundle);
  t.like(figures, {
    jobs: { total: 0, by_status: { pending: 0 }, by_state: { 'running.stuck': 0 } },
    pending: [],
    slots: { total: 0, taken: 0, workers: [], providers: [] },
    throughput: { last_1m: { created: 0 }, last_15m: { completed: 0 } },
    wait: { count: 0, p50_ms: null, p95_ms: null },
    tokens_per_second: { input: 0, output: 0 },
    queue: { paused: false, since: null, by: null, reason: null },
    coordinator: { status: 'accepting', store: 'ok', event_loop_delay_p99_ms: null },
  });
  t.is((await bundle.api('GET', '/api/stats?x=1')).status, 400);
});

test('jobs are counted by state, and what waits by provider and priority with the oldest', async (t) => {
  const bundle = await setupApi(t);
  const { coordinator, clock } = bundle;
  await coordinator.dispatch(request({ provider: 'a' }));
  clock.advance(5_000);
  await coordinator.dispatch(request({ provider: 'a' }));
  await coordinator.dispatch(request({ provider: 'a', priority: 'high' }));
  await coordinator.dispatch(request({ provider: 'b', notBefore: clock.now() + 60_000 }));
  clock.advance(1_000);
  const { jobs, pending } = await stats(bundle);
  t.like(jobs, {
    total: 4,
    by_status: { pending: 4, running: 0 },
    by_state: { 'pending.ready': 3, 'pending.delayed': 1 },
  });
  t.deepEqual(pending, [
    { provider: 'a', priority: 'normal', ready: 2, oldest_wait_ms: 6_000 },
    { provider: 'a', priority: 'high', ready: 1, oldest_wait_ms: 1_000 },
  ]);
});

test('slots are told by worker and by provider, within its max_concurrent', async (t) => {
  const rateLimit = { maxConcurrent: 2, retryAfterSeconds: 20, maxRetries: 5, retryAfterMaxSeconds: 300 };
  const breaker = { ratio: 0.5, minimum: 2, windowSeconds: 60, openSeconds: 30 };
  const tight = { rateLimit, model: null, baseUrl: null, apiKeyEnv: null, breaker };
  const bundle = await setupApi(t, { providers: { tight } });
  const hand = await bundle.worker({ name: 'box', providers: ['echo', 'tight'], concurrency: 4 });
  await bundle.coordinator.dispatch(request({ provider: 'tight' }));
  await hand.job();
  const { slots } = await stats(bundle);
  const { last_heartbeat_at } = (await bundle.api('GET', `/api/workers/${hand.id}`)).json;
  t.is(typeof last_heartbeat_at, 'string');
  t.deepEqual(slots, {
    total: 4,
    taken: 1,
    workers: [{ id: hand.id, name: 'box', total: 4, taken: 1, last_heartbeat_at }],
    providers: [
      { provider: 'echo', total: 4, taken: 0, free: 3 },
      { provider: 'tight', total: 4, taken: 1, free: 1 },
    ],
  });
});

test('throughput, waits, runs and tokens are those of the last minutes', async (t) => {
  const bundle = await setupApi(t);
  const { coordinator, clock } = bundle;
  const { job } = await coordinator.dispatch(request());
  clock.advance(2_000);
  const hand = await bundle.worker();
  const assigned = await hand.job();
  clock.advance(500);
  await hand.complete(assigned);
  const other = (await coordinator.dispatch(request({ provider: 'nobody' }))).job;
  await coordinator.cancel(other.id);
  await bundle.jobAs(job.id, 'completed');
  const now = await stats(bundle);
  t.like(now.throughput, {
    last_1m: { created: 2, started: 1, requeued: 0, completed: 1, failed: 0, cancelled: 1 },
  });
  const { wait, run } = now as Record<'wait' | 'run', { count: number; p50_ms: number }>;
  t.is(wait.count, 1);
  t.true(Math.abs(wait.p50_ms - 2_000) <= 100, `${wait.p50_ms}`);
  t.true(Math.abs(run.p50_ms - 500) <= 25, `${run.p50_ms}`);
  t.deepEqual(now.tokens_per_second, { input: 0.17, output: 0.08 });
  clock.advance(70_000);
  t.like(await stats(bundle), {
    throughput: { last_1m: { created: 0 }, last_5m: { created: 2 }, last_15m: { completed: 1 } },
    wait: { count: 1 },
    tokens_per_second: { input: 0, output: 0 },
  });
  clock.advance(300_000);
  t.like(await stats(bundle), {
    throughput: { last_5m: { created: 0 }, last_15m: { created: 2 } },
    wait: { count: 0, p50_ms: null },
  });
});

test('a client that makes up providers does not make the figures grow', async (t) => {
  const bundle = await setupApi(t);
  const jobs = Array.from({ length: 150 }, (_, index) => ({ prompt: 'x', provider: `p${index}` }));
  await bundle.api('POST', '/api/jobs/batch', { jobs: [...jobs, ...jobs.slice(0, 20)] });
  const { pending } = (await stats(bundle)) as unknown as { pending: { provider: string; ready: number }[] };
  t.is(pending.length, 101);
  t.like(pending.at(-1), { provider: 'other', ready: 50 });
});

test('the last hour is told in steps of ten seconds, each with what happened in it', async (t) => {
  const bundle = await setupApi(t);
  const { coordinator, clock, api } = bundle;
  const history = async (query = '') => (await api('GET', `/api/stats/history${query}`)).json;
  t.deepEqual(await history(), { step_seconds: 10, points: [] });
  await coordinator.dispatch(request({ provider: 'a' }));
  clock.advance(10_000);
  await coordinator.dispatch(request({ provider: 'a' }));
  await coordinator.dispatch(request({ provider: 'a' }));
  clock.advance(10_000);
  const { points } = (await history()) as { points: { at: string }[] };
  t.is(points.length, 2);
  t.like(points[0], { pending: 1, throughput: { created: 1 }, wait: { count: 0, p50_ms: null } });
  t.like(points[1], { pending: 3, throughput: { created: 2 } });
  t.deepEqual((await history(`?after=${points[0]?.at}`)).points, [points[1]]);
  for (let step = 0; step < 400; step += 1) {
    clock.advance(10_000);
    await Promise.resolve();
  }
  t.is(((await history()).points as unknown[]).length, 360);
  t.is((await api('GET', '/api/stats/history?after=yesterday')).status, 400);
});

test('a day is told in steps of a minute, a week in steps of ten, each with all that happened in it', async (t) => {
  const bundle = await setupApi(t);
  const { coordinator, clock, api } = bundle;
  const history = async (query: string) =>
    (await api('GET', `/api/stats/history?${query}`)).json as unknown as WireStatsHistory;
  const pass = async (seconds: number): Promise<void> => {
    for (let step = 0; step < seconds / 10; step += 1) {
      clock.advance(10_000);
      await Promise.resolve();
    }
  };
  for (let minute = 0; minute < 20; minute += 1) {
    const { job } = await coordinator.dispatch(request({ provider: 'nobody' }));
    if (minute % 4 === 0) await coordinator.cancel(job.id);
    await pass(60);
  }
  const day = await history('range=day');
  t.is(day.step_seconds, 60);
  t.deepEqual(
    day.points.map(({ pending }) => pending),
    [0, 1, 2, 3, 3, 4, 5, 6, 6, 7, 8, 9, 9, 10, 11, 12, 12, 13, 14, 15],
  );
  t.true(day.points.every(({ throughput }) => throughput.created === 1));
  const week = await history('range=week');
  t.is(week.step_seconds, 600);
  t.deepEqual(
    week.points.map(({ pending, running, throughput: { created, cancelled } }) => [
      pending,
      running,
      created,
      cancelled,
    ]),
    [
      [7, 0, 10, 3],
      [15, 0, 10, 2],
    ],
  );
  t.deepEqual((await history(`range=week&after=${week.points[0]?.at}`)).points, week.points.slice(1));
  for (const range of ['month', 'day,week', 'day&range=week'])
    t.is((await api('GET', `/api/stats/history?range=${range}`)).status, 400, range);
  await pass(8 * 86_400);
  const sizes = statsRanges.map((range) => coordinator.statsHistory(range, null).points.length);
  t.deepEqual(sizes, [360, 1_440, 1_008]);
});
