import test from 'ava';
import fc from 'fast-check';
import { humanDuration, relativeTime } from '../../src/lib/humanTime.ts';
import { plainLine, plainText, safeJson } from '../../src/lib/plainText.ts';
import { shellWord } from '../../src/lib/shellWord.ts';
import { tableLines } from '../../src/lib/table.ts';
import { cutToWidth, textWidth } from '../../src/lib/textWidth.ts';

test('plain text has no control character but line ends and tabs, and keeps everything else', (t) => {
  t.is(plainText('a\tb\nGrüße ✓ 要約 👩‍🔬'), 'a\tb\nGrüße ✓ 要約 👩‍🔬');
  t.is(plainText('a\u001b[31mb\u001b]8;;http://x\u0007c\u009b0md\u0000\u007f\r'), 'abcd');
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      t.notRegex(plainText(text), /[^\P{Cc}\n\t]/u);
      t.notRegex(plainLine(text), /\p{Cc}/u);
    }),
  );
});

test('one line stays one line and cannot turn the direction of what follows', (t) => {
  t.is(plainLine(' a\r\nb\t\tc \u202ed\u2066 '), 'a b c d');
});

test('what goes into a shell stays one word there', (t) => {
  t.is(shellWord('http://127.0.0.1:7420'), 'http://127.0.0.1:7420');
  t.is(shellWord('a b'), "'a b'");
  t.is(shellWord("it's $HOME"), "'it'\\''s $HOME'");
  t.is(shellWord(''), "''");
});

test('JSON for a terminal is the same JSON without control characters', (t) => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
      const text = safeJson(value);
      t.deepEqual(JSON.parse(text), JSON.parse(JSON.stringify(value)));
      t.notRegex(text, /[^\P{Cc}\n]/u);
    }),
  );
});

test('width counts what a terminal draws', (t) => {
  const cases: [string, number][] = [
    ['', 0],
    ['abc', 3],
    ['Grüße', 5],
    ['e\u0301', 1],
    ['要約', 4],
    ['👩‍🔬', 2],
    ['a👍b', 4],
    ['\u200b', 0],
  ];
  for (const [text, width] of cases) t.is(textWidth(text), width, text);
});

test('a cut text is never wider than asked, whatever it holds', (t) => {
  t.is(cutToWidth('abcdef', 4), 'abc…');
  t.is(cutToWidth('abcd', 4), 'abcd');
  t.is(cutToWidth('ab cd', 4), 'ab…');
  t.is(cutToWidth('要約して', 5), '要約…');
  t.is(cutToWidth('abc', 0), '');
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.nat(30), (text, width) => {
      t.true(textWidth(cutToWidth(text, width)) <= width);
    }),
  );
});

test('a table is aligned, and narrows the columns that may be narrowed, widest first', (t) => {
  const rows = [
    { name: 'short', text: 'a long text that can be cut', n: 5 },
    { name: '要約', text: 'x', n: 1234 },
  ];
  const columns = [
    { header: 'NAME', value: ({ name }: (typeof rows)[0]) => name },
    { header: 'TEXT', value: ({ text }: (typeof rows)[0]) => text, shrinkTo: 6 },
    { header: 'N', value: ({ n }: (typeof rows)[0]) => String(n), align: 'right' as const },
  ];
  t.deepEqual(tableLines(columns, rows, { width: Number.POSITIVE_INFINITY }), [
    'NAME   TEXT                            N',
    'short  a long text that can be cut     5',
    '要約   x                            1234',
  ]);
  t.deepEqual(tableLines(columns, rows, { width: 23 }), [
    'NAME   TEXT           N',
    'short  a long te…     5',
    '要約   x           1234',
  ]);
  t.deepEqual(tableLines(columns, rows, { width: 10 }), ['NAME   TE…', 'short  a…', '要約   x']);
});

test('durations are for people: two units at most, and never 60 of a unit', (t) => {
  const cases: [number, string][] = [
    [-5, '0 ms'],
    [0, '0 ms'],
    [12.4, '12 ms'],
    [1000, '1.0 s'],
    [59_940, '59.9 s'],
    [59_999, '1 min'],
    [200_000, '3 min 20 s'],
    [3_599_900, '1 h'],
    [18_120_000, '5 h 2 min'],
    [86_399_000, '1 d'],
    [273_600_000, '3 d 4 h'],
  ];
  for (const [ms, text] of cases) t.is(humanDuration(ms), text, String(ms));
});

test('relative times look back and ahead', (t) => {
  const now = 1_000_000_000;
  t.is(relativeTime(now, now), 'just now');
  t.is(relativeTime(now - 12_000, now), '12 s ago');
  t.is(relativeTime(now + 5 * 60_000, now), 'in 5 min');
  t.is(relativeTime(now - 30 * 3_600_000, now), '30 h ago');
  t.is(relativeTime(now - 3 * 86_400_000, now), '3 d ago');
});
