/**
 * What a record holds under a key that came from outside. Plain objects also answer to `constructor` and the like; those
 * are not the record's own.
 */
export function own<T>(record: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}
