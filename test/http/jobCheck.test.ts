import test from 'ava';
import fc from 'fast-check';
import { dispatchSchema } from '../../src/http/routes/jobs/schema.ts';
import { fastCheck } from '../../src/lib/fastCheck.ts';
import { testConfig } from '../support/config.ts';

const config = testConfig();
const schema = dispatchSchema(Object.keys(config.jobs.priorities));
const isRight = fastCheck(schema);

/** A value that is often right for its field, and often just wrong. */
const any = fc.oneof(fc.string(), fc.integer(), fc.double(), fc.boolean(), fc.constant(null), fc.jsonValue());
const near = <T>(right: fc.Arbitrary<T>): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 30, arbitrary: right }, { weight: 1, arbitrary: any });
const text = fc.oneof(
  { weight: 30, arbitrary: fc.string({ minLength: 1 }) },
  { weight: 2, arbitrary: fc.constantFrom('x'.repeat(200), '__proto__') },
  { weight: 1, arbitrary: fc.constantFrom('', 'x'.repeat(201)) },
);
const message = fc.record({ role: near(text), content: near(fc.jsonValue()) }, { requiredKeys: [] });
const fields = {
  prompt: near(text),
  messages: near(fc.array(near(message), { maxLength: 3 })),
  input: near(text),
  provider: near(text),
  model: near(text),
  priority: near(fc.constantFrom('high', 'normal', 'low', 'low', 'nope', 'toString')),
  tier: near(text),
  tags: near(fc.oneof(fc.uniqueArray(text, { maxLength: 3 }), fc.array(near(text), { maxLength: 102 }))),
  params: near(fc.dictionary(fc.string(), fc.jsonValue())),
  metadata: near(fc.dictionary(fc.string(), text, { maxKeys: 102 })),
  timeout_seconds: near(fc.oneof(fc.nat(), fc.double())),
  not_before: near(fc.constantFrom('2026-11-21T09:00:00Z', '2026-11-21', '2026-99-21T09:00:00Z')),
};
const body = fc.tuple(
  fc.record(fields, { requiredKeys: [] }),
  fc.oneof(
    { weight: 9, arbitrary: fc.constant({}) },
    { weight: 1, arbitrary: fc.dictionary(fc.string(), any) },
  ),
);

test('a job that the fast check accepts is accepted by the schema as it is', (t) => {
  let plain = 0;
  let other = 0;
  const property = fc.property(body, ([known, extra]) => {
    // What arrives has been through JSON: no undefined, no NaN.
    const value: unknown = JSON.parse(JSON.stringify({ ...known, ...extra }));
    if (!isRight(value)) {
      other += 1;
      return true;
    }
    plain += 1;
    return schema.validateSync(value, { strict: true }) === value;
  });
  fc.assert(property, { numRuns: 5_000 });
  t.true(plain > 20 && other > 100, `${plain} plain, ${other} others`);
});

test('ordinary jobs are accepted by the fast check, without the schema', (t) => {
  const whole = {
    prompt: 'x',
    input: 'y',
    provider: 'echo',
    model: 'm',
    priority: 'high',
    tier: 'gold',
    tags: ['a', 'b'],
    params: { temperature: 0 },
    metadata: { run: '7' },
    timeout_seconds: 1.5,
    not_before: '2026-11-21T09:00:00Z',
  };
  const answered = { prompt: 'x', messages: null, input: null, model: null, tier: null, not_before: null };
  const chat = { messages: [{ role: 'user', content: 'x' }], provider: 'echo' };
  for (const job of [whole, answered, chat, { prompt: 'x' }]) t.true(isRight(job), JSON.stringify(job));
});
