import type { KeyStorage } from '../auth/keyStorage.ts';
import type { AuditNote } from '../domain/audit.ts';
import type { AuditChange, Store } from '../store/store.ts';
import type { Audit } from './core/index.ts';

/** Keeps keys in the store: each change in one commit with its entry in the audit log. */
export function keyStorage(store: Store, audit: Audit): KeyStorage {
  const entriesOf = (note: AuditNote | null): AuditChange[] => (note === null ? [] : [audit.change(note)]);
  const removalsOf = (ids: readonly string[]) => ids.map((id) => ({ kind: 'keyRemoved' as const, id }));
  return {
    save: (keys, note, removed = []) =>
      store.commit([
        ...keys.map((key) => ({ kind: 'key' as const, key })),
        ...removalsOf(removed),
        ...entriesOf(note),
      ]),
    remove: (ids, note) => store.commit([...removalsOf(ids), ...entriesOf(note)]),
  };
}
