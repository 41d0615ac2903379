import { get } from 'node:http';
import test from 'ava';
import type { WireJob } from '../../src/domain/wire/job.ts';
import { nextTurn } from '../../src/lib/nextTurn.ts';
import { FailingFiles, systemError } from '../store/failingFiles.ts';
import { creation } from '../store/jobs.ts';
import { type ApiBundle, environmentKey, setupApi } from '../support/api.ts';

const day = 86_400_000;
const all = { endedBefore: 0, keep: 0, limit: 1_000_000 };
const everyJob = () => true;
const idOf = (n: number) => `01990000-0000-7000-8000-${String(n).padStart(12, '0')}`;

/** Jobs that have ended, one a minute, the last ones now. */
async function fill({ store, clock }: ApiBundle, from: number, to: number, prompt = 'Hello'): Promise<void> {
  for (let n = from; n < to; n += 1_000) {
    await store.commit(
      Array.from({ length: Math.min(1_000, to - n) }, (_, i) => {
        const at = clock.now() - day + (n + i) * 60_000;
        const state = (n + i) % 10 === 0 ? 'failed' : 'completed';
        return creation(idOf(n + i), { at, state, life: { finishedAt: at + 1 }, request: { prompt } });
      }),
    );
  }
}

const linesOf = (text: string): WireJob[] =>
  text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));

test('10,000 jobs are exported whole, one a line, half of them from the archive', async (t) => {
  const bundle = await setupApi(t);
  await fill(bundle, 0, 10_000);
  t.is(await bundle.store.archive({ ...all, keep: 5_000 }, everyJob), 5_000);
  const { status, headers, text } = await bundle.api('GET', '/api/jobs/export?archived=true');
  t.is(status, 200);
  t.is(headers.get('content-type'), 'application/x-ndjson');
  const jobs = linesOf(text);
  t.is(jobs.length, 10_000);
  t.is(new Set(jobs.map(({ id }) => id)).size, 10_000);
  t.is(jobs[0]?.id, idOf(9_999));
  const { json } = await bundle.api('GET', `/api/jobs/${idOf(20)}`);
  t.deepEqual(
    jobs.find(({ id }) => id === idOf(20)),
    json as unknown as WireJob,
  );
  const hot = linesOf((await bundle.api('GET', '/api/jobs/export')).text);
  t.is(hot.length, 5_000);
});

test('an export takes the filters of a list and refuses what it does not know', async (t) => {
  const bundle = await setupApi(t);
  const { api, clock } = bundle;
  await fill(bundle, 0, 100);
  await bundle.store.archive({ ...all, keep: 50 }, everyJob);
  const after = new Date(clock.now() - day + 35 * 60_000).toISOString();
  const before = new Date(clock.now() - day + 65 * 60_000).toISOString();
  const query = `archived=true&status=failed&created_after=${after}&created_before=${before}`;
  const { text } = await api('GET', `/api/jobs/export?${query}`);
  t.deepEqual(
    linesOf(text).map(({ id }) => id),
    [60, 50, 40].map(idOf),
  );
  t.is((await api('GET', '/api/jobs/export?status=failed&archived=false')).text.split('\n').length, 6);
  t.is((await api('GET', '/api/jobs/export?provider=nobody')).text, '');
  const { status, json } = await api('GET', '/api/jobs/export?archived=yes&limit=5&status=done');
  t.is(status, 400);
  t.deepEqual(json.errors?.map(({ field }) => field).sort(), ['archived', 'limit', 'status']);
});

/** An export whose answer nobody reads yet, and how many jobs it has looked at. */
async function unreadExport(bundle: ApiBundle) {
  const { coordinator, port } = bundle;
  const seen = { jobs: 0, hasEnded: false };
  const scan = coordinator.scan.bind(coordinator);
  coordinator.scan = async function* counted(...args: Parameters<typeof scan>) {
    try {
      for await (const batch of scan(...args)) {
        seen.jobs += batch.length;
        yield batch;
      }
    } finally {
      seen.hasEnded = true;
    }
  };
  const headers = { authorization: `Bearer ${environmentKey}` };
  const request = get({ port, host: '127.0.0.1', path: '/api/jobs/export?archived=true', headers });
  const response = await new Promise<import('node:http').IncomingMessage>((resolve, reject) => {
    request.once('response', resolve).once('error', reject);
  });
  // Far more turns than it would take if nothing held it up.
  for (let turn = 0; turn < 5_000; turn += 1) await nextTurn();
  return { request, response, seen };
}

test('an export goes no faster than it is read, and ends when the client goes', async (t) => {
  const bundle = await setupApi(t);
  await fill(bundle, 0, 20_000, 'the quick brown fox '.repeat(100));
  await bundle.store.archive({ ...all, keep: 12_000 }, everyJob);
  const { request, response, seen } = await unreadExport(bundle);
  t.true(seen.jobs < 10_000, `${seen.jobs} jobs were looked at for nobody`);
  t.false(seen.hasEnded);
  response.on('error', () => {});
  request.on('error', () => {}).destroy();
  while (!seen.hasEnded) await nextTurn();
  // Nothing of it is left: jobs can be archived and found.
  t.is(await bundle.store.archive(all, everyJob), 12_000);
});

test('an export that fails half way breaks off, so that it is not taken for whole', async (t) => {
  const files = new FailingFiles();
  const bundle = await setupApi(t, {}, { files });
  await fill(bundle, 0, 200);
  await bundle.store.archive({ ...all, keep: 100 }, everyJob);
  t.is((await bundle.store.archivedJob(idOf(1)))?.id, idOf(1));
  files.before = ({ name, path }) => {
    if (name === 'read' && path.endsWith('.ndjson')) throw systemError('EIO');
  };
  const headers = { authorization: `Bearer ${environmentKey}` };
  const read = async () => (await fetch(`${bundle.url}/api/jobs/export?archived=true`, { headers })).text();
  await t.throwsAsync(read);
  files.before = () => {};
  t.is(linesOf(await read()).length, 200);
});

test('an archived job is read like any other, and neither cancelled nor retried', async (t) => {
  const bundle = await setupApi(t);
  const { api, store } = bundle;
  await fill(bundle, 0, 2);
  const before = (await api('GET', `/api/jobs/${idOf(0)}`)).json;
  await store.archive(all, everyJob);
  t.deepEqual((await api('GET', `/api/jobs/${idOf(0)}`)).json, before);
  t.deepEqual((await api('GET', `/api/jobs/${idOf(0)}?wait=5`)).json, before);
  t.is((await api('GET', '/api/jobs')).json.total, 0);
  const failed = await api('POST', `/api/jobs/${idOf(0)}/retry`, {});
  t.like(failed, { status: 409, json: { code: 'invalid_transition', job_status: 'failed' } });
  t.regex(String(failed.json.detail), /archived cannot be retried; send its request again/);
  const completed = await api('POST', `/api/jobs/${idOf(1)}/cancel`, {});
  t.like(completed, { status: 409, json: { code: 'invalid_transition', job_status: 'completed' } });
  t.is((await api('GET', `/api/jobs/${idOf(5)}`)).status, 404);
});
