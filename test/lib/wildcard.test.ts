import test from 'ava';
import fc from 'fast-check';
import { isLike } from '../../src/lib/wildcard.ts';

test('a star stands for any text, and nothing else is special', (t) => {
  t.true(isLike('gpu-1', 'gpu-*'));
  t.true(isLike('gpu-', 'gpu-*'));
  t.true(isLike('a-gpu-1-eu', '*gpu*eu'));
  t.true(isLike('anything', '*'));
  t.true(isLike('box', 'box'));
  t.false(isLike('cpu-1', 'gpu-*'));
  t.false(isLike('Gpu-1', 'gpu-*'));
  t.false(isLike('box-1', 'box'));
  t.false(isLike('aXb', 'a.b'));
  t.false(isLike('ab', 'ab*b'));
});

test('it says what a regular expression says', (t) => {
  const few = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 12 });
  const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '*'), maxLength: 8 });
  fc.assert(
    fc.property(few, pattern, (text, like) => {
      t.is(isLike(text, like), new RegExp(`^${like.replaceAll('*', '.*')}$`).test(text), `${text} ${like}`);
    }),
    { numRuns: 3_000 },
  );
});

test('a pattern of many stars takes no time', (t) => {
  const begun = performance.now();
  t.false(isLike('a'.repeat(200), `${'*a'.repeat(99)}*b`));
  t.true(performance.now() - begun < 100);
});
