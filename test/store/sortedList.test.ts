import test from 'ava';
import fc from 'fast-check';
import { Heap } from '../../src/lib/heap.ts';
import { SortedList } from '../../src/lib/sortedList.ts';

interface Pair {
  major: number;
  minor: number;
}

const compare = (a: Pair, b: Pair) => a.major - b.major || a.minor - b.minor;

test('a sorted list answers as a sorted array does, whatever goes in and out', (t) => {
  const step = fc.record({
    isInsert: fc.boolean(),
    major: fc.integer({ min: -20, max: 20 }),
    bulk: fc.nat(700),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
      const list = new SortedList();
      let model: Pair[] = [];
      let minor = 0;
      for (const { isInsert, major, bulk } of steps) {
        if (isInsert) {
          for (let i = 0; i < bulk; i += 1) {
            minor += 1;
            // Spread, so that chunks split in their middle as well as at the end.
            const pair = { major: i % 3 === 0 ? major : (major * minor) % 17, minor };
            list.insert(pair.major, pair.minor);
            model.push(pair);
          }
        } else {
          const kept = model.filter((_, i) => i % 4 === 0 && i < bulk * 4);
          for (const pair of model) if (!kept.includes(pair)) list.remove(pair.major, pair.minor);
          model = kept;
        }
        model.sort(compare);
        t.is(list.size, model.length);
        t.deepEqual(list.first(), model[0]);
        for (const place of [0, 1, Math.floor(model.length / 2), model.length - 1]) {
          const pair = model[place];
          if (pair === undefined) continue;
          t.is(list.rank(pair.major, pair.minor), place);
          t.deepEqual(list.after(pair.major, pair.minor), model[place + 1]);
          t.deepEqual(list.before(pair.major, pair.minor), model[place - 1]);
          t.deepEqual(list.after(pair.major, pair.minor - 0.5), pair);
          t.deepEqual(list.before(pair.major, pair.minor + 0.5), pair);
        }
        t.false(list.remove(1_000, 1));
      }
    }),
    { numRuns: 30 },
  );
});

test('an empty sorted list has no neighbours', (t) => {
  const list = new SortedList();
  t.is(list.first(), undefined);
  t.is(list.after(1, 1), undefined);
  t.is(list.before(1, 1), undefined);
  t.is(list.rank(1, 1), 0);
  list.insert(1, 1);
  t.true(list.remove(1, 1));
  t.is(list.size, 0);
  t.is(list.first(), undefined);
});

test('a heap gives its smallest first', (t) => {
  fc.assert(
    fc.property(fc.array(fc.integer()), (numbers) => {
      const heap = new Heap<number>((a, b) => a < b);
      for (const number of numbers) heap.push(number);
      const out: number[] = [];
      while (heap.size > 0) out.push(heap.pop() ?? Number.NaN);
      t.deepEqual(
        out,
        [...numbers].sort((a, b) => a - b),
      );
      t.is(heap.pop(), undefined);
    }),
  );
});
