import type { Audit } from '../../../coordinator/core/index.ts';
import { type AuditEntry, auditActions } from '../../../domain/audit.ts';
import type { WireAuditEntry, WireAuditList } from '../../../domain/wire/audit.ts';
import { iso } from '../../../domain/wire/iso.ts';
import type { AuditQuery } from '../../../store/store.ts';
import { Query, type RawQuery } from '../../query.ts';
import type { Route } from '../../route.ts';

const limitDefault = 50;
const limitMax = 1000;

/** /api/audit: who did what. */
export function auditRoutes(audit: Audit): Route[] {
  return [
    {
      method: 'GET',
      path: '/api/audit',
      role: 'admin',
      handle: async ({ query: raw }) => {
        const query = parseAudit(raw);
        const { entries, total, totalCapped } = await audit.page(query);
        const list: WireAuditList = {
          entries: entries.map(presentEntry),
          total,
          ...(totalCapped ? { total_capped: true } : {}),
          limit: query.limit,
          offset: query.offset,
        };
        return { json: list };
      },
    },
  ];
}

/** The query of GET /api/audit. @throws CoordinatorError invalid_request. */
function parseAudit(raw: RawQuery): AuditQuery {
  const query = new Query(raw);
  const parsed = {
    since: query.time('since'),
    until: query.time('until'),
    actor: query.text('actor'),
    actions: query.words('action', auditActions),
    limit: query.integer('limit', limitDefault, 1, limitMax),
    offset: query.integer('offset', 0, 0, Number.MAX_SAFE_INTEGER),
  };
  query.done();
  return parsed;
}

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
