import test from 'ava';
import fc from 'fast-check';
import { errorClasses } from '../../src/domain/failure.ts';
import { frameDepthMax, type WireFailure } from '../../src/domain/workerProtocol.ts';
import { parseFrame } from '../../src/gateway/frames.ts';
import { systemClock } from '../../src/lib/systemClock.ts';
import type { ProviderResult, RunOutcome } from '../../src/worker/provider.ts';
import { reportOf } from '../../src/worker/report.ts';
import { Run, type StopReason } from '../../src/worker/run.ts';
import { job } from './support/setup.ts';

/** What the coordinator says of the frames of a run that ended so; it reads each. */
function refusals(outcome: RunOutcome, stopped: StopReason | null = null): string[] {
  const run = new Run(job('a'), 'a', systemClock, null, () => {});
  if (stopped !== null) run.stop(stopped);
  const { entry } = reportOf(run, outcome, 5, 3);
  return [entry.json, entry.afterwards].flatMap((json) => {
    const read = json === null ? null : parseFrame(json);
    return typeof read === 'string' ? [read] : [];
  });
}

const text = fc.oneof(fc.string(), fc.string({ minLength: 190, maxLength: 400 }));
const number = fc.oneof(
  fc.nat(),
  fc.double(),
  fc.constantFrom(-1, 0.5, 999, 1000, 1e9, 1e10, 1e10 + 1, 1e12, 2 ** 53, 2 ** 60, Number.NaN),
);
const usage = fc.record(
  {
    input_tokens: number,
    output_tokens: number,
    cached_input_tokens: number,
    cache_write_tokens: number,
    reasoning_tokens: number,
    total_tokens: number,
  },
  { requiredKeys: [] },
);
const toolCall = fc.record({
  id: text,
  type: fc.constant('function' as const),
  function: fc.record({ name: text, arguments: text }),
});
const result: fc.Arbitrary<ProviderResult> = fc.record({
  output: text,
  tool_calls: fc.option(fc.array(toolCall), { nil: undefined }),
  finish_reason: text,
  model: fc.option(text),
  usage,
  raw_usage: fc.oneof(fc.jsonValue(), fc.nat(2 * frameDepthMax).map(nested)),
});
const error: fc.Arbitrary<WireFailure> = fc.record({
  class: fc.constantFrom(...errorClasses),
  message: text,
  status: fc.option(number, { nil: undefined }),
  code: fc.option(text, { nil: undefined }),
  retry_after_seconds: fc.option(number, { nil: undefined }),
});
const outcome: fc.Arbitrary<RunOutcome> = fc.oneof(
  fc.record({ ok: fc.constant(true as const), result }),
  fc.record({ ok: fc.constant(false as const), error, usage: fc.option(usage, { nil: undefined }) }),
);

/** A list in a list in a list …, `depth` of them. */
function nested(depth: number): unknown {
  let value: unknown = 0;
  for (let level = 0; level < depth; level += 1) value = [value];
  return value;
}

test('whatever an adapter hands over, the coordinator takes the frame: a refused one would be offered for ever', (t) => {
  const stops = fc.constantFrom<StopReason | null>(null, 'ordered', 'deadline', 'given back');
  const property = fc.property(outcome, stops, (ended, stopped) => refusals(ended, stopped).length === 0);
  fc.assert(property, { numRuns: 2_000 });
  t.pass();
});

test('a provider’s own form of the usage is told as deep as a frame may be, and left out where no frame can carry it', (t) => {
  const told = (raw_usage: unknown): unknown => {
    const result = { output: 'paid for', finish_reason: 'stop', model: 'm', usage: {}, raw_usage };
    const run = new Run(job('a'), 'a', systemClock, null, () => {});
    const { ending, entry } = reportOf(run, { ok: true, result }, 5, 3);
    t.is(ending, 'completed');
    t.is(typeof parseFrame(entry.json), 'object');
    return JSON.parse(entry.json).result.raw_usage;
  };
  const circular: Record<string, unknown> = {};
  circular.self = circular;
  t.deepEqual(told({ prompt_tokens: 1 }), { prompt_tokens: 1 });
  t.deepEqual(told(nested(frameDepthMax - 2)), nested(frameDepthMax - 2));
  t.is(told(nested(frameDepthMax - 1)), undefined);
  t.is(told(circular), undefined);
  t.is(told(null), undefined);
});
