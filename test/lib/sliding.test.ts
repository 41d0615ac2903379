import test from 'ava';
import fc from 'fast-check';
import { SlidingQuantiles } from '../../src/lib/slidingQuantiles.ts';
import { SlidingSums } from '../../src/lib/slidingSums.ts';

const names = ['a', 'b'] as const;

test('sums over any span are those of the events in it, after any pauses', (t) => {
  const step = fc.record({
    waitMs: fc.oneof(fc.nat(1_500), fc.nat(40_000)),
    name: fc.constantFrom(...names),
    amount: fc.nat(9),
  });
  const property = fc.property(
    fc.array(step),
    fc.nat(5_000),
    fc.integer({ min: 1, max: 20 }),
    (steps, startMs, seconds) => {
      const sums = new SlidingSums(names, 20);
      let now = startMs;
      const events: { second: number; name: string; amount: number }[] = [];
      for (const { waitMs, name, amount } of steps) {
        now += waitMs;
        sums.add(now, name, amount);
        events.push({ second: Math.floor(now / 1000), name, amount });
      }
      const from = Math.floor(now / 1000) - seconds;
      const expected = (name: string) =>
        events
          .filter((event) => event.name === name && event.second > from)
          .reduce((sum, { amount }) => sum + amount, 0);
      t.deepEqual(sums.sums(now, seconds), { a: expected('a'), b: expected('b') });
    },
  );
  fc.assert(property);
});

test('quantiles are within 5 % of the true ones', (t) => {
  const property = fc.property(
    fc.array(fc.integer({ min: 1, max: 10_000_000 }), { minLength: 1 }),
    (values) => {
      const quantiles = new SlidingQuantiles(300_000, 30);
      for (const value of values) quantiles.add(1_000, value);
      const sorted = values.toSorted((a, b) => a - b);
      const read = quantiles.read(1_000, [0.5, 0.95]);
      t.is(read.count, values.length);
      for (const [index, quantile] of [0.5, 0.95].entries()) {
        const truth = sorted[Math.ceil(quantile * values.length) - 1] ?? 0;
        const told = read.values[index] ?? 0;
        t.true(Math.abs(told - truth) <= truth * 0.05, `${told} for ${truth}`);
      }
    },
  );
  fc.assert(property);
});

test('what is older than the window is forgotten, and nothing gives null', (t) => {
  const quantiles = new SlidingQuantiles(300_000, 30);
  t.deepEqual(quantiles.read(0, [0.5]), { count: 0, values: [null] });
  quantiles.add(5_000, 100);
  quantiles.add(200_000, 0);
  t.is(quantiles.read(299_999, [0.5]).count, 2);
  t.deepEqual(quantiles.read(300_000, [0.5]), { count: 1, values: [0] });
  quantiles.add(900_000, 10);
  t.is(quantiles.read(900_000, [0.5]).count, 1);
});
