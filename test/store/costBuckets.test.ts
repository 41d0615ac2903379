import { cp, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { bucketMs, type CostBucket, type CostDimension } from '../../src/domain/cost.ts';
import { CostMonth, otherName } from '../../src/store/changes/costMonth.ts';
import { FakeClock } from '../support/fakeClock.ts';
import { emptyFolder, openStore, stateOf } from './folders.ts';
import { creation, epoch, ledgerEntry, transition } from './jobs.ts';

const formatOne = fileURLToPath(new URL('../fixtures/store/format-1', import.meta.url));

test('a dimension that is full keeps together what comes beyond, and takes it back from there', (t) => {
  const at = Date.parse('2026-11-21T09:00:00Z');
  const nano = (tag: string, nanoDollars: number) =>
    ledgerEntry('w', 'completed', {
      at,
      tags: [tag],
      amounts: { nanoDollars, attempts: Math.sign(nanoDollars) },
    });
  const month = new CostMonth('2026-11', 2);
  for (const tag of ['a', 'b', 'c', 'd']) month.add(nano(tag, 10));
  const collect = (of: CostMonth, dimension: CostDimension): CostBucket[] => {
    const found: CostBucket[] = [];
    of.collect(found, at, at + bucketMs, dimension);
    return found;
  };
  const see = (of: CostMonth) => collect(of, 'tag').map(({ key, amounts }) => [key[0], amounts.nanoDollars]);
  const full = [
    ['a', 10],
    ['b', 10],
    [otherName, 20],
  ];
  t.deepEqual(see(month), full);
  const again = CostMonth.from(JSON.parse(JSON.stringify(month.toStored())));
  t.deepEqual(see(again), full);
  month.add(nano('b', -10));
  month.add(nano('c', -10));
  t.deepEqual(see(month), [
    ['a', 10],
    ['b', 0],
    [otherName, 10],
  ]);
  t.is(collect(month, 'total')[0]?.amounts.nanoDollars, 20);
});

test('months have a file each, and only those that anything was added to are written again', async (t) => {
  const path = await emptyFolder(t);
  const store = await openStore(t, path);
  await store.commit(Array.from({ length: 4 }, (_, i) => creation(`job-${i}`)));
  const end = async (id: string, at: string) => {
    const job = await store.job(id);
    if (job === undefined) return t.fail();
    const entry = ledgerEntry('w', 'completed', { at: Date.parse(at) });
    await store.commit([transition(job, 'completed', {}, [entry])]);
  };
  await end('job-0', '2023-10-31T23:59:59Z');
  await end('job-1', '2023-11-01T00:00:00Z');
  await store.checkpoint();
  t.deepEqual((await readdir(join(path, 'cost'))).sort(), ['2023-10-3.json', '2023-11-3.json']);
  await end('job-2', '2023-11-14T22:00:00Z');
  await store.checkpoint();
  t.deepEqual((await readdir(join(path, 'cost'))).sort(), ['2023-10-3.json', '2023-11-4.json']);
  const state = await stateOf(store);
  await store.close();
  t.deepEqual(await stateOf(await openStore(t, path)), state);
});

test('what belongs to a month long gone is counted in its file, and is in nobody’s way', async (t) => {
  const path = await emptyFolder(t);
  const clock = new FakeClock(epoch);
  const store = await openStore(t, path, { clock });
  await store.commit(['a', 'b', 'c', 'd', 'e'].map((id) => creation(id)));
  const end = async (id: string, at = epoch) => {
    const job = await store.job(id);
    const entry = ledgerEntry('w', 'failed', { at });
    if (job !== undefined) await store.commit([transition(job, 'failed', {}, [entry])]);
  };
  await end('a');
  t.is((await store.costBuckets(epoch - bucketMs, epoch + 1, 'total')).length, 1);
  for (const id of ['b', 'c', 'd']) {
    clock.advance(40 * 86_400_000);
    await end(id, clock.now());
  }
  await end('e');
  t.deepEqual(await store.costBuckets(epoch - bucketMs, epoch + 1, 'total'), []);
  await store.checkpoint();
  await store.close();
  const then = await openStore(t, path);
  const [bucket] = await then.costBuckets(epoch - bucketMs, epoch + 1, 'total');
  t.is(bucket?.amounts.attempts, 2);
});

test('a clock that was years ahead and is put right finds the cost of these months, also when it was ahead at a start', async (t) => {
  const path = await emptyFolder(t);
  const clock = new FakeClock(epoch);
  const wrongByMs = 12 * 365 * 86_400_000;
  const store = await openStore(t, path, { clock });
  await store.commit(['a', 'b', 'c', 'd'].map((id) => creation(id)));
  const end = async (of: typeof store, id: string) => {
    const job = await of.job(id);
    const entry = ledgerEntry('w', 'failed', { at: clock.now() });
    if (job !== undefined) await of.commit([transition(job, 'failed', {}, [entry])]);
  };
  const attempts = async (of: typeof store) =>
    (await of.costBuckets(epoch - bucketMs, epoch + 1, 'total'))[0]?.amounts.attempts;
  await end(store, 'a');
  clock.jump(wrongByMs);
  await end(store, 'b');
  clock.jump(-wrongByMs);
  await end(store, 'c');
  t.is(await attempts(store), 2);
  await store.checkpoint();
  await store.close();
  clock.jump(wrongByMs);
  const again = await openStore(t, path, { clock });
  clock.jump(-wrongByMs);
  await end(again, 'd');
  t.is(await attempts(again), 3);
});

test('a data folder of format 1 opens: its cost begins with the journal, and stays after a checkpoint', async (t) => {
  const path = await emptyFolder(t);
  await cp(formatOne, path, { recursive: true });
  const store = await openStore(t, path);
  t.like((await store.workers())[0], { completed: 1, failed: 1 });
  const [bucket] = await store.costBuckets(0, epoch + bucketMs, 'model');
  t.deepEqual(bucket?.key, ['anthropic', null]);
  t.like(bucket?.amounts, { attempts: 1, nanoDollars: 1500, inputTokens: 10, outputTokens: 5, unknown: 0 });
  const state = await stateOf(store);
  await store.commit([creation('new')]);
  await store.checkpoint();
  await store.close();
  const again = await openStore(t, path);
  t.deepEqual(((await stateOf(again)) as { costs: unknown }).costs, (state as { costs: unknown }).costs);
});
