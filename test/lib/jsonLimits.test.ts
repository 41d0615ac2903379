import test from 'ava';
import fc from 'fast-check';
import { exceededLimit } from '../../src/lib/jsonLimits.ts';

const none = { depth: 1e9, members: 1e9, plain: 1e9 };

/** The same, by walking the value. */
function membersOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const items = Object.values(value);
  return 1 + Math.max(0, items.length - 1) + items.reduce((sum: number, item) => sum + membersOf(item), 0);
}

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

test('depth and members are those of the value, whatever its strings hold', (t) => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), fc.constantFrom(0, 1), (value, indent) => {
      const text = JSON.stringify(value, null, indent);
      const [depth, members] = [depthOf(value), membersOf(value)];
      t.is(exceededLimit(text, { ...none, depth, members }), null);
      if (depth > 0) t.is(exceededLimit(text, { ...none, depth: depth - 1 }), 'depth');
      if (members > 0) t.is(exceededLimit(text, { ...none, members: members - 1 }), 'members');
    }),
    { numRuns: 500 },
  );
});

test('blanks and digits count, strings do not', (t) => {
  t.is(exceededLimit(`{"a":"${'x'.repeat(1000)}"}`, { ...none, plain: 10 }), null);
  t.is(exceededLimit(`{"a":1${' '.repeat(20)}}`, { ...none, plain: 10 }), 'plain');
  t.is(exceededLimit(`{"a":1${'1'.repeat(20)}}`, { ...none, plain: 10 }), 'plain');
});

test('a string with escapes ends where it ends', (t) => {
  for (const inner of ['\\"', '\\\\', 'a\\"b', '\\\\\\"', 'x\\\\', '\\u0022[[[']) {
    const text = `{"a":"${inner}","b":[1]}`;
    t.is(exceededLimit(text, { ...none, members: 3 }), null, inner);
    t.is(exceededLimit(text, { ...none, members: 2 }), 'members', inner);
  }
  t.is(exceededLimit('{"a":"not ended \\"', none), null);
});

/** Generous for a busy machine: what was quadratic took minutes, and what parses first 300 ms and more. */
const worstMs = 1_000;

test('16 MiB of the worst shapes are judged in one pass', (t) => {
  const size = 16 * 1024 * 1024;
  const limits = { depth: 100, members: 100_000, plain: 1024 * 1024 };
  for (const [text, exceeded] of [
    ['['.repeat(size), 'depth'],
    [`[${'{},'.repeat(size / 3)}`, 'members'],
    [`{${'"a":1,'.repeat(size / 6)}`, 'members'],
    [' '.repeat(size), 'plain'],
    ['1'.repeat(size), 'plain'],
    [`"${'\\"'.repeat(size / 2)}"`, null],
    [`"${'\\\\'.repeat(size / 2)}"`, null],
    ['"'.repeat(size), null],
    [`"${'x'.repeat(size)}"`, null],
  ] as const) {
    const begun = performance.now();
    t.is(exceededLimit(text, limits), exceeded, text.slice(0, 20));
    t.true(performance.now() - begun < worstMs, `${text.slice(0, 20)}: ${performance.now() - begun} ms`);
  }
});
