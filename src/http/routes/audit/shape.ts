import { type AuditAction, type AuditDetails, auditActions } from '../../../domain/audit.ts';
import type { WireAuditEntry, WireAuditList } from '../../../domain/wire/audit.ts';
import { roleShape, timeShape } from '../../shape/common.ts';
import {
  count,
  fields,
  integer,
  list,
  literal,
  loosely,
  named,
  nullable,
  object,
  oneOf,
  optional,
  type Shape,
  text,
} from '../../shape/shape.ts';

export const auditActionShape: Shape<AuditAction> = named('AuditAction', oneOf(auditActions));

const auditEntryShape = named(
  'AuditEntry',
  object<WireAuditEntry>({
    seq: integer({ description: 'Its place in the log; it only rises.', minimum: 1 }),
    at: timeShape,
    actor: nullable(
      object({
        key_id: text('`environment` is that of `SVC_API_KEY`.'),
        name: nullable(text()),
        role: roleShape,
      }),
      'The key; null for a signal to the process, and for the first start.',
    ),
    action: auditActionShape,
    target: object(
      {
        kind: oneOf([
          'key',
          'session',
          'worker',
          'provider',
          'config',
          'jobs',
          'queue',
          'run',
          'file',
          'webhook',
          'route',
        ]),
        id: nullable(text()),
        name: nullable(text()),
      },
      'The target. The id of a route is its method and path, as this document has them but for `:id`.',
    ),
    from: object({ address: nullable(text(), 'IP address, see `http.trusted_proxies`.') }),
    details: loosely<AuditDetails>(fields('Figures, names and codes; never a secret or job content.')),
    outcome: oneOf(['done', 'refused']),
  }),
);

export const auditListShape = named(
  'AuditList',
  object<WireAuditList>({
    entries: list(auditEntryShape),
    total: count('How many match the filters.'),
    total_capped: optional(
      literal(true, 'There are more than `total`; counting stopped there. Left out otherwise.'),
    ),
    limit: integer({ minimum: 1, maximum: 1000 }),
    offset: count(),
  }),
);
