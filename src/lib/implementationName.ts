/** The name of a guard or an action of a machine, which is a name or a name with parameters. */
export function implementationName(named: unknown): string {
  return typeof named === 'object' && named !== null && 'type' in named ? String(named.type) : String(named);
}
