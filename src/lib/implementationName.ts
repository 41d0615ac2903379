/**
 * The name of a guard or an action of a machine, as XState holds it: a name, or a name with parameters. Guards combined
 * by `and`, `or` and `not` are functions that keep their parts: `isOpen or isLate`.
 */
export function implementationName(named: unknown): string {
  if (typeof named === 'object' && named !== null && 'type' in named) return String(named.type);
  if (typeof named !== 'function') return String(named);
  if (!('guards' in named) || !Array.isArray(named.guards)) return named.name;
  const parts = named.guards.map(implementationName);
  return named.name === 'not' ? `not ${parts.join()}` : parts.join(` ${named.name} `);
}
