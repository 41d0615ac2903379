import test from 'ava';
import fc from 'fast-check';
import { schemas } from '../../src/gateway/frames.ts';
import { usageOrNull } from '../../src/gateway/words.ts';
import { fastCheck } from '../../src/lib/fastCheck.ts';

/** A value that is often right for its field, and often just wrong. */
const any = fc.oneof(fc.string(), fc.integer(), fc.double(), fc.boolean(), fc.constant(null), fc.jsonValue());
const near = <T>(right: fc.Arbitrary<T>): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 40, arbitrary: right }, { weight: 1, arbitrary: any });
const text = fc.oneof(
  { weight: 30, arbitrary: fc.string() },
  { weight: 2, arbitrary: fc.constantFrom('', 'x'.repeat(200), 'x'.repeat(201), '__proto__') },
);
const number = fc.oneof(
  { weight: 20, arbitrary: fc.nat() },
  { weight: 1, arbitrary: fc.constantFrom(0, -1, 0.5, 1e10, 1e10 + 1, 1e12, 1e13, 2 ** 53, 2 ** 53 + 2) },
);
const lease = { job_id: near(text), lease: near(number) };
const usage = fc.record(
  {
    input_tokens: near(number),
    output_tokens: near(number),
    cached_input_tokens: near(number),
    cache_write_tokens: near(number),
    reasoning_tokens: near(number),
    total_tokens: near(number),
  },
  { requiredKeys: [] },
);
const result = fc.record(
  {
    output: near(text),
    tool_calls: fc.oneof({ weight: 9, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: any }),
    finish_reason: near(text),
    model: near(fc.option(text)),
    usage: near(usage),
    raw_usage: fc.option(fc.jsonValue(), { freq: 20 }),
    latency_ms: near(number),
    first_token_ms: near(number),
  },
  { requiredKeys: ['output'] },
);
const part = fc.oneof(
  fc.record({ type: fc.constantFrom('text', 'reasoning'), text: near(text) }),
  fc.record(
    {
      type: fc.constant('tool_call'),
      index: near(number),
      id: near(text),
      name: near(text),
      arguments: near(text),
    },
    { requiredKeys: ['type', 'index', 'arguments'] },
  ),
);
const frames = {
  complete: fc.record({ type: fc.constant('complete' as const), ...lease, result: near(result) }),
  chunk: fc.record(
    {
      type: fc.constant('chunk' as const),
      ...lease,
      seq: near(number),
      text: near(text),
      parts: near(fc.array(near(part), { maxLength: 4 })),
    },
    { requiredKeys: ['type', 'job_id', 'lease', 'seq'] },
  ),
  heartbeat: fc.record(
    {
      type: fc.constant('heartbeat' as const),
      running: near(fc.array(near(fc.record(lease)), { maxLength: 4 })),
      models: near(fc.dictionary(text, fc.array(text))),
    },
    { requiredKeys: ['type', 'running'] },
  ),
};

for (const [type, arbitrary] of Object.entries(frames)) {
  test(`what the fast check of ${type} accepts is accepted by the schema as it is`, (t) => {
    const schema = schemas[type as keyof typeof frames];
    const isRight = fastCheck(schema);
    let plain = 0;
    let other = 0;
    const property = fc.property(arbitrary, (made) => {
      // What arrives has been through JSON: no undefined, no NaN.
      const frame: typeof made = JSON.parse(JSON.stringify(made));
      if (!isRight(frame)) {
        other += 1;
        return true;
      }
      plain += 1;
      return schema.validateSync(frame, { strict: true }) === frame;
    });
    fc.assert(property, { numRuns: 5_000 });
    t.true(plain > 100 && other > 100, `${plain} plain, ${other} others`);
  });
}

test('what the built-in worker sends is accepted by the fast checks, without the schemas', (t) => {
  const lease = { job_id: '019aa1c8-7f4e-7000-8000-000000000000', lease: 1 };
  const usage = {
    input_tokens: 7,
    output_tokens: 9,
    cached_input_tokens: 0,
    reasoning_tokens: 0,
    total_tokens: 16,
  };
  const result = {
    output: 'hello',
    finish_reason: 'stop',
    model: 'echo-1',
    usage,
    raw_usage: { prompt_tokens: 7 },
    latency_ms: 1.5,
    first_token_ms: 0.5,
  };
  const call = { id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } };
  const error = { class: 'server_error', message: 'broken', status: 500 };
  const hello = {
    name: 'box',
    kind: 'local',
    providers: ['echo'],
    concurrency: 4,
    tags: [],
    running: [lease],
  };
  const frames: [type: keyof typeof schemas, frame: object][] = [
    ['complete', { ...lease, result }],
    ['complete', { ...lease, result: { ...result, tool_calls: [call] } }],
    ['chunk', { ...lease, seq: 0, text: '' }],
    ['chunk', { ...lease, seq: 0, parts: [] }],
    ['chunk', { ...lease, seq: 0, parts: [{ type: 'reasoning', text: 'a' }, { type: 'new' }] }],
    [
      'chunk',
      { ...lease, seq: 0, parts: [{ type: 'tool_call', index: 0, id: 'c', name: 'f', arguments: '' }] },
    ],
    ['heartbeat', { running: [lease] }],
    ['heartbeat', { running: [], models: { echo: ['echo-1'] } }],
    ['fail', { ...lease, error, usage, begun: true, model: null }],
    ['aborted', { ...lease }],
    ['release', { ...lease, begun: false }],
    ['hello', hello],
    ['hello', { ...hello, features: ['typed_chunks'] }],
    ['drain', {}],
  ];
  for (const [type, frame] of frames)
    t.true(fastCheck(schemas[type])({ type, ...frame }), `${type} ${JSON.stringify(frame)}`);
});

test('usage of which nothing is told is unknown, and not none', (t) => {
  for (const wire of [undefined, {}, { reasoning_tokens: 3 }]) t.is(usageOrNull(wire), null);
  t.like(usageOrNull({ input_tokens: 0 }), { inputTokens: 0, outputTokens: 0, isPartial: true });
  t.like(usageOrNull({ output_tokens: 7 }), { inputTokens: 0, outputTokens: 7, isPartial: true });
  t.is(usageOrNull({ input_tokens: 0, output_tokens: 7 })?.isPartial, undefined);
});
