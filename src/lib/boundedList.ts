import { array, type ISchema, type Lazy, lazy } from 'yup';
import type { SchemaNotes } from './schemaNotes.ts';

/**
 * A list of at most `max` items. yup checks each item even when the list is too long, and keeps some 3 KB for every
 * fault: 10 MB of wrong items took a minute and then all memory. For a list that is too long, only its length is
 * reported.
 * @param schema of a list within the bound.
 * @param notes for the document.
 */
export function boundedList<T>(
  max: number,
  schema: ISchema<T>,
  notes: Pick<SchemaNotes, 'description' | 'json'> = {},
): Lazy<T> {
  const isTooLong = (value: unknown): boolean => Array.isArray(value) && value.length > max;
  const short = array().max(max) as unknown as ISchema<T>;
  const meta: SchemaNotes = { ...notes, list: { max, schema } };
  return lazy((value: unknown) => (isTooLong(value) ? short : schema)).meta({ ...meta });
}
