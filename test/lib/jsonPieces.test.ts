import test from 'ava';
import fc from 'fast-check';
import { isShort, jsonPieces } from '../../src/lib/jsonPieces.ts';

/** What pieces may have at most: 16 Ki characters, each written as six. */
const pieceMax = 6 * 17 * 1024;

const longText = fc
  .tuple(fc.string({ unit: 'binary', minLength: 1, maxLength: 50 }), fc.integer({ min: 1, max: 2_000 }))
  .map(([text, times]) => text.repeat(times));

test('the pieces together are what JSON.stringify writes', (t) => {
  const plain = fc.jsonValue({ depthSize: 'medium' });
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      longText,
      plain,
      fc.array(tie('value'), { maxLength: 6 }),
      fc.dictionary(fc.oneof(fc.string(), longText), tie('value'), { maxKeys: 6 }),
    ),
  }));
  fc.assert(
    fc.property(value, (json) => {
      const pieces = [...jsonPieces(json)];
      t.true(pieces.every(({ length }) => length <= pieceMax));
      return pieces.join('') === JSON.stringify(json);
    }),
    { numRuns: 300 },
  );
});

test('a member that is undefined is left out, at any size', (t) => {
  for (const text of ['a', 'a'.repeat(100_000)]) {
    const value = { none: undefined, text, list: [undefined, text], last: undefined };
    t.is([...jsonPieces(value)].join(''), JSON.stringify(value));
  }
});

test('no piece ends within a character: each is UTF-8 by itself', (t) => {
  for (const before of ['', 'x']) {
    const text = before + '😀'.repeat(30_000);
    const bytes = [...jsonPieces({ [text]: text })].map((piece) => Buffer.from(piece));
    t.true(bytes.length > 5);
    t.is(Buffer.concat(bytes).toString(), JSON.stringify({ [text]: text }));
  }
});

test('to see that a value is long takes no look at all of it', (t) => {
  let looked = 0;
  const list = Array.from({ length: 100_000 }, () => 'text');
  const watched = new Proxy(list, {
    get: (target, key) => {
      looked += 1;
      return Reflect.get(target, key);
    },
  });
  t.false(isShort(watched));
  t.true(looked < 10_000, `${looked} looks`);
  t.true(isShort({ a: ['b', null, 1, true] }));
});
