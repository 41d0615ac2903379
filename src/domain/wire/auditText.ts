import type { WireAuditEntry } from './audit.ts';

/** An entry of the audit log in words, the same on the command line and on the dashboard. */

/** The name of the key, or its id when it has none; `-` without a key. */
export function actorText({ actor }: Pick<WireAuditEntry, 'actor'>): string {
  return actor === null ? '-' : (actor.name ?? actor.key_id);
}

/** `worker box-1`; only the kind where there is one of it, or several. */
export function targetText({ target: { kind, id, name } }: Pick<WireAuditEntry, 'target'>): string {
  const which = name ?? id;
  return which === null ? kind : `${kind} ${which}`;
}

/** `concurrency: 4, before: 8`; nulls are omitted. */
export function detailsText({ details }: Pick<WireAuditEntry, 'details'>): string {
  return Object.entries(details)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name}: ${Array.isArray(value) ? value.join(' ') : value}`)
    .join(', ');
}
