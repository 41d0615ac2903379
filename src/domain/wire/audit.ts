import type { AuditAction, AuditDetails, AuditTarget } from '../audit.ts';
import type { Role } from '../key.ts';
import type { Iso } from './iso.ts';

/** What somebody did or was refused. */
export interface WireAuditEntry {
  seq: number;
  at: Iso;
  /** null: nobody with a key, such as a signal to the process. */
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
