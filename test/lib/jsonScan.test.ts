import test from 'ava';
import fc from 'fast-check';
import { JsonScan } from '../../src/lib/jsonScan.ts';

function measure(value: unknown): { deepest: number; members: number; values: number } {
  if (typeof value !== 'object' || value === null) return { deepest: 0, members: 0, values: 1 };
  const inner = Object.values(value).map(measure);
  const sum = (of: 'members' | 'values') => inner.reduce((all, one) => all + one[of], 0);
  return {
    deepest: 1 + Math.max(0, ...inner.map(({ deepest }) => deepest)),
    members: sum('members') + (Array.isArray(value) ? 0 : inner.length),
    values: 1 + sum('values'),
  };
}

test('whatever the text and the parts it comes in, its depth, members and values are those of the value', (t) => {
  const tricky = fc.string({
    unit: fc.constantFrom('"', '\\', '[', '{', ',', ':', 'a', 'é', '😀'),
    maxLength: 200,
  });
  const value = fc.oneof(fc.jsonValue(), fc.array(tricky), fc.dictionary(tricky, tricky));
  const property = fc.property(
    value,
    fc.array(fc.integer({ min: 1, max: 70 }), { minLength: 1 }),
    (made, sizes) => {
      const bytes = Buffer.from(JSON.stringify(made));
      const scan = new JsonScan();
      for (let at = 0, n = 0; at < bytes.length; n += 1) {
        const size = sizes[n % sizes.length] ?? 1;
        scan.feed(bytes.subarray(at, at + size));
        at += size;
      }
      const { deepest, members, values } = measure(JSON.parse(bytes.toString()));
      t.is(scan.deepest, deepest);
      t.is(scan.members, members);
      // An empty list counts as one that has a value.
      t.true(scan.values + 1 >= values && scan.values <= 2 * values, `${scan.values} of ${values}`);
    },
  );
  fc.assert(property, { numRuns: 500 });
});

test('a text that is no JSON is measured to its end too', (t) => {
  const scan = new JsonScan();
  for (const text of [']]]', ',,,', '}{"a":[', '"open \\', '"', '[[', '\\"']) scan.feed(Buffer.from(text));
  t.true(scan.deepest >= 2);
});
