import type { ISchema, SchemaFieldDescription } from 'yup';
import type { SchemaNotes } from '../../lib/schemaNotes.ts';
import { type JsonSchema, reference, type Shape } from './shape.ts';

/** The JSON Schema of a yup schema: what it says itself, and what its `meta` adds. */
export function schemaOf(schema: Pick<ISchema<unknown>, 'describe'>): JsonSchema {
  return described(schema.describe());
}

/** The same under a name of the document. */
export function namedSchema(name: string, schema: Pick<ISchema<unknown>, 'describe'>): JsonSchema {
  return reference('schemas', name, schemaOf(schema));
}

/** The same as a shape. */
export function shapeOf<T>(schema: Pick<ISchema<unknown>, 'describe'>): Shape<T> {
  return { schema: schemaOf(schema) };
}

function described(field: SchemaFieldDescription): JsonSchema {
  const { description, json, shape, list } = notesOf(field);
  if (shape !== undefined) return shape.schema;
  const own =
    list === undefined ? keywordsOf(field) : { ...described(list.schema.describe()), maxItems: list.max };
  return { ...(description === undefined ? {} : { description }), ...own, ...json };
}

function notesOf(field: SchemaFieldDescription): SchemaNotes {
  return ('meta' in field ? field.meta : undefined) ?? {};
}

function keywordsOf(field: SchemaFieldDescription): JsonSchema {
  if (!('tests' in field)) return {};
  const { type } = field;
  const bounds = Object.fromEntries(field.tests.flatMap(({ name, params }) => boundsOf(type, name, params)));
  const isWhole = field.tests.some(({ name }) => name === 'integer');
  const named = type === 'mixed' ? {} : typeOf(isWhole ? 'integer' : type, field.nullable);
  const words =
    field.oneOf.length === 0 ? {} : { enum: field.nullable ? [...field.oneOf, null] : field.oneOf };
  return { ...named, ...words, ...bounds, ...membersOf(field) };
}

function typeOf(type: string, isNullable: boolean): JsonSchema {
  return { type: isNullable ? [type, 'null'] : type };
}

/** What a test of yup is called in JSON Schema. */
const bounds: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  string: { min: 'minLength', max: 'maxLength' },
  number: { min: 'minimum', max: 'maximum' },
  array: { min: 'minItems', max: 'maxItems' },
};

function boundsOf(
  type: string,
  name: string | undefined,
  params: Readonly<Record<string, unknown>> | undefined,
): [string, unknown][] {
  const keyword = bounds[type]?.[name ?? ''];
  return keyword === undefined ? [] : [[keyword, params?.[name ?? '']]];
}

function membersOf(field: SchemaFieldDescription): JsonSchema {
  if ('innerType' in field && field.innerType !== undefined && !Array.isArray(field.innerType)) {
    return { items: described(field.innerType) };
  }
  if (!('fields' in field)) return {};
  const members = Object.entries(field.fields);
  const required = members.flatMap(([name, member]) => (isRequired(member) ? [name] : []));
  const isClosed = field.tests.some(({ name }) => name === 'noUnknown');
  return {
    ...(required.length === 0 ? {} : { required }),
    // Generators take an object of which nothing is said for an empty one.
    ...(isClosed || members.length === 0 ? { additionalProperties: !isClosed } : {}),
    ...(members.length === 0
      ? {}
      : { properties: Object.fromEntries(members.map(([name, member]) => [name, described(member)])) }),
  };
}

function isRequired(field: SchemaFieldDescription): boolean {
  const inner = notesOf(field).list?.schema.describe() ?? field;
  return 'optional' in inner && !inner.optional;
}
