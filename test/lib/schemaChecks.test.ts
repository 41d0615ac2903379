import test from 'ava';
import { SchemaChecks } from '../../src/lib/schemaChecks.ts';

const verdict = {
  type: 'object',
  properties: { label: { enum: ['good', 'bad'] }, score: { type: 'number', minimum: 0 } },
  required: ['label'],
  additionalProperties: false,
};

test('a text is held against a schema, and what is wrong is said with its place', async (t) => {
  const checks = new SchemaChecks();
  t.is(await checks.textFault(verdict, ' {"label": "good", "score": 0.5}\n'), null);
  t.is(await checks.textFault(true, 'null'), null);
  t.regex((await checks.textFault(false, '1')) ?? '', /does not match the schema/);
  t.is(await checks.textFault(verdict, 'I think it is good'), 'is not JSON: "I think it is good"');
  t.regex((await checks.textFault(verdict, '{"label": "ugly"}')) ?? '', /at #\/label: .*"good","bad"/);
  t.regex((await checks.textFault(verdict, '{}')) ?? '', /required property "label"/);
  t.regex((await checks.textFault(verdict, '{"label": "good", "score": -1}')) ?? '', /at #\/score/);
  t.true(((await checks.textFault(verdict, `${'x'.repeat(100_000)}`)) ?? '').length <= 300);
});

test('a schema that cannot be used is told apart from a text that does not match', async (t) => {
  const checks = new SchemaChecks();
  t.is(await checks.schemaFault(verdict), null);
  t.regex((await checks.schemaFault({ $ref: '#/$defs/none' })) ?? '', /cannot be used/);
  t.regex((await checks.schemaFault({ $ref: 'http://127.0.0.1:1/x' })) ?? '', /cannot be used/);
  t.regex((await checks.schemaFault({ pattern: '(' })) ?? '', /cannot be used/);
});

test('a hostile schema ends its check after a time, and those after it are checked', async (t) => {
  const checks = new SchemaChecks(1_000);
  t.is(await checks.textFault(verdict, '{"label": "bad"}'), null);
  const evil = { type: 'string', pattern: '^(a+)+$' };
  const [slow, next] = await Promise.all([
    checks.textFault(evil, JSON.stringify(`${'a'.repeat(40)}!`)),
    checks.textFault(verdict, '{"label": "bad"}'),
  ]);
  t.regex(slow ?? '', /within 1 seconds/);
  t.is(next, null);
  t.regex((await checks.textFault({ $ref: '#' }, '{}')) ?? '', /could not be checked/);
  t.is(await checks.textFault(verdict, '{"label": "good"}'), null);
});
