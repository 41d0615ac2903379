import type { Parameter } from '../../http/query.ts';
import type { JsonSchema } from '../../http/shape/shape.ts';
import { fieldsOf } from '../../lib/fields.ts';

/** Query parameters of the native API as properties of the arguments of a tool. */
export function propertiesOf(
  parameters: Readonly<Record<string, Pick<Parameter<unknown>, 'document'>>>,
): JsonSchema {
  return Object.fromEntries(
    Object.entries(parameters).map(
      ([
        name,
        {
          document: { schema, description },
        },
      ]) => [name, { ...(description === undefined ? {} : { description }), ...fieldsOf(schema) }],
    ),
  );
}
