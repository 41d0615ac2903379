import type { AuditNote } from '../domain/audit.ts';
import type { KeyRecord } from '../domain/key.ts';

/**
 * Where keys and sessions are kept. Each resolves when the change is durable, together with its entry in the audit log; a
 * note that is null has none. @throws StoreUnavailable.
 */
export interface KeyStorage {
  /** @param removed ids of others that are removed in the same commit. */
  save(keys: readonly KeyRecord[], note: AuditNote | null, removed?: readonly string[]): Promise<unknown>;
  remove(ids: readonly string[], note: AuditNote | null): Promise<unknown>;
}
