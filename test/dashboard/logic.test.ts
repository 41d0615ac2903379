import test from 'ava';
import fc from 'fast-check';
import { beginning, compact, dollars, plural, shortId } from '../../src/dashboard/components/text.ts';
import { rowWindow } from '../../src/dashboard/components/virtualRows.ts';
import { matchPath } from '../../src/dashboard/pattern.ts';

test('a pattern gives the parameters of the paths that fit it, decoded', (t) => {
  t.deepEqual(matchPath('/jobs/:id', '/jobs/a%20b'), { id: 'a b' });
  t.deepEqual(matchPath('/jobs/:id', '/jobs/a/'), { id: 'a' });
  t.deepEqual(matchPath('/', '/'), {});
  t.is(matchPath('/jobs/:id', '/jobs'), null);
  t.is(matchPath('/jobs', '/jobs/1'), null);
  t.deepEqual(matchPath('/jobs/:id', '/jobs/%'), { id: '%' });
});

test('the window of a list covers every row in view, and its parts are as high as the whole list', (t) => {
  const sizes = fc.record({
    count: fc.nat(100_000),
    rowHeight: fc.integer({ min: 1, max: 80 }),
    scrollTop: fc.integer({ min: -1000, max: 5_000_000 }),
    viewHeight: fc.integer({ min: 1, max: 3000 }),
    margin: fc.nat(20),
  });
  fc.assert(
    fc.property(sizes, (options) => {
      const { count, rowHeight, scrollTop, viewHeight, margin } = options;
      const { from, to, before, after } = rowWindow(options);
      t.is(before + (to - from) * rowHeight + after, count * rowHeight);
      t.true(from >= 0 && from <= to && to <= count);
      t.true(to - from <= Math.ceil(viewHeight / rowHeight) + 1 + 2 * margin);
      const firstSeen = Math.max(0, Math.floor(scrollTop / rowHeight));
      const lastSeen = Math.min(count - 1, Math.ceil((scrollTop + viewHeight) / rowHeight) - 1);
      for (const row of [firstSeen, lastSeen]) {
        if (firstSeen <= lastSeen) t.true(row >= from && row < to);
      }
    }),
  );
});

test('numbers are written as people read them', (t) => {
  t.is(plural(1, 'job'), '1 job');
  t.is(plural(2000, 'job'), '2,000 jobs');
  t.is(compact(12_345), '12.3K');
  t.is(compact(9_999), '9,999');
  t.is(dollars(null), 'unknown');
  t.is(dollars(0), '$0');
  t.is(dollars(1234.5), '$1,234.50');
  t.is(dollars(0.000045), '$0.000045');
  t.is(dollars(0.25), '$0.25');
  t.is(shortId('019aa5a2-7d80-7c3e-9b1f-3f2f6d0e5a11'), '019aa5a2…5a11');
});

test('the beginning of a text has no half of a character', (t) => {
  t.is(beginning('a🚀b', 2), 'a');
  t.is(beginning('a🚀b', 3), 'a🚀');
  t.is(beginning('ab', 5), 'ab');
});
