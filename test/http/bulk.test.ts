import test from 'ava';
import { type ApiBundle, setupApi } from '../support/api.ts';
import { request } from '../support/coordinator.ts';

async function dispatch({ coordinator }: ApiBundle, count: number, tags: string[] = []): Promise<string[]> {
  const jobs = Array.from({ length: count }, () => request({ tags }));
  return (await coordinator.dispatchAll(jobs.map((job) => coordinator.plan(job)))).map(({ id }) => id);
}

const statusOf = async ({ api }: ApiBundle, id: string) => (await api('GET', `/api/jobs/${id}`)).json.status;

test('named jobs are cancelled together, and one that cannot be is told and holds up no other', async (t) => {
  const bundle = await setupApi(t);
  const [a = '', b = '', c = ''] = await dispatch(bundle, 3);
  await bundle.coordinator.cancel(b);
  const { status, json } = await bundle.api('POST', '/api/jobs/cancel', { ids: [a, b, 'nobody', c, a] });
  t.is(status, 200);
  t.like(json, { changed: 2, refused_count: 2, has_more: false });
  const refused = json.refused as { id: string; code: string }[];
  t.deepEqual(
    refused.map(({ id, code }) => [id, code]),
    [
      [b, 'invalid_transition'],
      ['nobody', 'job_not_found'],
    ],
  );
  t.is(await statusOf(bundle, a), 'cancelled');
  t.is(await statusOf(bundle, c), 'cancelled');
});

test('all that match are cancelled a thousand at a time, and what came later is left alone', async (t) => {
  const bundle = await setupApi(t);
  await dispatch(bundle, 1_500, ['old']);
  const [newest = ''] = await dispatch(bundle, 1, ['old']);
  await dispatch(bundle, 5, ['old']);
  await dispatch(bundle, 5, ['other']);
  const body = { filter: { tag: ['old'], newest } };
  const first = await bundle.api('POST', '/api/jobs/cancel', body);
  t.like(first.json, { changed: 1_000, refused_count: 0, has_more: true });
  const second = await bundle.api('POST', '/api/jobs/cancel', body);
  t.like(second.json, { changed: 501, refused_count: 0, has_more: false });
  t.like((await bundle.api('POST', '/api/jobs/cancel', body)).json, { changed: 0, has_more: false });
  const { json } = await bundle.api('GET', '/api/stats');
  t.like(json.jobs, { by_status: { pending: 10, cancelled: 1_501 } });
});

test('a retry of all that match takes the failed and the stuck, and leaves what runs well', async (t) => {
  const bundle = await setupApi(t);
  const { coordinator, clock } = bundle;
  const steady = await bundle.worker({ name: 'steady', providers: ['echo'], concurrency: 2 });
  const flaky = await bundle.worker({ name: 'flaky', providers: ['other'] });
  const one = async (provider: string, timeoutSeconds: number | null) =>
    (await coordinator.dispatch(request({ provider, timeoutSeconds }))).job.id;
  const late = await one('echo', 1);
  await steady.job();
  clock.advance(1_001);
  await bundle.jobAs(late, 'failed');
  const well = await one('echo', null);
  await steady.job(2);
  const stuck = await one('other', null);
  await flaky.job();
  flaky.drop();
  await bundle.jobWhen(stuck, ({ state }) => state === 'running.stuck');
  const retries = async (id: string) => (await coordinator.job(id)).job.life.retryCount;
  t.like((await bundle.api('POST', '/api/jobs/retry', { filter: { status: 'completed' } })).json, {
    changed: 0,
  });
  const { json } = await bundle.api('POST', '/api/jobs/retry', { filter: {} });
  t.like(json, { changed: 2, refused_count: 0, has_more: false });
  t.deepEqual([await retries(late), await retries(stuck), await retries(well)], [1, 1, 0]);
});

test('a choice of jobs that is none is refused, and nothing changes', async (t) => {
  const bundle = await setupApi(t);
  const [id = ''] = await dispatch(bundle, 1);
  const wrong: [unknown, string][] = [
    [{}, 'ids'],
    [{ ids: [id], filter: {} }, 'ids'],
    [{ ids: [] }, 'ids'],
    [{ ids: Array.from({ length: 1_001 }, (_, i) => `${i}`) }, 'ids'],
    [{ filter: { colour: 'red' } }, 'colour'],
    [{ filter: { status: 'gone' } }, 'status'],
    [{ filter: { tag: [1] } }, 'filter.tag[0]'],
    [{ filter: { newest: 'nobody' } }, 'newest'],
    [{ filter: 'all' }, 'filter'],
    [{ filter: null }, 'filter'],
    [{ all: true }, 'all'],
  ];
  for (const [body, field] of wrong) {
    const { status, json } = await bundle.api('POST', '/api/jobs/cancel', body);
    t.is(status, 400, JSON.stringify(body).slice(0, 60));
    t.true(
      json.errors?.some((error) => error.field === field),
      `${field}: ${JSON.stringify(json.errors)}`,
    );
  }
  t.is(await statusOf(bundle, id), 'pending');
});

test('only who may cancel one job may cancel many', async (t) => {
  const bundle = await setupApi(t);
  for (const action of ['cancel', 'retry']) {
    const as = (key: string) =>
      bundle.api('POST', `/api/jobs/${action}`, { filter: {} }, { authorization: `Bearer ${key}` });
    t.is((await as(bundle.keys.viewer)).status, 403);
    t.is((await as(bundle.keys.client)).status, 200);
  }
});

test('a list that begins with a job keeps its places while new jobs come', async (t) => {
  const bundle = await setupApi(t);
  const ids = await dispatch(bundle, 30);
  const newest = ids[29] ?? '';
  await dispatch(bundle, 7);
  for (const more of ['', '&tag=none', '&status=pending,failed']) {
    const page = await bundle.api('GET', `/api/jobs?newest=${newest}&limit=10&offset=5${more}`);
    const wanted = more === '&tag=none' ? [] : ids.toReversed().slice(5, 15);
    t.is(page.json.total, more === '&tag=none' ? 0 : 30);
    t.deepEqual(
      (page.json.jobs as { id: string }[]).map(({ id }) => id),
      wanted,
    );
  }
  const { status, json } = await bundle.api('GET', '/api/jobs?newest=nobody');
  t.is(status, 400);
  t.is(json.errors?.[0]?.field, 'newest');
});
