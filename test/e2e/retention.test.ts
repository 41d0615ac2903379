import test from 'ava';
import { startCoordinator, startWorker, until } from '../support/process.ts';

const kept = 1_000;
const jobs = 30_000;
/** What waits at once, so that the worker has never nothing to do and the queue does not count. */
const pendingMax = 3_000;

test('jobs leave for the archive as fast as they end, also when they end at full speed', async (t) => {
  const coordinator = await startCoordinator(t, { config: { retention: { keep_jobs: kept } } });
  const { client } = coordinator;
  startWorker(t, coordinator, ['--concurrency', '200']);
  const count = async (status?: 'pending' | 'running') => (await client.jobs({ status, limit: 1 })).total;
  for (let sent = 0; sent < jobs; sent += 1_000) {
    await client.dispatchBatch(Array.from({ length: 1_000 }, () => ({ prompt: 'x', provider: 'echo' })));
    await until('the worker takes them', async () => (await count('pending')) < pendingMax);
  }
  await until('all have ended', async () => (await count('pending')) + (await count('running')) === 0);
  // At 4,000 jobs a second some 8,000 are on their way out. With a tenth of the jobs in a commit 24,000 were left.
  const left = await count();
  t.true(left < jobs / 2, `${left} of ${jobs} jobs are still there`);
  await until('the rest leaves', async () => (await count()) === kept);
});
