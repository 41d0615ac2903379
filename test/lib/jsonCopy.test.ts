import test from 'ava';
import fc from 'fast-check';
import { isJson, jsonCopy } from '../../src/lib/jsonCopy.ts';

const read = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

/** Every object and list in a value. */
function parts(value: unknown, found = new Set<object>()): Set<object> {
  if (typeof value !== 'object' || value === null || found.has(value)) return found;
  found.add(value);
  for (const member of Object.values(value)) parts(member, found);
  return found;
}

test('a copy of JSON is what would be read back, and shares no object with it', (t) => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
      const whole = { value: read(value) };
      const copy = jsonCopy(whole);
      // Of such a member there is none, see below.
      if (copy === null && JSON.stringify(whole).includes('"__proto__"')) return;
      t.deepEqual(copy, read(whole) as typeof whole);
      const own = parts(whole);
      for (const part of parts(copy)) t.false(own.has(part));
    }),
  );
});

test('a value is JSON when it is what would be read back', (t) => {
  let json = 0;
  fc.assert(
    fc.property(fc.object({ withDate: true, withNullPrototype: true, withSparseArray: true }), (value) => {
      if (!isJson(value)) return;
      json += 1;
      t.deepEqual(read(value), value);
    }),
    { numRuns: 1_000 },
  );
  t.true(json > 10, `${json} values`);
  fc.assert(fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => t.true(isJson(read(value)))));
  t.true(isJson({ a: [1, null, { b: 'c' }], d: true }));
});

test('whatever the value, the copy is what would be read back, or there is none', (t) => {
  let copied = 0;
  fc.assert(
    fc.property(fc.object({ withDate: true, withNullPrototype: true, withSparseArray: true }), (value) => {
      const copy = jsonCopy(value);
      if (copy === null) return;
      copied += 1;
      t.deepEqual(copy, read(value) as typeof copy);
    }),
    { numRuns: 1_000 },
  );
  t.true(copied > 10, `${copied} copies`);
});

for (const [what, value] of [
  ['undefined', { a: undefined }],
  ['no number', { a: Number.NaN }],
  ['no finite number', { a: [Number.POSITIVE_INFINITY] }],
  ['minus zero', { a: -0 }],
  ['a date', { a: new Date(0) }],
  ['a function', { a: () => 1 }],
  ['a map', { a: new Map([[1, 2]]) }],
  ['a hole in a list', { a: new Array(1) }],
  ['a form of its own', { a: { toJSON: () => 1 } }],
  ['a member called __proto__', JSON.parse('{"a":{"__proto__":{"b":1}}}')],
] as const) {
  test(`of ${what} there is no copy`, (t) => {
    t.is(jsonCopy(value), null);
  });
}

test('an edit of the value does not reach the copy', (t) => {
  const value = { list: [{ of: 'one' }], of: { tags: ['a'] } };
  const copy = jsonCopy(value);
  value.list.push({ of: 'two' });
  value.of.tags[0] = 'b';
  t.deepEqual(copy, { list: [{ of: 'one' }], of: { tags: ['a'] } });
});
