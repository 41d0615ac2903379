import test from 'ava';
import fc from 'fast-check';
import { PagedList } from '../../src/lib/pagedList.ts';

test('a paged list answers as a map does, whatever is put in and taken out', (t) => {
  const step = fc.record({ index: fc.nat(2_000), isGone: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
      const list = new PagedList<string>();
      const model = new Map<number, string>();
      for (const [n, { index, isGone }] of steps.entries()) {
        if (isGone) t.is(list.delete(index), model.delete(index));
        else {
          list.set(index, `${n}`);
          model.set(index, `${n}`);
        }
        t.is(list.get(index), model.get(index));
        t.is(list.size, model.size);
      }
      const inOrder = (entries: Iterable<[number, string]>) => [...entries].sort(([a], [b]) => a - b);
      t.deepEqual(inOrder(list.entries()), inOrder(model));
    }),
  );
});

test('what was put in by rising numbers comes out in their order', (t) => {
  const list = new PagedList<number>();
  for (let n = 1; n < 2_000; n += 1) list.set(n, n);
  for (let n = 1; n < 2_000; n += 3) list.delete(n);
  t.deepEqual(
    [...list.entries()],
    Array.from({ length: 1_999 }, (_, n) => n + 1)
      .filter((n) => n % 3 !== 1)
      .map((n) => [n, n]),
  );
});
