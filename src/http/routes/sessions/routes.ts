import type { KeyRing, Session } from '../../../auth/keyRing.ts';
import { CoordinatorError } from '../../../domain/errors.ts';
import { type Principal, roleMay } from '../../../domain/key.ts';
import { iso } from '../../../domain/wire/iso.ts';
import type { WireNewSession, WireSession, WireSessionList } from '../../../domain/wire/key.ts';
import { parseNothing } from '../../query.ts';
import type { Route } from '../../route.ts';

/** /api/sessions: a key makes, lists and ends its sessions; admins list and end those of every key. */
export function sessionRoutes(keys: KeyRing): Route[] {
  return [
    {
      method: 'GET',
      path: '/api/sessions',
      role: 'viewer',
      holdsSecret: true,
      handle: ({ query, principal }) => {
        parseNothing(query);
        const sessions = keys.sessions(scopeOf(principal)).map((session) => present(session, principal));
        const list: WireSessionList = { sessions, total: sessions.length };
        return { json: list };
      },
    },
    {
      method: 'POST',
      path: '/api/sessions',
      role: 'viewer',
      holdsSecret: true,
      handle: async ({ query, principal, doer }) => {
        parseNothing(query);
        const { key, session } = await keys.createSession(principal, doer());
        const { id, role, key_id, created_at, expires_at } = present(session, principal);
        const created: WireNewSession = { id, role, key, key_id, created_at, expires_at };
        return { status: 201, headers: { Location: `/api/sessions/${id}` }, json: created };
      },
    },
    {
      method: 'DELETE',
      path: '/api/sessions/current',
      role: 'viewer',
      holdsSecret: true,
      outlivesSession: true,
      handle: async ({ query, principal, doer }) => {
        parseNothing(query);
        const { sessionId, keyId } = principal;
        if (sessionId === undefined) {
          throw new CoordinatorError('not_found', 'This request came with a key, not with a session');
        }
        return { json: present(await keys.endSession(sessionId, keyId, doer()), principal) };
      },
    },
    {
      method: 'DELETE',
      path: '/api/sessions/:id',
      role: 'viewer',
      holdsSecret: true,
      outlivesSession: true,
      handle: async ({ params: { id = '' }, query, principal, doer }) => {
        parseNothing(query);
        return { json: present(await keys.endSession(id, scopeOf(principal), doer()), principal) };
      },
    },
  ];
}

/** Whose sessions a principal may see and end: a key id, or null for those of every key. */
function scopeOf({ role, keyId }: Principal): string | null {
  return roleMay(role, 'admin') ? null : keyId;
}

function present({ record, keyId, keyName }: Session, { sessionId }: Principal): WireSession {
  const { id, role, createdAt, lastUsedAt = null, expiresAt } = record;
  return {
    id,
    key_id: keyId,
    key_name: keyName,
    role,
    created_at: iso(createdAt),
    last_used_at: iso(lastUsedAt),
    // Every session has an end.
    expires_at: iso(expiresAt ?? createdAt),
    current: id === sessionId,
  };
}
