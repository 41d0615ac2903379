import test from 'ava';
import fc from 'fast-check';
import { isDeeperThan } from '../../src/lib/jsonLimits.ts';

/** Levels of a value: 0 for what is neither list nor object. */
function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

test('the depth of any JSON text is that of its value, whatever its strings hold', (t) => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: 'binary' }), fc.nat({ max: 8 }), (value, max) => {
      t.is(isDeeperThan(JSON.stringify(value), max), depthOf(value) > max);
    }),
  );
});

test('brackets and quotes in strings do not count', (t) => {
  t.false(isDeeperThan(String.raw`{"a":"[[[[\"[[[[\\"}`, 1));
  t.true(isDeeperThan(String.raw`{"a\\":[{}]}`, 2));
});
