import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import { type Manifest, signManifest } from '../../src/store/json/checkpoint/manifest.ts';
import { StoreCorrupt } from '../../src/store/json/errors.ts';
import { nodeFiles } from '../../src/store/json/files.ts';
import { createJsonStore, type JsonStore } from '../../src/store/json/jsonStore.ts';
import { takeSnapshot } from '../../src/store/json/snapshot.ts';
import { FakeClock } from '../support/fakeClock.ts';
import { emptyFolder, noLock, openStore, stateOf } from './folders.ts';
import { creation, epoch, headStart, queryOf, transition } from './jobs.ts';

/** Several blocks of a segment. */
const jobCount = 2_400;
const prompt = 'A prompt with "quotes", a \\ and a line.\n'.repeat(25);

const idOf = (index: number) => `job-${String(index).padStart(4, '0')}`;

/** A folder with a checkpoint of pending jobs and some others, and what its store showed. */
async function checkpointed(t: ExecutionContext): Promise<{ path: string; state: unknown }> {
  const path = await emptyFolder(t);
  const store = await openStore(t, path);
  await store.commit(
    Array.from({ length: jobCount }, (_, index) => {
      const change = creation(idOf(index), {
        at: epoch + index,
        request: { prompt: `${index} ${prompt}`, provider: index % 3 === 0 ? 'openai' : 'anthropic' },
        by: index % 2 === 0 ? { keyId: 'k', name: 'a key' } : undefined,
        life: index % 5 === 0 ? { priority: 'high' } : {},
      });
      if (change.created !== undefined && index % 10 === 0)
        change.created.idempotency = {
          key: `k ${index}`,
          jobId: idOf(index),
          bodyHash: '',
          expiresAt: epoch + 1e9,
        };
      if (change.created !== undefined && index % 4 === 0)
        change.created.run = { runId: `run-${index % 8}`, name: 'a run', lineId: `${index}` };
      return change;
    }),
  );
  for (const index of [3, 4, 700]) await move(store, index, 'completed');
  await move(store, 5, 'running.active');
  await store.checkpoint();
  const state = await stateOf(store);
  await store.close();
  return { path, state };
}

async function move(store: JsonStore, index: number, state: 'completed' | 'running.active'): Promise<void> {
  const job = await store.job(idOf(index));
  if (job === undefined) throw new Error(`no job ${index}`);
  await store.commit([transition(job, state, { finishedAt: state === 'completed' ? epoch : null })]);
}

const unreadIn = (store: JsonStore) => store.health().unreadBytes;

test('ready jobs of a checkpoint are read when they are needed, and figures and lanes need none of them', async (t) => {
  const { path, state } = await checkpointed(t);
  const store = await openStore(t, path);
  const unread = unreadIn(store);
  t.true(unread > (jobCount * prompt.length) / 2, `${unread} bytes`);
  t.is((await store.counts()).byStatus.pending, jobCount - 4);
  t.like(Object.fromEntries(await store.pendingByKey()), { k: jobCount / 2 - 2 });
  t.is(
    (await store.backlog()).reduce((sum, { ready }) => sum + ready, 0),
    jobCount - 4,
  );
  t.is(await store.countOfRun('run-4'), jobCount / 8);
  t.is((await store.idempotent('k 990'))?.jobId, idOf(990));
  t.is(unreadIn(store), unread);
  t.is((await store.job(idOf(500)))?.request.prompt, `500 ${prompt}`);
  t.is(await store.job(idOf(500)), await store.job(idOf(500)));
  t.is(unreadIn(store), unread);
  t.deepEqual(await stateOf(store), state);
  t.is(unreadIn(store), 0);
});

test('a block is freed when a quarter of its jobs was needed', async (t) => {
  const { path } = await checkpointed(t);
  const store = await openStore(t, path);
  const unread = unreadIn(store);
  const page = await store.jobs(queryOf({ limit: 500, offset: jobCount / 2 }));
  t.is(page.jobs.length, 500);
  const left = unreadIn(store);
  t.true(left < unread && left > 0, `${left} of ${unread} bytes`);
});

test('jobs are claimed, changed and searched as if they had been read', async (t) => {
  const { path } = await checkpointed(t);
  const store = await openStore(t, path);
  const lanes = (await store.lanes()).map(({ key }) => key);
  const claimed = await store.claim({ lanes, limit: 300 }, (job) => transition(job, 'running.active'));
  t.is(claimed.length, 300);
  t.is((await store.runningJobs()).length, 301);
  const found = await store.jobs(queryOf({ text: `${jobCount - 1} a prompt` }));
  t.deepEqual(
    found.jobs.map(({ id }) => id),
    [idOf(jobCount - 1)],
  );
  const state = await stateOf(store);
  await store.close();
  t.deepEqual(await stateOf(await openStore(t, path)), state);
});

test('a checkpoint may replace the files of jobs that were not read, and a backup copies them', async (t) => {
  const { path } = await checkpointed(t);
  const store = await openStore(t, path);
  const before = await readdir(join(path, 'jobs'));
  await move(store, 900, 'completed');
  await store.checkpoint();
  t.notDeepEqual(await readdir(join(path, 'jobs')), before);
  t.true(unreadIn(store) > 0);
  const snapshot = await takeSnapshot(nodeFiles, path);
  const segment = snapshot.files.find(({ name }) => name.startsWith('jobs/'));
  const bytes = Buffer.alloc(segment?.bytes ?? 0);
  await segment?.file.read(bytes, 0);
  await snapshot.close();
  const { jobs } = JSON.parse(bytes.toString());
  t.is(jobs.length, jobCount);
  t.true(unreadIn(store) > 0);
  t.is(jobs[800].request.prompt, (await store.job(idOf(800)))?.request.prompt);
  const state = await stateOf(store);
  await store.close();
  t.deepEqual(await stateOf(await openStore(t, path)), state);
});

test('a process that is killed before it has read all jobs leaves them as they were', async (t) => {
  const { path, state } = await checkpointed(t);
  const options = { path, clock: new FakeClock(epoch), headStart, lock: noLock };
  const killed = createJsonStore(options);
  await killed.open();
  t.not(await killed.job(idOf(10)), undefined);
  t.true(unreadIn(killed) > 0);
  const again = createJsonStore(options);
  await again.open();
  t.deepEqual(await stateOf(again), state);
  await again.close();
  await killed.close();
});

test('damage in a job that would not be read is found by the start, with its place', async (t) => {
  const { path } = await checkpointed(t);
  const file = join(path, 'jobs', (await readdir(join(path, 'jobs')))[0] ?? '');
  const whole = await readFile(file, 'latin1');
  const at = whole.indexOf('500 A prompt');
  const place = whole.lastIndexOf('\n', at) + 1;
  const opened = async (text: string) => {
    await writeFile(file, text, 'latin1');
    return openStore(t, path);
  };
  // Still JSON: the checksum of the file shows it.
  await t.throwsAsync(opened(`${whole.slice(0, at)}501${whole.slice(at + 3)}`), {
    instanceOf: StoreCorrupt,
    message: /its length, count or checksum/,
  });
  // No JSON, in a string that the search for heads skips.
  await t.throwsAsync(opened(`${whole.slice(0, at)}\u0007${whole.slice(at + 1)}`), {
    instanceOf: StoreCorrupt,
    message: new RegExp(`is damaged at byte ${place}:`),
  });
  const head = whole.indexOf('"enqueuedAt"', at);
  await t.throwsAsync(opened(`${whole.slice(0, head)}'${whole.slice(head + 1)}`), {
    instanceOf: StoreCorrupt,
    message: new RegExp(`is damaged at byte ${place}:`),
  });
  await opened(whole);
});

test('a stored line that is no job, although its checksum is right, ends the store when it is read', async (t) => {
  const { path } = await checkpointed(t);
  const name = (await readdir(join(path, 'jobs')))[0] ?? '';
  const whole = await readFile(join(path, 'jobs', name), 'latin1');
  const bytes = Buffer.from(whole.replace('500 A prompt', '5\u0007\u0007 A prompt'), 'latin1');
  await writeFile(join(path, 'jobs', name), bytes);
  const manifest: Manifest = JSON.parse(await readFile(join(path, 'coordinator.json'), 'utf8'));
  const sum = crc32(bytes).toString(16).padStart(8, '0');
  const segments = manifest.segments.map((segment) => ({ ...segment, sum }));
  await writeFile(join(path, 'coordinator.json'), JSON.stringify(signManifest({ ...manifest, segments })));
  const store = await openStore(t, path);
  await t.notThrowsAsync(store.job(idOf(0)));
  await t.throwsAsync(store.job(idOf(500)), { instanceOf: StoreCorrupt, message: /is damaged at byte/ });
  t.regex((await store.failed).message, /is damaged at byte/);
  t.is(store.health().status, 'failed');
});
