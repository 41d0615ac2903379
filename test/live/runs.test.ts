import test from 'ava';
import type { WireLiveRun } from '../../src/domain/wire/run.ts';
import { setupApi } from '../support/api.ts';
import { until } from '../support/process.ts';
import { dashboard } from './support/dashboard.ts';

const line = (id: string) => ({ line_id: id, prompt: 'Say hello', provider: 'echo' });

test('a run that changes is told at most once a second, and one that does not change is not', async (t) => {
  const bundle = await setupApi(t);
  const { api, clock } = bundle;
  for (const name of ['done', 'open']) {
    await api('POST', '/api/runs', { name, defaults: { prompt: 'x'.repeat(1000) } });
  }
  await api('POST', '/api/runs/done/jobs', { jobs: [line('a')] });
  await api('POST', '/api/runs/done/cancel');
  // What it cancels in the background changes it as well.
  const cancelled = () => bundle.coordinator.runs.get('done').run.totals.cancelled;
  await until('the run has ended', () => cancelled() === 1);
  const view = await dashboard(t, bundle);
  await view.subscribe('runs');
  const snapshot = view.frames.find(({ topic }) => topic === 'runs')?.data as unknown as WireLiveRun[];
  t.deepEqual(
    snapshot.map(({ name, status }) => ({ name, status })),
    [{ name: 'open', status: 'running' }],
    'those that are running or paused',
  );
  t.false('defaults' in (snapshot[0] ?? {}));
  for (const id of ['1', '2', '3']) await api('POST', '/api/runs/open/jobs', { jobs: [line(id)] });
  clock.advance(1_000);
  const { data } = await view.next('run.updated');
  t.like(data, { name: 'open', counts: { total: 3, pending: 3 } });
  t.false('defaults' in data);
  clock.advance(1_000);
  clock.advance(1_000);
  await api('POST', '/api/runs', { name: 'later' });
  clock.advance(1_000);
  await view.next('run.updated', 2);
  const told = view.frames.filter(({ type }) => type === 'run.updated').map(({ data: run }) => run?.name);
  t.deepEqual(told, ['open', 'later']);
});

test('changes between two followers are not lost to the first', async (t) => {
  const bundle = await setupApi(t);
  const { api, clock } = bundle;
  await api('POST', '/api/runs', { name: 'one' });
  const first = await dashboard(t, bundle);
  await first.subscribe('runs');
  await api('POST', '/api/runs/one/pause');
  const second = await dashboard(t, bundle);
  await second.subscribe('runs');
  clock.advance(1_000);
  t.like((await first.next('run.updated')).data, { name: 'one', status: 'paused' });
  t.like((await second.next('run.updated')).data, { name: 'one', status: 'paused' });
});
