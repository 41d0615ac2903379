import test from 'ava';
import fc from 'fast-check';
import { closeReason } from '../../src/lib/closeReason.ts';

test('a reason is cut to 123 bytes, never inside a character', (t) => {
  t.is(closeReason('short'), 'short');
  t.is(closeReason('x'.repeat(200)), 'x'.repeat(123));
  t.is(closeReason('ü'.repeat(100)), 'ü'.repeat(61));
  t.is(closeReason('😀'.repeat(50)), '😀'.repeat(30));
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 300 }), (text) => {
      const cut = closeReason(text);
      t.true(Buffer.byteLength(cut) <= 123);
      t.true(text.toWellFormed().startsWith(cut));
    }),
  );
});
