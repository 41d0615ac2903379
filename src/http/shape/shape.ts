/**
 * Shapes: JSON Schema (2020-12, as OpenAPI 3.1 has it) together with the TypeScript type that it describes. `Shape<T>` is
 * invariant in T, so that a member that is added to a wire type, renamed, or made nullable does not compile until its shape
 * says so too.
 */

export type JsonSchema = Readonly<Record<string, unknown>>;

declare const type: unique symbol;

export interface Shape<T> {
  readonly schema: JsonSchema;
  /** Never there at run time. */
  readonly [type]?: (value: T) => T;
}

/** Any shape, where its type does not matter. */
export type AnyShape = Pick<Shape<unknown>, 'schema'>;

/** A member that may be left out. */
export interface OptionalShape<T> {
  readonly optional: Shape<T>;
}

/** The shape of each member of an object. */
export type Members<T> = {
  [K in keyof T]-?: Record<never, never> extends Pick<T, K> ? OptionalShape<Required<T>[K]> : Shape<T[K]>;
};

/** A description, or keywords of JSON Schema. */
type Notes = string | JsonSchema;

/** Under this key a `$ref` holds what it refers to; `document` collects them. */
export const component = Symbol('component');

export interface Component {
  kind: 'schemas' | 'parameters' | 'headers' | 'responses' | 'examples';
  name: string;
  value: JsonSchema;
}

/** What has a name in the document and is written there once. */
export function reference(kind: Component['kind'], name: string, value: JsonSchema): JsonSchema {
  const held: Component = { kind, name, value };
  return { $ref: `#/components/${kind}/${name}`, [component]: held };
}

const keywords = (notes: Notes): JsonSchema => (typeof notes === 'string' ? { description: notes } : notes);
const typed =
  <T>(keyword: JsonSchema) =>
  (notes: Notes = {}): Shape<T> => ({ schema: { ...keywords(notes), ...keyword } });

export const text = typed<string>({ type: 'string' });
export const integer = typed<number>({ type: 'integer' });
/** A whole number of things. */
export const count = typed<number>({ type: 'integer', minimum: 0 });
export const number = typed<number>({ type: 'number' });
export const flag = typed<boolean>({ type: 'boolean' });
/** An object with any members. */
export const fields = typed<Record<string, unknown>>({ type: 'object', additionalProperties: true });
export const anything = typed<unknown>({});

export function oneOf<const T extends string>(words: readonly T[], notes: Notes = {}): Shape<T> {
  return { schema: { ...keywords(notes), type: 'string', enum: [...words] } };
}

export function literal<const T extends string | number | boolean>(value: T, notes: Notes = {}): Shape<T> {
  return { schema: { ...keywords(notes), const: value } };
}

export function list<T>(items: Shape<T>, notes: Notes = {}): Shape<T[]> {
  return { schema: { ...keywords(notes), type: 'array', items: items.schema } };
}

/** An object whose members are all of one kind. */
export function record<T>(values: Shape<T>, notes: Notes = {}): Shape<Record<string, T>> {
  return { schema: { ...keywords(notes), type: 'object', additionalProperties: values.schema } };
}

export function nullable<T>({ schema }: Shape<T>, notes: Notes = {}): Shape<T | null> {
  const more = keywords(notes);
  if (typeof schema.type !== 'string' || 'enum' in schema) {
    return { schema: { ...more, anyOf: [schema, { type: 'null' }] } };
  }
  return { schema: { ...schema, ...more, type: [schema.type, 'null'] } };
}

export function optional<T>(shape: Shape<T>): OptionalShape<T> {
  return { optional: shape };
}

/** An object with these members and no others. */
export function object<T extends object>(members: Members<T>, notes: Notes = {}): Shape<T> {
  const entries = Object.entries<AnyShape | { optional: AnyShape }>(members);
  return {
    schema: {
      additionalProperties: false,
      ...keywords(notes),
      type: 'object',
      required: entries.flatMap(([name, member]) => ('optional' in member ? [] : [name])),
      properties: Object.fromEntries(
        entries.map(([name, member]) => [name, ('optional' in member ? member.optional : member).schema]),
      ),
    },
  };
}

/** A shape that the document names. */
export function named<T>(name: string, { schema }: Shape<T>): Shape<T> {
  return { schema: reference('schemas', name, schema) };
}

/** The same with a description of its own. Generators drop what stands beside a `$ref`, hence `allOf`. */
export function described<T>({ schema }: Shape<T>, description: string): Shape<T> {
  return { schema: '$ref' in schema ? { description, allOf: [schema] } : { ...schema, description } };
}

/** A shape for a type that says less, or more, than the document does. */
export function loosely<T>({ schema }: AnyShape): Shape<T> {
  return { schema };
}
