import { type AuditEntry, auditActions } from '../../../domain/audit.ts';
import type { WireAuditEntry } from '../../../domain/wire/audit.ts';
import { iso } from '../../../domain/wire/iso.ts';
import { pageParameters, text, time, words } from '../../query.ts';
import { defineRoute, type Route } from '../../route.ts';
import { auditActionShape, auditListShape } from './shape.ts';

const listAudit = defineRoute({
  method: 'GET',
  path: '/api/audit',
  role: 'admin',
  name: 'listAudit',
  tag: 'Keys',
  summary: 'Who did what',
  description:
    'The audit log, newest first: changes by operators and admins, changes of many jobs by anybody, and what was refused for a role or to a worker. Nothing changes or removes an entry before `retention.audit_days` are over. The same refusal again (key, action, target) within a minute is counted: one entry with `details.count` at its end.',

  query: {
    since: time({ example: '2026-11-21T09:00:00Z' }),
    until: time(),
    actor: text({ description: 'Id or name of the key.' }),
    action: words(
      auditActions,
      {
        description: 'One or more, separated by commas or repeated.',
        example: ['key.created', 'key.revoked'],
      },
      auditActionShape.schema,
    ),
    ...pageParameters,
  },
  answers: {
    200: { description: 'One page of entries.', shape: auditListShape },
  },
  problems: ['StoreUnavailable'],

  handle: async ({ query }, { coordinator: { audit } }) => {
    const { action: actions, limit, offset, ...filter } = query;
    const { entries, total, totalCapped } = await audit.page({ ...filter, actions, limit, offset });
    return {
      json: {
        entries: entries.map(presentEntry),
        total,
        ...(totalCapped ? { total_capped: true } : {}),
        limit,
        offset,
      },
    };
  },
});

/** /api/audit: who did what. */
export const auditRoutes: readonly Route[] = [listAudit];

function presentEntry({ seq, at, by, action, target, details, outcome }: AuditEntry): WireAuditEntry {
  const { actor, address } = by;
  return {
    seq,
    at: iso(at),
    actor: actor === null ? null : { key_id: actor.keyId, name: actor.name, role: actor.role },
    action,
    target,
    from: { address },
    details,
    outcome,
  };
}
