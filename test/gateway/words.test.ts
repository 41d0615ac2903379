import test from 'ava';
import { textOfParts } from '../../src/domain/chunkParts.ts';
import { failureFromWire, outcomeFromWire, partsFromWire } from '../../src/gateway/words.ts';

const mebi = 1024 * 1024;
const result = (more: object) => ({
  output: 'ok',
  finish_reason: 'stop',
  model: 'm',
  usage: {},
  latency_ms: 1,
  ...more,
});

const chunk = { type: 'chunk', job_id: 'a', lease: 1, seq: 1 } as const;
const textOf = (text: string) => textOfParts(partsFromWire({ ...chunk, text }));

test('a long message of a failure is cut and says so; its code is cut', (t) => {
  const { message, code } = failureFromWire({
    class: 'unknown',
    message: 'm'.repeat(5_000_000),
    code: 'c'.repeat(5_000),
  });
  t.true(message.startsWith('m'.repeat(8_192)));
  t.regex(message.slice(8_192), /cut; it had 5000000 characters/);
  t.true(message.length < 8_300);
  t.is(code, 'c'.repeat(200));
  t.is(failureFromWire({ class: 'unknown', message: 'm'.repeat(8_192) }).message.length, 8_192);
});

test('no half of a character is left at the end', (t) => {
  const { message } = failureFromWire({ class: 'unknown', message: `a${'😀'.repeat(5_000)}` });
  t.true(message.isWellFormed());
});

test('a cut text does not keep the whole of it in memory', (t) => {
  const kept: string[] = [];
  const before = process.memoryUsage().heapUsed;
  for (let i = 0; i < 40; i += 1) {
    const said = JSON.parse(`"${'m'.repeat(8 * mebi - i)}"`) as string;
    kept.push(failureFromWire({ class: 'unknown', message: said }).message, textOf(said));
  }
  t.is(kept.length, 80);
  t.true(process.memoryUsage().heapUsed - before < 200 * mebi, 'each would be 8 MiB');
});

test('a model that is too long counts as not told; finish reasons and calls are cut', (t) => {
  const call = {
    id: 'i'.repeat(300),
    type: 'function' as const,
    function: { name: 'n'.repeat(300), arguments: '{}' },
  };
  const outcome = outcomeFromWire(
    result({ model: 'n'.repeat(201), finish_reason: 'f'.repeat(300), tool_calls: [call] }),
  );
  t.like(outcome, {
    type: 'complete',
    model: null,
    finishReason: 'f'.repeat(200),
    toolCalls: [
      { id: 'i'.repeat(200), type: 'function', function: { name: 'n'.repeat(200), arguments: '{}' } },
    ],
  });
  t.like(outcomeFromWire(result({ model: 'n'.repeat(200) })), { model: 'n'.repeat(200) });
});

test('an output of 8 MiB is taken; one that is larger fails the attempt, and its usage counts', (t) => {
  const usage = { input_tokens: 1, output_tokens: 2 };
  t.is(outcomeFromWire(result({ output: 'x'.repeat(8 * mebi) })).type, 'complete');
  t.is(outcomeFromWire(result({ output: '語'.repeat(8 * (mebi / 3)) })).type, 'complete');
  const call = { id: 'c', type: 'function', function: { name: 'f', arguments: 'x'.repeat(8 * mebi) } };
  for (const larger of [
    { output: 'x'.repeat(8 * mebi + 1) },
    { output: '語'.repeat(8 * mebi - 1_000_000) },
    { output: 'x', tool_calls: [call] },
  ]) {
    t.like(outcomeFromWire(result({ ...larger, usage })), {
      type: 'fail',
      failure: { class: 'invalid_request', code: 'result_too_large' },
      usage: { inputTokens: 1, outputTokens: 2 },
    });
  }
});
