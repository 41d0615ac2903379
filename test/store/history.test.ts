import test from 'ava';
import fc from 'fast-check';
import { bucketMs, type CostDimension, type CostKey, costDimensions } from '../../src/domain/cost.ts';
import { laneKey } from '../../src/domain/job.ts';
import { isTerminal, type JobState, jobStates, statusOf } from '../../src/domain/states.ts';
import { createJsonStore, type JsonStore } from '../../src/store/json/jsonStore.ts';
import type { ArchiveRule, LedgerEntry } from '../../src/store/store.ts';
import { FakeClock } from '../support/fakeClock.ts';
import { type FailingFiles, systemError, unsyncedFiles } from './failingFiles.ts';
import { emptyFolder, noLock, stateOf } from './folders.ts';
import {
  creation,
  epoch,
  headStart,
  ledgerEntry,
  queryOf,
  targetOf,
  transition,
  workerLife,
} from './jobs.ts';

/** What the store is held against: a list in order of creation, and nothing clever. */
interface ModelJob {
  id: string;
  ordinal: number;
  version: number;
  state: JobState;
  provider: string | null;
  priority: string;
  lane: string;
  enqueuedAt: number;
  /** null while it has not. */
  endedAt: number | null;
  isArchived: boolean;
}

interface Model {
  jobs: ModelJob[];
  /** Worker → how many attempts it completed. */
  completed: Map<string, number>;
  /** Every line of the ledger that was committed. */
  ledger: LedgerEntry[];
}

const providers = ['anthropic', 'openai', null] as const;
const priorities = ['critical', 'high', 'normal', 'low'] as const;

const step = fc.oneof(
  fc.record({
    kind: fc.constant('create' as const),
    provider: fc.constantFrom(...providers),
    priority: fc.constantFrom(...priorities),
    at: fc.nat(7_200_000),
    state: fc.constantFrom<JobState>('pending.ready', 'pending.ready', 'pending.delayed'),
    count: fc.integer({ min: 1, max: 4 }),
  }),
  fc.record({
    kind: fc.constant('move' as const),
    job: fc.nat(),
    state: fc.constantFrom(...jobStates),
    at: fc.nat(40 * 86_400_000),
    nanoDollars: fc.integer({ min: -100, max: 100 }),
    tags: fc.constantFrom<string[]>([], ['x'], ['x', 'y']),
  }),
  fc.record({ kind: fc.constant('claim' as const), limit: fc.nat(4), skip: fc.nat(3) }),
  fc.record({ kind: fc.constant('worker' as const), id: fc.constantFrom('v', 'w'), isRemoved: fc.boolean() }),
  fc.record({
    kind: fc.constant('archive' as const),
    endedBefore: fc.nat(3 * 86_400_000),
    keep: fc.nat(8),
    limit: fc.nat(5),
    stays: fc.integer({ min: 1, max: 9 }),
    failing: fc.constantFrom<string>('', '', '/archive/', '/journal/'),
  }),
  fc.record({ kind: fc.constantFrom('conflict', 'full', 'checkpoint', 'reopen') }),
);

function inClaimOrder(jobs: readonly ModelJob[]): ModelJob[] {
  const place = (job: ModelJob) => job.enqueuedAt - headStart(job.priority);
  return jobs
    .filter(({ state }) => state === 'pending.ready')
    .sort((a, b) => place(a) - place(b) || a.ordinal - b.ordinal);
}

/** What is to leave, in the order of the ends. */
function leaving(
  jobs: readonly ModelJob[],
  rule: ArchiveRule,
  stays: (job: ModelJob) => boolean,
): ModelJob[] {
  const ended = jobs.filter(({ endedAt, isArchived }) => endedAt !== null && !isArchived);
  ended.sort((a, b) => (a.endedAt ?? 0) - (b.endedAt ?? 0) || a.ordinal - b.ordinal);
  const left: ModelJob[] = [];
  for (const job of ended) {
    const isDue = (job.endedAt ?? 0) < rule.endedBefore || ended.length - left.length > rule.keep;
    if (!isDue || left.length === rule.limit) break;
    if (!stays(job)) left.push(job);
  }
  return left;
}

test('after any history the store shows what a plain model shows, and the same again after it was opened again', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const path = await emptyFolder(t);
      const files = unsyncedFiles();
      const open = async () => {
        const store = createJsonStore({
          path,
          clock: new FakeClock(epoch),
          headStart,
          files,
          lock: noLock,
          checkpointBytes: 8_000,
        });
        await store.open();
        return store;
      };
      let store = await open();
      const model: Model = { jobs: [], completed: new Map(), ledger: [] };
      for (const each of steps) {
        if (each.kind === 'reopen') {
          await store.close();
          store = await open();
        } else await take(store, files, model, each);
      }
      await compare(t, store, model);
      const state = await stateOf(store);
      await store.close();
      const again = await open();
      t.deepEqual(await stateOf(again), state);
      await again.close();
    }),
    { numRuns: 60 },
  );
});

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

async function take(store: JsonStore, files: FailingFiles, model: Model, each: Step): Promise<void> {
  switch (each.kind) {
    case 'create': {
      const made = Array.from({ length: each.count }, (_, i) => {
        const ordinal = model.jobs.length + i + 1;
        const { provider, priority, state } = each;
        const lane = laneKey(targetOf(provider ?? 'anthropic'));
        return {
          id: `job-${ordinal}`,
          ordinal,
          version: 1,
          state,
          provider,
          priority,
          lane,
          enqueuedAt: epoch + each.at,
          endedAt: null,
          isArchived: false,
        };
      });
      await store.commit(
        made.map(({ id, provider, priority, state, enqueuedAt }) =>
          creation(id, { request: { provider, priority }, state, at: enqueuedAt }),
        ),
      );
      model.jobs.push(...made);
      return;
    }
    case 'move': {
      const job = model.jobs[each.job % Math.max(model.jobs.length, 1)];
      const stored = job === undefined ? undefined : await store.job(job.id);
      if (job === undefined || stored === undefined) return;
      const isDone = each.state === 'completed';
      const { at, tags, nanoDollars } = each;
      const place = { at: epoch - at, tags, provider: job.provider ?? 'routed' };
      const entry = ledgerEntry('w', 'completed', { ...place, amounts: { nanoDollars } });
      const finishedAt = isTerminal(each.state) ? epoch + (at % (3 * 86_400_000)) : null;
      await store.commit([transition(stored, each.state, { finishedAt }, isDone ? [entry] : undefined)]);
      if (isDone) model.ledger.push(entry);
      const known = model.completed.get('w');
      if (isDone && known !== undefined) model.completed.set('w', known + 1);
      job.state = each.state;
      job.version += 1;
      job.endedAt = finishedAt;
      return;
    }
    case 'archive': {
      const { keep, limit, failing } = each;
      const rule = { endedBefore: epoch + each.endedBefore, keep, limit };
      const stays = ({ ordinal }: { ordinal: number }) => ordinal % each.stays === 0;
      // A store that has just failed waits for a commit that succeeds.
      await store.commit([{ kind: 'keyRemoved', id: 'nobody' }]);
      const expected = leaving(model.jobs, rule, stays);
      files.before = ({ name, path }) => {
        if (failing !== '' && name === 'write' && path.includes(failing)) throw systemError('ENOSPC');
      };
      const [outcome] = await Promise.allSettled([store.archive(rule, (job) => !stays(job))]);
      files.before = () => {};
      if (outcome?.status === 'fulfilled' ? outcome.value !== expected.length : failing === '')
        throw new Error(`archived ${JSON.stringify(outcome)}, expected ${expected.length}`);
      if (outcome?.status === 'fulfilled') for (const job of expected) job.isArchived = true;
      return;
    }
    case 'claim': {
      const expected = inClaimOrder(model.jobs)
        .filter((_, i) => i >= each.skip)
        .slice(0, each.limit);
      let offered = 0;
      const lanes = [laneKey(targetOf('anthropic')), laneKey(targetOf('openai'))];
      const claimed = await store.claim({ lanes, limit: each.limit }, (job) => {
        offered += 1;
        return offered <= each.skip ? 'skip' : transition(job, 'running.active');
      });
      const ids = claimed.map(({ id }) => id);
      if (ids.join() !== expected.map(({ id }) => id).join()) {
        throw new Error(`claimed ${ids.join()}, expected ${expected.map(({ id }) => id).join()}`);
      }
      for (const job of expected) {
        job.state = 'running.active';
        job.version += 1;
      }
      return;
    }
    case 'worker':
      await store.commit([
        each.isRemoved
          ? { kind: 'workerRemoved', id: each.id }
          : { kind: 'worker', life: workerLife(each.id) },
      ]);
      if (each.isRemoved) model.completed.delete(each.id);
      else model.completed.set(each.id, model.completed.get(each.id) ?? 0);
      return;
    case 'conflict':
    case 'full': {
      files.before = ({ name }) => {
        if (each.kind === 'full' && name === 'write') throw systemError('ENOSPC');
      };
      const stale = each.kind === 'conflict' ? [transition({ ...creation('x'), version: 9 }, 'failed')] : [];
      const [outcome] = await Promise.allSettled([store.commit([creation('never'), ...stale])]);
      if (outcome?.status !== 'rejected') throw new Error('the commit should have been refused');
      files.before = () => {};
      return;
    }
    case 'checkpoint':
      await store.checkpoint();
  }
}

async function compare(t: Parameters<typeof emptyFolder>[0], store: JsonStore, model: Model): Promise<void> {
  const newestFirst = model.jobs.filter(({ isArchived }) => !isArchived).reverse();
  for (const status of [null, 'pending', 'running', 'completed', 'failed', 'cancelled'] as const) {
    for (const provider of [null, 'anthropic', 'openai']) {
      const page = await store.jobs(
        queryOf({ statuses: status === null ? [] : [status], provider, limit: 5, offset: 1 }),
      );
      const expected = newestFirst.filter(
        (job) =>
          (status === null || statusOf(job.state) === status) &&
          (provider === null || job.provider === provider),
      );
      t.is(page.total, expected.length);
      t.deepEqual(
        page.jobs.map(({ id }) => id),
        expected.slice(1, 6).map(({ id }) => id),
      );
    }
  }
  const ready = inClaimOrder(model.jobs);
  for (const job of model.jobs) {
    const [hot, archived] = [await store.job(job.id), await store.archivedJob(job.id)];
    t.is(job.isArchived ? hot : archived, undefined);
    t.like(hot ?? archived, { ordinal: job.ordinal, version: job.version, state: job.state });
    const place = ready.filter(({ lane }) => lane === job.lane).indexOf(job);
    t.is(await store.position(job.id), place < 0 ? null : place + 1);
  }
  for (const dimension of costDimensions) {
    const buckets = await store.costBuckets(epoch - 50 * 86_400_000, epoch + 1, dimension);
    const stored = buckets.map(({ from, key, amounts }) => [
      from,
      key,
      amounts.nanoDollars,
      amounts.attempts,
    ]);
    t.deepEqual(stored.map((bucket) => JSON.stringify(bucket)).sort(), summedUp(model.ledger, dimension));
  }
  const workers = (await store.workers()).map(({ life, completed }) => [life.id, completed]);
  t.deepEqual(workers.sort(), [...model.completed].sort());
}

const keysOf: Record<CostDimension, (entry: LedgerEntry) => CostKey[]> = {
  total: () => [[]],
  model: ({ provider, model }) => [[provider, model]],
  worker: ({ workerId }) => [[workerId]],
  tier: ({ tier }) => [[tier]],
  tag: ({ tags }) => (tags.length === 0 ? [[null]] : tags.map((tag) => [tag])),
};

/** The ledger by quarter-hour and key: `[from, key, nano-dollars, attempts]` as JSON, sorted. */
function summedUp(ledger: readonly LedgerEntry[], dimension: CostDimension): string[] {
  const sums = new Map<string, [from: number, key: CostKey, nanoDollars: number, attempts: number]>();
  for (const entry of ledger) {
    const from = Math.floor(entry.at / bucketMs) * bucketMs;
    for (const key of keysOf[dimension](entry)) {
      const sum = sums.get(JSON.stringify([from, key])) ?? [from, key, 0, 0];
      sum[2] += entry.amounts.nanoDollars;
      sum[3] += entry.amounts.attempts;
      sums.set(JSON.stringify([from, key]), sum);
    }
  }
  return [...sums.values()].map((sum) => JSON.stringify(sum)).sort();
}
