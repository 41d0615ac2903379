import test from 'ava';
import { and, not, or } from 'xstate';
import { implementationName } from '../../src/lib/implementationName.ts';

test('a guard is called by its name, a combined one by the names of its parts', (t) => {
  t.is(implementationName('isLate'), 'isLate');
  t.is(implementationName({ type: 'isLate', params: { by: 1 } }), 'isLate');
  t.is(
    implementationName(function isLate() {}),
    'isLate',
  );
  t.is(implementationName(or(['isLate', 'isLost'])), 'isLate or isLost');
  t.is(implementationName(and(['isLate', not('isLost')])), 'isLate and not isLost');
});
