import test from 'ava';
import { Lookout } from '../../src/lib/lookout.ts';
import { nextTurn } from '../../src/lib/nextTurn.ts';

test('a thing is looked at once at a time, and once more when it was asked for meanwhile', async (t) => {
  const seen: string[] = [];
  const ends: (() => void)[] = [];
  const lookout = new Lookout(
    (id) => {
      seen.push(id);
      return new Promise((resolve) => ends.push(resolve));
    },
    () => t.fail(),
  );
  for (const id of ['a', 'a', 'b', 'a']) lookout.look(id);
  t.deepEqual(seen, ['a', 'b']);
  ends[0]?.();
  await nextTurn();
  t.deepEqual(seen, ['a', 'b', 'a']);
  ends[2]?.();
  await nextTurn();
  t.is(seen.length, 3);
  lookout.look('a');
  t.is(seen.length, 4);
});

test('the failure of a task is reported, and the thing is checked again only on request', async (t) => {
  const failed: string[] = [];
  let count = 0;
  const lookout = new Lookout(
    async () => {
      count += 1;
      throw new Error('broken');
    },
    (id) => failed.push(id),
  );
  lookout.look('a');
  await nextTurn();
  t.deepEqual([failed, count], [['a'], 1]);
  lookout.look('a');
  await nextTurn();
  t.is(count, 2);
});
