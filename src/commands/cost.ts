import { type Command, Option } from 'commander';
import type { CostPeriod } from '../client/client.ts';
import { type BreakdownName, breakdowns, periodNames } from '../domain/costReport.ts';
import { safeJson } from '../lib/plainText.ts';
import { createCommand } from './command.ts';
import { type ConnectionOptions, connect } from './connection.ts';
import { breakdownTable, periodText, summarySheet } from './costSheet.ts';
import { type Io, processIo } from './io.ts';

interface Flags extends ConnectionOptions, CostPeriod {
  by?: BreakdownName;
  json?: true;
}

/** `svc cost`: how much was spent, and on what. */
export function costCommand(io: Io = processIo()): Command {
  return createCommand(
    'cost',
    'Show what was spent in a day, a week, a month or between two dates, and on what',
    ['svc cost summary', 'svc cost breakdown --by model --period month'],
  )
    .addCommand(summaryCommand(io))
    .addCommand(breakdownCommand(io));
}

function summaryCommand(io: Io): Command {
  const command = createCommand('summary', 'Show what a period has cost, in total and over time', [
    'svc cost summary',
    'svc cost summary --period month --tz Europe/Berlin',
    'svc cost summary --from 2026-11-01 --to 2026-11-15',
    'svc cost summary --json',
  ]);
  return withPeriod(command).action(async (_options: Flags, itself: Command) => {
    const { json, period, from, to, tz, ...flags } = itself.optsWithGlobals<Flags>();
    const summary = await (await connect(flags, io)).costSummary({ period, from, to, tz });
    if (json) return io.out.line(safeJson(summary));
    io.out.lines(summarySheet(summary, io.out));
  });
}

function breakdownCommand(io: Io): Command {
  const command = createCommand('breakdown', 'Show what it was spent on, most expensive first', [
    'svc cost breakdown',
    'svc cost breakdown --by tag --period week',
    'svc cost breakdown --by model --from 2026-11-01 --to 2026-11-15',
    'svc cost breakdown --by worker --json',
  ]);
  return withPeriod(command)
    .addOption(
      new Option('--by <what>', 'how to group (default: provider, each with its models)').choices(breakdowns),
    )
    .action(async (_options: Flags, itself: Command) => {
      const { json, period, from, to, tz, by, ...flags } = itself.optsWithGlobals<Flags>();
      const breakdown = await (await connect(flags, io)).costBreakdown({ period, from, to, tz, by });
      if (json) return io.out.line(safeJson(breakdown));
      const table = breakdownTable(breakdown, io.out);
      if (table === null) return io.err.line(`No attempt has ended yet (${periodText(breakdown)}).`);
      io.out.lines(table);
      io.err.line(io.err.paint('dim', periodText(breakdown)));
    });
}

function withPeriod(command: Command): Command {
  return command
    .addOption(
      new Option('--period <period>', 'calendar period, up to now (default: day)').choices(periodNames),
    )
    .addOption(
      new Option('--from <date>', 'first day, such as 2026-11-01, instead of a period').conflicts('period'),
    )
    .option('--to <date>', 'last day, included')
    .option('--tz <zone>', 'time zone of the days, such as Europe/Berlin (default: UTC)')
    .option('--json', 'print the JSON of the API');
}
