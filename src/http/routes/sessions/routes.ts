import type { Session } from '../../../auth/sessions.ts';
import { CoordinatorError } from '../../../domain/errors.ts';
import { type Principal, roleMay } from '../../../domain/key.ts';
import { iso } from '../../../domain/wire/iso.ts';
import type { WireSession } from '../../../domain/wire/key.ts';
import { locationHeader } from '../../openapi/headers.ts';
import { defineRoute, type Route } from '../../route.ts';
import { newSessionShape, sessionListShape, sessionShape } from './shape.ts';

const listSessions = defineRoute({
  method: 'GET',
  path: '/api/sessions',
  role: 'viewer',
  name: 'listSessions',
  tag: 'Keys',
  summary: 'List the sessions of your key',
  description: 'Admins get those of every key. Sessions that have ended are not listed.',

  answers: {
    200: { description: 'Every session, oldest first, without secrets.', shape: sessionListShape },
  },

  holdsSecret: true,
  handle: ({ principal }, { keys }) => {
    const sessions = keys.sessions.list(scopeOf(principal)).map((session) => present(session, principal));
    return { json: { sessions, total: sessions.length } };
  },
});

const sessionLocation = locationHeader('session', '/api/sessions/');

const createSession = defineRoute({
  method: 'POST',
  path: '/api/sessions',
  role: 'viewer',
  name: 'createSession',
  tag: 'Keys',
  summary: 'Make a session',
  description:
    'A key of its own for a browser, with the role of the key that makes it. Requests with it count as requests of that key. It ends after 30 days, or with the key or the secret that made it, or when it is ended by itself. A key has at most 50 sessions: the oldest ends when one more is made. A session cannot make another one.',

  answers: {
    201: {
      description: 'The session. Its secret, `key`, is shown only here.',
      shape: newSessionShape,
      headers: sessionLocation,
    },
  },
  problems: ['StoreUnavailable'],

  holdsSecret: true,
  handle: async ({ principal, doer }, { keys }) => {
    const { key, session } = await keys.sessions.create(principal, doer());
    const { id, role, key_id, created_at, expires_at } = present(session, principal);
    return {
      status: 201,
      headers: { Location: `/api/sessions/${id}` },
      json: { id, role, key, key_id, created_at, expires_at },
    };
  },
});

const endCurrentSession = defineRoute({
  method: 'DELETE',
  path: '/api/sessions/current',
  role: 'viewer',
  name: 'endCurrentSession',
  tag: 'Keys',
  summary: 'End the session that sends this request',
  description:
    'It is rejected from now on, and its sockets are closed within a second. 404 when the request came with a key.',

  answers: {
    200: { description: 'The session that was ended.', shape: sessionShape },
  },
  problems: ['NotFound', 'StoreUnavailable'],

  holdsSecret: true,
  outlivesSession: true,
  handle: async ({ principal, doer }, { keys }) => {
    const { sessionId, keyId } = principal;
    if (sessionId === undefined) {
      throw new CoordinatorError('not_found', 'This request came with a key, not with a session');
    }
    return { json: present(await keys.sessions.end(sessionId, keyId, doer()), principal) };
  },
});

const endSession = defineRoute({
  method: 'DELETE',
  path: '/api/sessions/:id',
  role: 'viewer',
  name: 'endSession',
  tag: 'Keys',
  summary: 'End a session',
  description: 'One of your key; admins may end any. Its sockets are closed within a second.',

  params: { id: { description: "The session's id.", schema: { type: 'string' } } },
  answers: {
    200: { description: 'The session that was ended.', shape: sessionShape },
  },
  problems: ['NotFound', 'StoreUnavailable'],

  holdsSecret: true,
  outlivesSession: true,
  handle: async ({ params: { id }, principal, doer }, { keys }) => ({
    json: present(await keys.sessions.end(id, scopeOf(principal), doer()), principal),
  }),
});

/** /api/sessions: a key makes, lists and ends its sessions; admins list and end those of every key. */
export const sessionRoutes: readonly Route[] = [listSessions, createSession, endCurrentSession, endSession];

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
