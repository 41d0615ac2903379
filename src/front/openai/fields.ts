import type { JsonSchema } from '../../http/shape/shape.ts';

/**
 * What becomes of a field of a body: the door does what it asks for, the provider gets it and does what it can, it has no
 * effect, or the request is refused.
 */
export type Treatment = 'honoured' | 'passed_on' | 'ignored' | 'refused';

/** A field of a body, for its parser and for the document. */
export interface BodyField {
  treatment: Treatment;
  schema: JsonSchema;
  /** Of a refused field: whether a value asks for nothing, so that it is taken. */
  asksNothing?: (value: unknown) => boolean;
  /** Of a refused field: what to do in its place. */
  hint?: string;
  /** Of one that is passed on in another form: the param that has it, or most of it. */
  passedAs?: string;
}

/** The fields of a body by name. */
export type BodyFields = Readonly<Record<string, BodyField>>;

/** The schema of a body. Fields that it does not name are passed on. */
export function bodySchema(fields: BodyFields, required: readonly string[]): JsonSchema {
  const properties = Object.entries(fields).map(([name, { treatment, schema }]) => {
    const isOptional = !required.includes(name);
    return [name, { ...(isOptional ? orNull(schema) : schema), 'x-svc': treatment }];
  });
  return {
    type: 'object',
    required,
    properties: Object.fromEntries(properties),
    additionalProperties: true,
  };
}

/** null is the same as left out. */
function orNull(schema: JsonSchema): JsonSchema {
  const { type } = schema;
  if (typeof type === 'string' && !('enum' in schema)) return { ...schema, type: [type, 'null'] };
  return schema;
}

/** Schemas of most fields. */
export const types = {
  number: { type: 'number' },
  integer: { type: 'integer' },
  flag: { type: 'boolean' },
  text: { type: 'string' },
  object: { type: 'object' },
  list: { type: 'array', items: { type: 'object' } },
} as const;

/** An object with string values, as far as a schema can express that. */
export const textMap: JsonSchema = { type: 'object', additionalProperties: { type: 'string' } };

const asMetadata: BodyField = {
  treatment: 'honoured',
  schema: { ...types.text, description: 'Kept with the job as metadata; no provider sees it.' },
};

/** The fields that all forms of requests for one answer have. */
export const commonFields = {
  model: {
    treatment: 'honoured',
    schema: { ...types.text, minLength: 1, description: '`auto`, `provider/model`, a provider or a model.' },
  },
  service_tier: {
    treatment: 'honoured',
    schema: { ...types.text, description: 'Decides the priority and the tier of the job.' },
  },
  metadata: {
    treatment: 'honoured',
    schema: { ...textMap, maxProperties: 100, description: 'Kept with the job; no provider sees it.' },
  },
  user: asMetadata,
  safety_identifier: asMetadata,
  temperature: { treatment: 'passed_on', schema: types.number },
  top_p: { treatment: 'passed_on', schema: types.number },
  prompt_cache_key: { treatment: 'passed_on', schema: types.text },
} as const satisfies BodyFields;
