import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { costDimensions } from '../../src/domain/cost.ts';
import type { JobRecord } from '../../src/domain/job.ts';
import type { FolderLock } from '../../src/lib/folderLock.ts';
import { createJsonStore, type JsonStore, type JsonStoreOptions } from '../../src/store/json/jsonStore.ts';
import type { Store } from '../../src/store/store.ts';
import { auditQueryOf } from '../conformance/audit.ts';
import { FakeClock } from '../support/fakeClock.ts';
import { epoch, headStart, queryOf } from './jobs.ts';

/** An empty folder that is removed with the test. */
export async function emptyFolder(t: ExecutionContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-store-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Takes no lock: for tests that open a folder thousands of times, one after the other. */
export async function noLock(): Promise<FolderLock> {
  return { release: async () => {} };
}

/** An open store over a folder; it is closed with the test, before the folder is removed. */
export async function openStore(
  t: ExecutionContext,
  path: string,
  options: Partial<JsonStoreOptions> = {},
): Promise<JsonStore> {
  const store = createJsonStore({ path, clock: new FakeClock(epoch), headStart, ...options });
  await store.open();
  t.teardown(() => store.close());
  return store;
}

/** Every bucket of the last two months by dimension, in an order of their own. */
async function costsOf(store: Store): Promise<unknown> {
  const month = 31 * 86_400_000;
  const texts = costDimensions.map(async (dimension) => {
    const buckets = await store.costBuckets(epoch - month, epoch + month, dimension);
    return buckets.map((bucket) => JSON.stringify(bucket)).sort();
  });
  return Promise.all(texts);
}

/** Everything a store shows of its jobs, workers, keys, queue, providers and cost, by which two of them are compared. */
export async function stateOf(store: Store): Promise<unknown> {
  const jobs: JobRecord[] = [];
  for (let offset = 0; ; offset += 1_000) {
    const page = await store.jobs(queryOf({ limit: 1_000, offset }));
    jobs.push(...page.jobs);
    if (page.jobs.length < 1_000) break;
  }
  return {
    jobs,
    positions: await Promise.all(jobs.map(({ id }) => store.position(id))),
    lanes: (await store.lanes()).sort((a, b) => (a.key < b.key ? -1 : 1)),
    counts: await store.counts(),
    workers: await store.workers(),
    keys: await store.keys(),
    queue: await store.queue(),
    runs: await store.runs(),
    providers: (await store.providers()).sort((a, b) => (a.name < b.name ? -1 : 1)),
    pendingByKey: await store.pendingByKey(),
    audit: await store.audit(auditQueryOf()),
    costs: await costsOf(store),
    running: await store.runningJobs(),
    delayed: await store.delayedJobs(),
  };
}
