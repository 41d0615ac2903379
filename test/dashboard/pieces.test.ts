import test from 'ava';
import {
  type OutputSoFar,
  ofSnapshot,
  outputMax,
  withChunk,
} from '../../src/dashboard/pages/job/liveOutput.ts';
import { textOfParts } from '../../src/domain/chunkParts.ts';

const textOf = (output: OutputSoFar | null) => textOfParts(output?.parts ?? []);

test('output is put together once and in order, and begins anew with a new lease', (t) => {
  const id = 'j';
  let output = ofSnapshot({ lease: 1, seq: 2, text: 'ab', truncated: false });
  output = withChunk(output, { id, lease: 1, seq: 2, text: 'b' });
  output = withChunk(output, { id, lease: 1, seq: 3, text: 'c' });
  t.is(textOf(output), 'abc');
  output = withChunk(output, { id, lease: 2, seq: 1, text: 'x' });
  output = withChunk(output, { id, lease: 1, seq: 4, text: 'late' });
  t.deepEqual(output, {
    lease: 2,
    seq: 1,
    parts: [{ type: 'text', text: 'x' }],
    isTruncated: false,
  });
  output = withChunk(output, { id, lease: 2, seq: 2, text: 'y'.repeat(outputMax) });
  t.is(textOf(output).length, outputMax);
  t.true(output?.isTruncated);
  t.like(withChunk(null, { id, lease: 1, seq: 5, text: 'z' }), { isTruncated: true });
});

test('reasoning and tool calls are joined with what goes on, in order, and what is too long loses its start', (t) => {
  const more = { id: 'j', lease: 1, text: '' };
  const reasoning = (text: string) => ({ type: 'reasoning', text }) as const;
  const call = { type: 'tool_call', index: 0 } as const;
  let output = ofSnapshot({ lease: 1, seq: 1, text: '', truncated: false, parts: [reasoning('Hm')] });
  output = withChunk(output, {
    ...more,
    seq: 2,
    parts: [reasoning('m.'), { ...call, id: 'c', name: 'f', arguments: '{' }],
  });
  output = withChunk(output, { ...more, seq: 3, parts: [{ ...call, arguments: '}' }] });
  output = withChunk(output, { ...more, seq: 4, text: 'So' });
  t.deepEqual(output?.parts, [
    reasoning('Hmm.'),
    { ...call, id: 'c', name: 'f', arguments: '{}' },
    { type: 'text', text: 'So' },
  ]);
  output = withChunk(output, { ...more, seq: 5, parts: [reasoning('x'.repeat(outputMax - 3))] });
  t.deepEqual(output?.parts.slice(0, 1), [{ type: 'text', text: 'So' }]);
  t.true(output?.isTruncated);
});
