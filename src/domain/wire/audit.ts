import type { AuditAction, AuditDetails, AuditTarget } from '../audit.ts';
import type { Role } from '../key.ts';
import type { Iso } from './iso.ts';

/** An action, done or refused. */
export interface WireAuditEntry {
  seq: number;
  at: Iso;
  /** null: no key was used, as with a signal to the process. */
  actor: { key_id: string; name: string | null; role: Role } | null;
  action: AuditAction;
  target: AuditTarget;
  from: { address: string | null };
  details: AuditDetails;
  outcome: 'done' | 'refused';
}

/** Answer of GET /api/audit, newest first. */
export interface WireAuditList {
  entries: WireAuditEntry[];
  total: number;
  total_capped?: true;
  limit: number;
  offset: number;
}
