import type { Command } from 'commander';
import { auditActions } from '../domain/audit.ts';
import type { WireAuditEntry, WireAuditList } from '../domain/wire/audit.ts';
import { actorText, detailsText, targetText } from '../domain/wire/auditText.ts';
import { plainLine } from '../lib/plainText.ts';
import type { Screen } from '../lib/screen.ts';
import type { Column } from '../lib/table.ts';
import { collect, count, createCommand, pastTime } from './command.ts';
import type { ConnectionOptions } from './connection.ts';
import { type Io, processIo } from './io.ts';
import { listCommand } from './list.ts';
import { sheetTable, whenText } from './sheet.ts';

interface AuditFlags extends ConnectionOptions {
  since?: string;
  until?: string;
  actor?: string;
  action?: string[];
  limit?: number;
}

const limitMax = 1000;

/** `svc audit`: who did what. Requires an admin key. */
export function auditCommand(io: Io = processIo()): Command {
  const command = createCommand('audit', 'Show who did what, and what was refused, newest first', [
    'svc audit --since 2h',
    'svc audit --actor nightly --action role.refused',
    'svc audit --action key.created,key.revoked --since 2026-11-01 --json',
  ])
    .option(
      '--since <time>',
      'entries since then: 30m, 2h, 7d, or a time such as 2026-11-21T09:00:00Z',
      pastTime,
    )
    .option('--until <time>', 'entries before then', pastTime)
    .option('--actor <key>', 'name or id of the key that did it')
    .option('--action <action>', `${auditActions.join(', ')}; comma-separated or repeated`, collect)
    .option('--limit <n>', `maximum number of entries, 1 to ${limitMax} (default: 50)`, count(1, limitMax));
  return listCommand<WireAuditList, WireAuditEntry, AuditFlags>(io, command, {
    ask: (client, { since: from, until, actor, action, limit }) =>
      client.audit({ since: from, until, actor, action: action?.join(','), limit }),
    rows: ({ entries }) => entries,
    none: 'No entries.',
    table: auditTable,
    remark: ({ entries, total, total_capped: isCapped }) =>
      total > entries.length
        ? `${entries.length} of ${total}${isCapped === true ? ' or more' : ''}; --limit shows more`
        : null,
  });
}

function auditTable(entries: readonly WireAuditEntry[], screen: Screen, now: number): string[] {
  const columns: Column<WireAuditEntry>[] = [
    { header: 'WHEN', value: ({ at }) => whenText(at, now), align: 'right' },
    { header: 'KEY', value: (entry) => plainLine(actorText(entry)), shrinkTo: 8 },
    { header: 'ROLE', value: ({ actor }) => actor?.role ?? '-' },
    { header: 'ACTION', value: ({ action }) => action },
    { header: 'TARGET', value: (entry) => plainLine(targetText(entry)), shrinkTo: 16 },
    { header: 'FROM', value: ({ from }) => from.address ?? '-' },
    { header: 'DETAILS', value: (entry) => plainLine(detailsText(entry)) || '-', shrinkTo: 12 },
  ];
  return sheetTable(columns, entries, screen);
}
