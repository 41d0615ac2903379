import type { Principal, Role } from './key.ts';

/** What the audit log records. */
export const auditActions = [
  'key.created',
  'key.changed',
  'key.rotated',
  'key.revoked',
  'session.created',
  'session.ended',
  'worker.paused',
  'worker.resumed',
  'worker.resized',
  'worker.forgotten',
  'provider.reset',
  'config.reloaded',
  'jobs.bulk_cancelled',
  'jobs.bulk_retried',
  'queue.paused',
  'queue.resumed',
  'run.paused',
  'run.resumed',
  'run.cancelled',
  'run.retried',
  'file.deleted',
  'webhook.created',
  'webhook.changed',
  'webhook.rotated',
  'webhook.deleted',
  'webhook.stopped',
  'role.refused',
  'worker.refused',
] as const;
export type AuditAction = (typeof auditActions)[number];

/** The key that did it. */
export interface AuditActor {
  keyId: string;
  name: string | null;
  role: Role;
}

/** The actor of an audit entry, and its address. */
export interface Doer {
  /** null: no key was used, as with a signal to the process. */
  actor: AuditActor | null;
  /** IP address; null without a connection. */
  address: string | null;
}

/** Actions without a key, such as a signal to the process or its first start. */
export const nobody: Doer = { actor: null, address: null };

export interface AuditTarget {
  kind:
    | 'key'
    | 'session'
    | 'worker'
    | 'provider'
    | 'config'
    | 'jobs'
    | 'queue'
    | 'run'
    | 'file'
    | 'webhook'
    | 'route';
  /**
   * Id of the key, session, worker, run, file or webhook, name of the provider, `GET /api/keys`; null when there is only one, or several.
   */
  id: string | null;
  name: string | null;
}

/** Further data of an entry: figures, names and codes. Never a secret, nor the content of a job. */
export type AuditDetails = Record<string, string | number | boolean | null | readonly string[]>;

/** An action, done or refused. */
export interface AuditNote {
  by: Doer;
  action: AuditAction;
  target: AuditTarget;
  details: AuditDetails;
  outcome: 'done' | 'refused';
}

/** The same with its time, as stored. */
export interface AuditRecord extends AuditNote {
  /** Epoch ms. */
  at: number;
}

/** A record in its place in the log. */
export interface AuditEntry extends AuditRecord {
  /** 1, 2, 3 … in the order of the commits; assigned by the store. */
  seq: number;
}

/** A principal as an actor. */
export function actorOf({ keyId, name, role }: Principal): AuditActor {
  return { keyId, name, role };
}
