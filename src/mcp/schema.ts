import { type Component, component, type JsonSchema } from '../http/shape/shape.ts';
import { isFields } from '../lib/fields.ts';

/** A JSON Schema of an object, as tools declare what they take and return. */
export interface ObjectSchema extends Record<string, unknown> {
  type: 'object';
}

const choices = ['oneOf', 'anyOf', 'allOf'];

/**
 * A self-contained schema: what it refers to by name in the OpenAPI document is written out. A choice between forms at
 * the top is left out, since model providers refuse tools that have one; the parser still makes it.
 */
export function standalone(schema: JsonSchema): ObjectSchema {
  const whole = inlined(schema);
  const members = Object.entries(isFields(whole) ? whole : {});
  return { ...Object.fromEntries(members.filter(([name]) => !choices.includes(name))), type: 'object' };
}

function inlined(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inlined);
  if (!isFields(value)) return value;
  if (component in value) return inlined((value[component] as Component).value);
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, inlined(one)]));
}
