import test from 'ava';
import {
  batchId,
  formerBatchId,
  shardCount,
  shardOf,
  shardOfKey,
  uuidv7,
} from '../../src/coordinator/jobs/ids.ts';
import { systemClock, systemRandom } from '../../src/lib/systemClock.ts';
import { request, setup } from '../support/coordinator.ts';

const version7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

test('an id is a UUIDv7 of its millisecond', (t) => {
  const clock = { ...systemClock, now: () => 1_700_000_000_000 };
  const id = uuidv7(clock, systemRandom());
  t.regex(id, version7);
  t.true(id.startsWith('018bcfe5-6800-'));
});

test('the ids of a batch are all different, of one millisecond, and the same each time', (t) => {
  const first = uuidv7(systemClock, systemRandom());
  const ids = Array.from({ length: 10_000 }, (_, place) => batchId(first, place));
  t.is(ids[0], first);
  t.is(new Set(ids).size, ids.length);
  for (const id of ids) {
    t.regex(id, version7);
    t.is(id.slice(0, 13), first.slice(0, 13));
  }
  t.deepEqual(
    ids.map((_, place) => batchId(first, place)),
    ids,
  );
});

test('an id says its shard, and has everything else as before', (t) => {
  const clock = { ...systemClock, now: () => 1_700_000_000_000 };
  const random = systemRandom();
  for (let shard = 0; shard < shardCount; shard += 1) {
    const id = uuidv7(clock, random, shard);
    t.is(shardOf(id), shard);
    t.regex(id, version7);
    t.true(id.startsWith('018bcfe5-6800-'));
  }
});

test('ids of one shard and one millisecond are all different', (t) => {
  const clock = { ...systemClock, now: () => 1_700_000_000_000 };
  const random = systemRandom();
  const ids = new Set(Array.from({ length: 100_000 }, () => uuidv7(clock, random, 7)));
  t.is(ids.size, 100_000);
});

test('ids sort by the millisecond they were made in, whatever their shards', (t) => {
  let now = 1_700_000_000_000;
  const clock = { ...systemClock, now: () => now };
  const random = systemRandom();
  const ids = Array.from({ length: 5_000 }, (_, n) => {
    now += 1;
    return uuidv7(clock, random, (n * 7919) % shardCount);
  });
  t.deepEqual(ids.toSorted(), ids);
});

test('ids without a shard of their own spread over all shards, as ids from before there were shards do', (t) => {
  const random = systemRandom();
  const counts = new Array<number>(shardCount).fill(0);
  for (let n = 0; n < 102_400; n += 1) {
    const shard = shardOf(uuidv7(systemClock, random));
    counts[shard] = (counts[shard] ?? 0) + 1;
  }
  // 100 each on average; a shard outside of these has a chance of 1 in 10^9.
  t.true(Math.min(...counts) > 30 && Math.max(...counts) < 180);
});

test('the shard of a key is the same for ever', (t) => {
  t.is(shardOfKey('environment k-1'), 878);
  t.is(shardOfKey('6fd2 nightly'), 724);
});

test('a batch is of one shard, with a key of that of the key', async (t) => {
  const { coordinator } = await setup(t);
  const planned = Array.from({ length: 50 }, () => coordinator.plan(request()));
  const plain = await coordinator.dispatchAll(planned);
  t.is(new Set(plain.map(({ id }) => shardOf(id))).size, 1);
  t.is(new Set(plain.map(({ id }) => id)).size, 50);
  const { jobs } = await coordinator.dispatchAllOnce('client k', planned);
  t.deepEqual([...new Set(jobs.map(({ id }) => shardOf(id)))], [shardOfKey('client k')]);
  const { view } = await coordinator.dispatchOnce('client other', request());
  t.is(shardOf(view.job.id), shardOfKey('client other'));
});

test('a batch whose ids were made before they had a shard is found again by its key', async (t) => {
  const { coordinator, store } = await setup(t);
  const planned = [request(), request({ prompt: 'another' })].map((each) => coordinator.plan(each));
  const { jobs } = await coordinator.dispatchAllOnce('client k', planned);
  const known = await store.idempotent('client k');
  const [first, second] = jobs;
  if (first === undefined || second === undefined || known === undefined) return t.fail();
  // As an earlier version made them: nothing but the time of the others is that of the first.
  const id = '018bcfe5-6800-7000-8000-000000000000';
  const ids = [id, formerBatchId(id, 1)];
  t.not(ids[1], batchId(id, 1));
  const idempotency = { ...known, key: 'client former', jobId: id };
  await store.commit(
    jobs.map((job, place) => ({
      kind: 'job',
      id: ids[place] ?? '',
      expectedVersion: 0,
      created: { at: job.createdAt, request: job.request, ...(place === 0 ? { idempotency } : {}) },
      state: job.state,
      life: job.life,
    })),
  );
  const again = await coordinator.dispatchAllOnce('client former', planned);
  t.false(again.isNew);
  t.deepEqual(
    again.jobs.map((job) => job.id),
    ids,
  );
});
