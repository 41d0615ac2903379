import type { WireAuditEntry } from './audit.ts';

/** How an entry of the audit log is put into words, the same on the command line and on the dashboard. */

/** The key by its name, or its id when it has none; `-` for nobody with a key. */
export function actorText({ actor }: Pick<WireAuditEntry, 'actor'>): string {
  return actor === null ? '-' : (actor.name ?? actor.key_id);
}

/** `worker box-1`; only the kind where there is one of it, or several. */
export function targetText({ target: { kind, id, name } }: Pick<WireAuditEntry, 'target'>): string {
  const which = name ?? id;
  return which === null ? kind : `${kind} ${which}`;
}

/** `concurrency: 4, before: 8`; what is null is left out. */
export function detailsText({ details }: Pick<WireAuditEntry, 'details'>): string {
  return Object.entries(details)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name}: ${Array.isArray(value) ? value.join(' ') : value}`)
    .join(', ');
}
