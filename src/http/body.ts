import type { AnyObject, ObjectSchema } from 'yup';
import { smallBody as readSmall } from './middleware/smallBody.ts';
import type { Body } from './route.ts';
import { schemaOf } from './shape/fromYup.ts';
import type { JsonSchema } from './shape/shape.ts';
import { validate } from './validate.ts';

/** A JSON object of at most 64 KiB, which `schema` checks and describes. An optional one that is left out is `{}`. */
export function smallBody<T extends AnyObject>(
  schema: ObjectSchema<T>,
  { examples, isOptional = false }: { examples: JsonSchema; isOptional?: boolean },
): Body<T, unknown> {
  return {
    isOptional,
    content: { 'application/json': { schema: schemaOf(schema), examples } },
    reader: readSmall,
    parse: (body) => validate(schema, body ?? {}),
  };
}
