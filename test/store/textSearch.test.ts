import test from 'ava';
import fc from 'fast-check';
import { TextSearch } from '../../src/store/memory/search/textSearch.ts';

/** Letters that case folding treats in its own ways, halves of surrogate pairs, and signs that mean something in expressions. */
const odd = [...'aAbkK\u212asSſßẞiIıİσςΣ𐐀𐐨😀.*+?^$()[]{}|/\\-', '\ud801', '\udc00'];
const oddText = (maxLength: number) => fc.string({ unit: fc.constantFrom(...odd), maxLength });

test('a text is found as an expression without regard to case finds it', (t) => {
  fc.assert(
    fc.property(oddText(6), oddText(40), (text, within) => {
      fc.pre(text !== '');
      const escaped = text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
      return new TextSearch(text).isIn(within) === new RegExp(escaped, 'iu').test(within);
    }),
    { numRuns: 2_000 },
  );
  t.pass();
});

test('a text is found wherever it lies in a long one, also across the parts that are searched in one turn', async (t) => {
  const text = `${'ab'.repeat(90)}𐐀𐐀K`;
  const search = new TextSearch(text);
  const { charactersPerTurn } = search;
  t.true(charactersPerTurn > text.length);
  const shown = text.toUpperCase().replace('K', '\u212a');
  for (const border of [charactersPerTurn, 2 * charactersPerTurn]) {
    for (const before of [-1, 0, 1, 100, text.length - 2, text.length - 1, text.length, text.length + 1]) {
      const long = 'x'.repeat(border - before) + shown;
      t.true(await search.isInLong(long), `${before} characters before ${border}`);
      t.true(await search.isInLong(`${long}${'x'.repeat(charactersPerTurn)}`));
    }
  }
});

test('half of a character is none, also where a part ends or begins', async (t) => {
  for (const [half, filler] of [
    ['\ud83d', '😀'],
    ['\ude00', '😀'],
  ] as const) {
    const search = new TextSearch(half);
    const pairs = filler.repeat(search.charactersPerTurn);
    t.false(await search.isInLong(pairs));
    t.false(await search.isInLong(`x${pairs}`));
    t.true(await search.isInLong(`${pairs}${half === '\ud83d' ? half : `x${half}`}`));
  }
});

test('the search of a long text gives others a turn after every part', async (t) => {
  const text = `${'a'.repeat(40)}b${'a'.repeat(159)}`;
  const search = new TextSearch(text);
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const long = 'a'.repeat(9_000_000);
  t.false(await search.isInLong(long));
  isOver = true;
  t.true(turns >= Math.floor(long.length / search.charactersPerTurn) - 1, `${turns} turns`);
  t.true(search.charactersPerTurn <= 50_000);
});
