import test from 'ava';
import { ofSnapshot, outputMax, withChunk } from '../../src/dashboard/pages/job/liveOutput.ts';

test('output is put together once and in order, and begins anew with a new lease', (t) => {
  const id = 'j';
  let output = ofSnapshot({ lease: 1, seq: 2, text: 'ab', truncated: false });
  output = withChunk(output, { id, lease: 1, seq: 2, text: 'b' });
  output = withChunk(output, { id, lease: 1, seq: 3, text: 'c' });
  t.is(output?.text, 'abc');
  output = withChunk(output, { id, lease: 2, seq: 1, text: 'x' });
  output = withChunk(output, { id, lease: 1, seq: 4, text: 'late' });
  t.deepEqual(output, { lease: 2, seq: 1, text: 'x', isTruncated: false });
  output = withChunk(output, { id, lease: 2, seq: 2, text: 'y'.repeat(outputMax) });
  t.is(output?.text.length, outputMax);
  t.true(output?.isTruncated);
  t.like(withChunk(null, { id, lease: 1, seq: 5, text: 'z' }), { isTruncated: true });
});
