import type { JsonScan } from './jsonScan.ts';

/** Levels of nesting; JSON schemas of tools have some twenty. Everything that walks a value recurses. */
const depthMax = 200;
/** JSON.parse takes up to 0.6 µs for a new name, 30 ms for this many. */
const membersMax = 50_000;
/** Values of one text. */
const valuesMax = 100_000;

/** What is wrong with the shape of a scanned text, or of the part scanned so far; null when it may be parsed. */
export function shapeFault({
  deepest,
  members,
  values,
}: Pick<JsonScan, 'deepest' | 'members' | 'values'>): string | null {
  if (deepest > depthMax) return `nests deeper than ${depthMax} levels`;
  if (members > membersMax) return `has more than ${membersMax} members in all its levels`;
  return values > valuesMax ? `has more than ${valuesMax} values in all its levels` : null;
}

/**
 * Whether an object in a value has a member `__proto__`, which would change the prototype of its copy. It walks the
 * value, not the text: the name can be escaped in many ways, and searching a text full of escapes takes 3 ns a byte.
 */
export function hasPrototypeKey(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (Object.hasOwn(value, '__proto__')) return true;
  for (const one of Object.values(value)) if (typeof one === 'object' && hasPrototypeKey(one)) return true;
  return false;
}

/** Members of objects on all levels of a value, counted up to `max` + 1. */
export function countMembers(value: unknown, max: number): number {
  if (typeof value !== 'object' || value === null) return 0;
  const inner: unknown[] = Object.values(value);
  let count = Array.isArray(value) ? 0 : inner.length;
  for (const one of inner) {
    if (count > max) return count;
    count += countMembers(one, max - count);
  }
  return count;
}
