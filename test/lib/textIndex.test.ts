import test from 'ava';
import fc from 'fast-check';
import { TextIndex } from '../../src/lib/textIndex.ts';

test('a text index answers as a map does, whatever is added and removed', (t) => {
  const step = fc.record({ text: fc.nat(3_000).map((n) => `id-${n}`), isGone: fc.boolean() });
  const property = fc.property(fc.array(step, { maxLength: 3_000, size: 'max' }), (steps) => {
    const texts = new Map<number, string>();
    const index = new TextIndex((number) => texts.get(number) ?? '');
    const model = new Map<string, number>();
    for (const [at, { text, isGone }] of steps.entries()) {
      const known = model.get(text);
      if (known === undefined) {
        texts.set(at + 1, text);
        index.add(text, at + 1);
        model.set(text, at + 1);
      } else if (isGone) {
        index.remove(text, known);
        model.delete(text);
        texts.delete(known);
      }
    }
    const isSame = Array.from({ length: 3_001 }, (_, n) => `id-${n}`).every(
      (text) => index.get(text) === (model.get(text) ?? 0),
    );
    t.true(isSame);
  });
  fc.assert(property, { numRuns: 50 });
});

test('ids that rise by one are as easy to find as others', (t) => {
  let looks = 0;
  const index = new TextIndex((number) => {
    looks += 1;
    return `job-${number}`;
  });
  for (let number = 1; number <= 100_000; number += 1) index.add(`job-${number}`, number);
  const numbers = Array.from({ length: 100_000 }, (_, n) => n + 1);
  t.true(numbers.every((number) => index.get(`job-${number}`) === number));
  // Some have the same hash of 32 bits.
  t.true(looks < 100_100, `${looks}`);
  t.is(index.get('job-0'), 0);
});
