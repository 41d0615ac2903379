import test from 'ava';
import { laneOf } from '../../src/domain/job.ts';
import { nextTurn } from '../../src/lib/nextTurn.ts';
import { VersionConflict } from '../../src/store/storeErrors.ts';
import { emptyFolder, openStore, stateOf } from './folders.ts';
import { creation, lifeOf, transition } from './jobs.ts';

const jobs = 5_000;
const changes = Array.from({ length: jobs }, (_, id) => creation(`job-${id}`));

test('a long commit gives the event loop its turns and is one record', async (t) => {
  const store = await openStore(t, await emptyFolder(t));
  let turns = 0;
  let isOver = false;
  const committed = store.commit(changes).finally(() => {
    isOver = true;
  });
  for (; !isOver; turns += 1) await nextTurn();
  await committed;
  t.true(turns > 15, `${turns} turns`);
  t.is((await store.counts()).total, jobs);
});

test('jobs of a long commit can be claimed and changed while it is being taken into memory', async (t) => {
  const path = await emptyFolder(t);
  const store = await openStore(t, path);
  let isOver = false;
  const committed = store.commit(changes).finally(() => {
    isOver = true;
  });
  const lane = laneOf({ life: lifeOf() });
  const claimed: string[] = [];
  for (let last = 0; claimed.length < jobs; last = claimed.length) {
    const got = await store.claim({ lanes: [lane], limit: 100 }, (job) => transition(job, 'running.active'));
    claimed.push(...got.map(({ id }) => id));
    if (isOver && claimed.length === last) break;
    await nextTurn();
  }
  await committed;
  t.deepEqual(
    claimed,
    changes.map(({ id }) => id),
  );
  const before = await stateOf(store);
  await store.close();
  t.deepEqual(await stateOf(await openStore(t, path)), before);
});

test('a change that begins while a long commit is being taken into memory is not overtaken by another one', async (t) => {
  const store = await openStore(t, await emptyFolder(t));
  const committed = store.commit(changes);
  let job = await store.job('job-0');
  for (; job === undefined; job = await store.job('job-0')) await nextTurn();
  t.is(await store.job('job-4999'), undefined, 'the long commit is still under way');
  const first = store.commit([transition(job, 'cancelled')]);
  await committed;
  await t.throwsAsync(store.commit([transition(job, 'failed')]), { instanceOf: VersionConflict });
  await first;
  t.like(await store.job('job-0'), { state: 'cancelled', version: 2 });
});
