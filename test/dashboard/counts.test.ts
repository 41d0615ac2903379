import test from 'ava';
import { countsByPath, moved, withNewest } from '../../src/dashboard/pages/machines/counts.ts';

const counts = {
  job: { 'pending.ready': 2, 'running.active': 1, 'running.stuck': 1, completed: 0 },
  run: {},
  batch: {},
  lease: { running: 1 },
  worker: { disconnected: 1 },
  health: {},
  provider: { limited: 0 },
  supervisor: { 'admission.accepting': 1, 'assigning.idle': 1 },
};
const change = { machine: 'job', actor_id: 'a', event: 'job.assigned' };

test('an actor that goes on is counted where it came to and no more where it was', (t) => {
  const after = moved(counts, { ...change, from: 'pending.ready', to: 'running.active' });
  t.deepEqual(after.job, { ...counts.job, 'pending.ready': 1, 'running.active': 2 });
  t.is(counts.job['pending.ready'], 2);
  t.is(after.worker, counts.worker);
});

test('a new actor comes from nowhere, and to a state that had nobody yet', (t) => {
  t.deepEqual(moved(counts, { ...change, machine: 'provider', from: null, to: 'limited' }).provider, {
    limited: 1,
  });
});

test('a lease that has ended is counted nowhere', (t) => {
  const ended = moved(counts, { ...change, machine: 'lease', from: 'running', to: 'ended' });
  t.deepEqual(ended.lease, { running: 0 });
});

test('nothing is counted below none, and a machine that is not known is passed over', (t) => {
  t.is(moved(counts, { ...change, from: 'completed', to: 'failed' }).job.completed, 0);
  t.is(moved(counts, { ...change, machine: 'kettle', from: null, to: 'hot' }), counts);
});

test('a state around others has the sum of theirs', (t) => {
  const byPath = countsByPath(counts, 'job');
  t.is(byPath.get('running'), 2);
  t.is(byPath.get('running.stuck'), 1);
  t.is(byPath.get('pending'), 2);
  t.is(byPath.get('completed'), 0);
});

test('the newest stands first, and the oldest are forgotten', (t) => {
  t.deepEqual(withNewest([2, 1], [3, 4], 3), [4, 3, 2]);
});
