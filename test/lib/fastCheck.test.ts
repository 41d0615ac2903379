import test from 'ava';
import fc from 'fast-check';
import { array, boolean, lazy, mixed, number, object, ref, type Schema, string, tuple } from 'yup';
import { boundedList } from '../../src/lib/boundedList.ts';
import { fastCheck } from '../../src/lib/fastCheck.ts';

const even = (value: unknown): boolean => typeof value === 'number' && value % 2 === 0;

/** A schema of every kind that the check knows, and a value that is right. */
const known: Record<string, [schema: Schema, right: unknown]> = {
  text: [string().min(2).max(3).required(), 'bb'],
  'a text that may be empty': [string().defined(), ''],
  word: [string().oneOf(['a', 'bb']).nullable(), 'a'],
  number: [number().integer().min(-1).max(5), 4],
  flag: [boolean().required(), false],
  anything: [mixed().nullable(), [1]],
  list: [array().of(string().defined().max(2)).min(1).max(2), ['a', '']],
  open: [object({ a: string().required(), b: number().nullable() }), { a: 'x', b: null, other: 1 }],
  closed: [
    object({ a: string(), 'b"c': object({ d: boolean() }).noUnknown().required() }).noUnknown(),
    { a: '', 'b"c': { d: true } },
  ],
  ours: [
    object({
      n: number()
        .test('even', (n) => n === undefined || even(n))
        .meta({ fast: { even } }),
    }),
    { n: 2 },
  ],
  bounded: [boundedList(2, array().of(number().defined()).min(1).required()) as unknown as Schema, [1, 2]],
};

/** Values near to what those schemas accept. */
const value = fc.letrec((tie) => ({
  leaf: fc.oneof(
    fc.constantFrom('', 'a', 'bb', 'ccc', 'dddd', null, true, -2, -1, 0, 1.5, 4, 5, 6),
    fc.jsonValue({ maxDepth: 1 }),
  ),
  list: fc.array(tie('leaf'), { maxLength: 3 }),
  object: fc.dictionary(fc.constantFrom('a', 'b', 'b"c', 'd', 'n', 'l', 'toString'), tie('any'), {
    maxKeys: 2,
  }),
  any: fc.oneof({ maxDepth: 3 }, tie('leaf'), tie('list'), tie('object')),
})).any;

for (const [name, [schema, example]] of Object.entries(known)) {
  test(`the fast check says of ${name} what yup says`, (t) => {
    const isRight = fastCheck(schema);
    fc.assert(
      fc.property(value, (drawn) => {
        const json: unknown = JSON.parse(JSON.stringify(drawn));
        // More than is promised: of what it knows it is right about what is wrong too.
        return isRight(json) === schema.isValidSync(json, { strict: true });
      }),
      { numRuns: 1_000 },
    );
    t.true(isRight(example));
    t.true(schema.isValidSync(example, { strict: true }));
    t.is(isRight(undefined), schema.isValidSync(undefined, { strict: true }));
  });
}

test('what the description does not tell is left to yup', (t) => {
  const left: [Schema, unknown][] = [
    [string().test('ours', () => true), 'a'],
    [string().notOneOf(['b']), 'a'],
    [string().matches(/a/), 'a'],
    [object({ least: number(), n: number().min(ref('least')) }), { least: 0, n: 1 }],
    [number().moreThan(0), 1],
    [object({ a: lazy(() => string()) }), { a: 'a' }],
    [tuple([string()]), ['a']],
  ];
  for (const [schema, right] of left) {
    t.true(schema.isValidSync(right, { strict: true }));
    t.false(fastCheck(schema)(right), schema.type);
  }
});
