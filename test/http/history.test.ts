import test from 'ava';
import type { WireJobHistory } from '../../src/domain/wire/job.ts';
import { presentHistory } from '../../src/present/jobHistory.ts';
import { type ApiBundle, setupApi } from '../support/api.ts';

const body = { prompt: 'Summarise', provider: 'echo' };

async function historyOf({ api }: ApiBundle, id: unknown): Promise<WireJobHistory> {
  return (await api('GET', `/api/jobs/${id}/history`)).json as unknown as WireJobHistory;
}

const told = ({ entries }: WireJobHistory) => entries.map(({ event, to, attempt }) => [event, to, attempt]);

test('a job tells the states that it went through, with the time of each', async (t) => {
  const bundle = await setupApi(t);
  const { api, clock, worker, jobAs } = bundle;
  const { id, created_at } = (await api('POST', '/api/jobs', body)).json;
  clock.advance(2_000);
  const first = await worker({ name: 'one' });
  const lost = await first.job();
  clock.advance(1_000);
  first.drop();
  await jobAs(String(id), 'running.stuck');
  await api('POST', `/api/jobs/${id}/retry`);
  const second = await worker({ name: 'two' });
  await second.complete(await second.job(), 'done');
  const history = await historyOf(bundle, id);
  t.like(history, { job_id: id, state: 'completed', truncated: false });
  t.deepEqual(told(history), [
    [null, 'pending.ready', null],
    ['job.assigned', 'running.active', 1],
    ['job.workerLost', 'running.stuck', 1],
    ['job.retried', 'pending.ready', 1],
    ['job.assigned', 'running.active', 2],
    ['job.completed', 'completed', 2],
  ]);
  const seconds = history.entries.map(({ at }) => (Date.parse(at) - Date.parse(String(created_at))) / 1_000);
  t.deepEqual(seconds, [0, 2, 3, 3, 3, 3]);
  t.is(lost.job_id, String(id));
});

test('the history outlives a kill, and is read from the store', async (t) => {
  const bundle = await setupApi(t);
  const { api, worker, jobAs } = bundle;
  const { id } = (await api('POST', '/api/jobs', body)).json;
  const hand = await worker();
  await hand.job();
  hand.drop();
  await jobAs(String(id), 'running.stuck');
  const before = await historyOf(bundle, id);
  const again = await bundle.restart();
  const after = await again.store.job(String(id));
  t.deepEqual(after === undefined ? null : presentHistory(after), before);
});

test('a job whose time has not come begins delayed', async (t) => {
  const bundle = await setupApi(t);
  const { api, clock, jobAs } = bundle;
  const not_before = new Date(clock.now() + 60_000).toISOString();
  const { id } = (await api('POST', '/api/jobs', { ...body, not_before })).json;
  clock.advance(60_000);
  await jobAs(String(id), 'pending.ready');
  t.deepEqual(told(await historyOf(bundle, id)), [
    [null, 'pending.delayed', null],
    ['job.due', 'pending.ready', null],
  ]);
});

test('a job that does not exist has no history, and a parameter is refused', async (t) => {
  const { api } = await setupApi(t);
  t.like(await api('GET', '/api/jobs/none/history'), { status: 404, json: { code: 'job_not_found' } });
  t.is((await api('GET', '/api/jobs/none/history?x=1')).status, 400);
});
