/**
 * The record's own value under a key from outside. Plain objects also have `constructor` and the like, which are not.
 */
export function own<T>(record: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}
