import fc from 'fast-check';
import { resolved } from './openapi.ts';

/**
 * The same source is tried with the same values, so a failure is of the change that brings it. SVC_TEST_SEED=random tries
 * others, and SVC_TEST_FUZZ=10 ten times as many: a failure prints its seed, and SVC_TEST_SEED runs that one again.
 */
const factor = Number(process.env.SVC_TEST_FUZZ ?? 1);
const seed = process.env.SVC_TEST_SEED ?? '20';

export function fuzzOptions(runs: number): { numRuns: number; seed?: number } {
  return { numRuns: Math.ceil(runs * factor), ...(seed === 'random' ? {} : { seed: Number(seed) }) };
}

/** Texts that have broken programs before. */
export const oddText: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(
    '',
    ' ',
    '\u0000',
    '\r\nX-Injected: 1',
    '../../etc/passwd',
    '__proto__',
    'constructor',
    'toString',
    '%00',
    '%zz',
    '\ud800',
    '<script>alert(1)</script>',
    "' OR 1=1 --",
    '0',
    '-1',
    '1e999',
    'NaN',
    '9007199254740993',
    '+275760-09-14T00:00:00Z',
    'x'.repeat(3_000),
    '('.repeat(500),
  ),
  fc.string({ unit: 'binary', maxLength: 40 }),
);

/** Any JSON, and numbers at the edges of what a number can be. */
export const oddValue: fc.Arbitrary<unknown> = fc.oneof(
  oddText,
  fc.constantFrom(null, true, 0, -0, -1, 1.5, 1e308, 2 ** 53, 5e-324, [], {}, [[]], [null], { a: null }),
  fc.jsonValue({ maxDepth: 3 }),
);

/** As much of a JSON Schema as is drawn from. */
interface Schema {
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  oneOf?: Schema[];
  anyOf?: Schema[];
  allOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  format?: string;
  minimum?: number;
  maximum?: number;
}

const depthMax = 5;

/** Values that fit a schema of docs/openapi.yaml, more or less: each part may be odd instead. */
export function valuesOf(given: object, depth = 0): fc.Arbitrary<unknown> {
  const [schema] = resolved<Schema>(given, []);
  if (depth > depthMax) return fc.constant(null);
  return fc.oneof({ weight: 30, arbitrary: fitting(schema, depth) }, { weight: 1, arbitrary: oddValue });
}

function fitting(schema: Schema, depth: number): fc.Arbitrary<unknown> {
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  const choices = schema.oneOf ?? schema.anyOf ?? schema.allOf;
  if (choices !== undefined && schema.properties === undefined)
    return fc.oneof(...choices.map((one) => valuesOf(one, depth + 1)));
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  switch (type) {
    case 'string':
      if (schema.format === 'uuid') return fc.uuid();
      if (schema.format === 'date-time')
        return fc.date({ noInvalidDate: true }).map((date) => date.toISOString());
      return fc.string({ maxLength: 30 });
    case 'integer':
      return fc.integer({
        min: schema.minimum ?? -5,
        max: Math.max(schema.minimum ?? -5, schema.maximum ?? 2_000),
      });
    case 'number':
      return fc.double({ noNaN: true, min: -5, max: 5_000 });
    case 'boolean':
      return fc.boolean();
    case 'array':
      return fc.array(schema.items === undefined ? oddValue : valuesOf(schema.items, depth + 1), {
        maxLength: 4,
      });
    default: {
      const known = someOf(schema.properties ?? {}, schema.required, (one) => valuesOf(one, depth + 1));
      const odd = fc.dictionary(oddText, oddValue, { maxKeys: 1 });
      return fc.oneof({ weight: 12, arbitrary: known }, { weight: 1, arbitrary: odd });
    }
  }
}

/** A record with what is required of `fields` and at most two others: with all of them one would always be wrong. */
export function someOf<T, V>(
  fields: Record<string, T>,
  required: readonly string[] = [],
  draw: (field: T, name: string) => fc.Arbitrary<V>,
): fc.Arbitrary<Record<string, V>> {
  const optional = Object.keys(fields).filter((name) => !required.includes(name));
  return fc.subarray(optional, { maxLength: Math.min(2, optional.length) }).chain((names) => {
    const chosen = Object.entries(fields).filter(([name]) => required.includes(name) || names.includes(name));
    return fc.record(Object.fromEntries(chosen.map(([name, field]) => [name, draw(field, name)])));
  });
}

/** What of the inside must never be seen outside: stacks, files, the names of our errors' classes. */
const inside = /\n\s+at |node_modules|file:\/\/|\.ts:\d|TypeError|RangeError|ReferenceError|\/tmp\/|"stack"/;

/** @throws Error when a text tells of the inside what nobody outside should know. */
export function holdsNothingInside(text: string): void {
  const found = inside.exec(text);
  if (found === null) return;
  throw new Error(`a leak: …${text.slice(Math.max(0, found.index - 100), found.index + 200)}`);
}
