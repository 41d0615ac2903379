import test from 'ava';
import { batchId, uuidv7 } from '../../src/coordinator/ids.ts';
import { systemClock, systemRandom } from '../../src/lib/systemClock.ts';

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
