import test from 'ava';
import type { JobChange } from '../../src/store/store.ts';
import { setupApi } from '../support/api.ts';
import { request } from '../support/coordinator.ts';

/*
 * Earlier versions kept what workers said at any length: a folder with such words must start, and be shown.
 */

const long = 'n'.repeat(1_000_000);

test('a worker with too many and too long names is shown, and is cut on disk', async (t) => {
  const former = await setupApi(t);
  const { id } = await former.worker({ name: 'box', models: { echo: ['m'] } });
  const { life } = await former.coordinator.worker(id);
  const names = Array.from({ length: 50_000 }, (_, index) => `model-${index}`);
  const models = { echo: [long, ...names], 'another-provider': ['x'] };
  await former.store.commit([{ kind: 'worker', life: { ...life, models, tags: [long, 'eu'] } }]);
  const bundle = await former.restart();
  const { life: now } = await bundle.coordinator.worker(id);
  t.deepEqual(Object.keys(now.models), ['echo']);
  t.is(now.models.echo?.length, 2_000);
  t.is(now.models.echo?.[0], 'model-0');
  t.deepEqual(now.tags, ['eu']);
  const stored = (await bundle.store.workers()).find((record) => record.life.id === id);
  t.is(stored?.life.models.echo?.length, 2_000);
});

test('a job with a long model and message is shown, in metrics and in the cost report', async (t) => {
  const { api, coordinator, worker, store, jobAs } = await setupApi(t);
  const hand = await worker({ concurrency: 2 });
  const { job } = await coordinator.dispatch(request());
  await hand.job();
  const running = await jobAs(job.id, 'running');
  const [attempt] = running.life.attempts;
  if (attempt === undefined) return t.fail();
  const at = 1_000_000;
  const ended = { ...attempt, model: long, outcome: 'failed' as const, finishedAt: at };
  const error = { class: 'unknown' as const, code: long, message: long, status: null };
  const change: JobChange = {
    kind: 'job',
    id: job.id,
    expectedVersion: running.version,
    state: 'failed',
    life: { ...running.life, attempts: [{ ...ended, error }], error, finishedAt: at },
    ledger: ['', '2'].map((more) => ({
      at,
      provider: 'echo',
      model: long + more,
      workerId: hand.id,
      outcome: 'failed',
      tier: null,
      tags: [],
      amounts: {
        jobs: 0,
        attempts: 1,
        nanoDollars: 5,
        unknown: 0,
        inputTokens: 1,
        outputTokens: 1,
        cachedInputTokens: 0,
        reasoningTokens: 0,
      },
    })),
  };
  await store.commit([change]);
  const shown = await api('GET', `/api/jobs/${job.id}`);
  t.is(shown.status, 200);
  t.true(shown.text.length < 50_000, `${shown.text.length}`);
  t.true((await api('GET', '/api/jobs')).text.length < 50_000);
  const metrics = await api('GET', '/metrics');
  t.is(metrics.status, 200);
  t.true(metrics.text.length < 1_000_000);
  const buckets = await store.costBuckets(0, 2 * at, 'model');
  t.deepEqual(
    buckets.map(({ key }) => key),
    [['echo', '(other)']],
  );
  t.is(buckets[0]?.amounts.nanoDollars, 10);
});
