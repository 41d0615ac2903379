import test from 'ava';
import fc from 'fast-check';
import { excerptOf, shortened, shortenedMessages } from '../../src/present/shortened.ts';

test('an excerpt has 500 characters, and no half of one', (t) => {
  t.is(excerptOf('a'.repeat(500)), 'a'.repeat(500));
  t.is(excerptOf('a'.repeat(501)), 'a'.repeat(500));
  t.is(excerptOf('😀'.repeat(251)), '😀'.repeat(250));
  t.is(excerptOf(`a${'😀'.repeat(250)}`), `a${'😀'.repeat(249)}`);
});

test('what is short is shown as it is; of anything else there are some 2,000 characters at most', (t) => {
  const small = { temperature: 0, stop: ['a', 'b'], schema: { type: 'object' } };
  t.is(shortened(small), small);
  const text = fc.string({ maxLength: 3_000 });
  fc.assert(
    fc.property(fc.dictionary(text, fc.oneof(text, fc.array(text), fc.jsonValue())), (value) => {
      const cut = shortened(value);
      t.true(cut === value || JSON.stringify(cut) !== JSON.stringify(value));
      // Brackets, commas, and what JSON escapes.
      return JSON.stringify(cut).length <= 6 * 2_000 + 300;
    }),
    { numRuns: 300 },
  );
});

test('of messages the last ones are shown, each with its role and content', (t) => {
  const long = { role: 'user', content: 'word '.repeat(1_000) };
  const cut =
    shortenedMessages([long, long, long, long, long, long, { role: 'user', content: 'Why?' }]) ?? [];
  t.is(cut.at(-1)?.content, 'Why?');
  t.is(cut.at(-2)?.content, long.content.slice(0, 500));
  t.true(cut.length < 7);
  for (const { role, content } of cut) t.true(typeof content === 'string' && role === 'user');
  const parts = shortenedMessages([
    { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:'.repeat(9_999) } }] },
  ]);
  t.deepEqual(parts, [
    { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:'.repeat(100) } }] },
  ]);
  t.is(shortenedMessages(null), null);
});
