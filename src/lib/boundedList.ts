import { array, type ISchema, type Lazy, lazy } from 'yup';

/**
 * A list of at most `max` items. yup checks each item even when the list is too long, and keeps some 3 KB for every
 * fault: 10 MB of wrong items took a minute and then all memory. For a list that is too long, only its length is
 * reported.
 * @param list the schema of a list within the bound.
 */
export function boundedList<T>(max: number, list: ISchema<T>): Lazy<T> {
  const isTooLong = (value: unknown): boolean => Array.isArray(value) && value.length > max;
  const short = array().max(max) as unknown as ISchema<T>;
  return lazy((value: unknown) => (isTooLong(value) ? short : list));
}
