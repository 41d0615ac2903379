import { array, type ISchema, type Lazy, lazy } from 'yup';

/**
 * A list of at most `max` items. yup looks at each item also where the list is too long, and keeps some 3 KB of every
 * fault: 10 MB of wrong items took a minute and then all memory. Of such a list only its length is told.
 * @param list what a list that is not too long must be.
 */
export function boundedList<T>(max: number, list: ISchema<T>): Lazy<T> {
  const isTooLong = (value: unknown): boolean => Array.isArray(value) && value.length > max;
  const short = array().max(max) as unknown as ISchema<T>;
  return lazy((value: unknown) => (isTooLong(value) ? short : list));
}
