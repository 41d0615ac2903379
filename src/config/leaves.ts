import { keyPath } from './fields.ts';

/** One value of a configuration with its path: everything that is not a map, and empty maps. */
export interface Leaf {
  steps: readonly string[];
  /** The steps as one key path, `jobs.timeout_seconds`. */
  path: string;
  value: unknown;
}

/** Every value of a nested map; a list is one value. */
export function leavesOf(value: unknown, steps: readonly string[] = []): Leaf[] {
  const leaf: Leaf = { steps, path: steps.reduce(keyPath, ''), value };
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [leaf];
  const entries = Object.entries(value);
  return entries.length === 0
    ? [leaf]
    : entries.flatMap(([key, member]) => leavesOf(member, [...steps, key]));
}
