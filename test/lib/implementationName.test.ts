import test from 'ava';
import { implementationName } from '../../src/lib/implementationName.ts';

test('a guard or an action is called by its name, also one with parameters', (t) => {
  t.is(implementationName('isLate'), 'isLate');
  t.is(implementationName({ type: 'isLate', params: { by: 1 } }), 'isLate');
});
