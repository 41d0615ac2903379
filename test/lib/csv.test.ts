import test from 'ava';
import { csvLine } from '../../src/lib/csv.ts';

test('cells are quoted only where they must be', (t) => {
  t.is(
    csvLine(['plain', 'a, b', 'say "hi"', 'two\nlines', 'cr\r', null, '', 0, 1.5, -2]),
    'plain,"a, b","say ""hi""","two\nlines","cr\r",,,0,1.5,-2\r\n',
  );
  t.is(csvLine([]), '\r\n');
});

test('a text that a spreadsheet would take for a formula is kept from being one', (t) => {
  t.is(
    csvLine(['=1+1', '+49', '-x', '@sum', '\tx', 'a=1', '=a,b']),
    `'=1+1,'+49,'-x,'@sum,'\tx,a=1,"'=a,b"\r\n`,
  );
});

test('a formula is not hidden by what stands before it, nor by the width of its sign', (t) => {
  const hidden = [
    '\n=1+1',
    '\r\n=1+1',
    ' \n +1',
    '\u00a0=1',
    '\ufeff=1',
    '\u200b@x',
    '\u0000=1',
    '\t=1',
    '\v-1',
  ];
  const wide = ['＝1+1', '＋1', '－1', '＠x', '\n＝1'];
  for (const text of [...hidden, ...wide]) {
    const cell = csvLine([text])
      .slice(0, -2)
      .replace(/^"(.*)"$/s, '$1');
    t.is(cell, `'${text}`, JSON.stringify(text));
  }
  for (const text of ['\nplain', ' x=1', '1＝1', 'a\n=1']) {
    t.false(csvLine([text]).replace(/^"/, '').startsWith("'"), JSON.stringify(text));
  }
});
