import type { Command } from 'commander';
import type { Client } from '../client/client.ts';
import { safeJson } from '../lib/plainText.ts';
import type { Screen } from '../lib/screen.ts';
import { type ConnectionOptions, connect } from './connection.ts';
import type { Io } from './io.ts';

/** A listing command. */
export interface List<Answer, Row, Flags> {
  ask: (client: Client, flags: Flags) => Promise<Answer>;
  rows: (answer: Answer) => readonly Row[];
  /** Printed on standard error for an empty list, with a hint. */
  none: string;
  /** @param now epoch ms. */
  table: (rows: readonly Row[], screen: Screen, now: number) => string[];
  /** Printed on standard error below the table; null for nothing. */
  remark?: (answer: Answer) => string | null;
}

/** Make `command`, which already has its own options, show a list: as a table, or with `--json` as the API's answer. */
export function listCommand<Answer, Row, Flags extends ConnectionOptions>(
  io: Io,
  command: Command,
  { ask, rows, none, table, remark }: List<Answer, Row, Flags>,
): Command {
  return command.option('--json', 'print the JSON of the API').action(async () => {
    const flags = command.optsWithGlobals<Flags & { json?: true }>();
    const answer = await ask(await connect(flags, io), flags);
    if (flags.json) return io.out.line(safeJson(answer));
    const shown = rows(answer);
    if (shown.length === 0) return io.err.line(none);
    io.out.lines(table(shown, io.out, Date.now()));
    const rest = remark?.(answer) ?? null;
    if (rest !== null) io.err.line(io.err.paint('dim', rest));
  });
}
