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
