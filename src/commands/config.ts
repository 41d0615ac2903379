import type { Command } from 'commander';
import { leavesOf } from '../config/leaves.ts';
import type { LoadedConfig } from '../config/load.ts';
import { presentConfig } from '../config/present.ts';
import { safeJson } from '../lib/plainText.ts';
import type { Screen } from '../lib/screen.ts';
import type { Column } from '../lib/table.ts';
import { createCommand } from './command.ts';
import { configSetCommand } from './configSet.ts';
import { type Io, processIo } from './io.ts';
import { sheetTable } from './sheet.ts';

/** `svc config`: the configuration of this machine, without starting anything. */
export function configCommand(io: Io = processIo()): Command {
  return createCommand('config', 'Check, show and change the configuration of this machine', [
    'svc config check',
    'svc config show',
    'svc config set providers.openai.rate_limit.max_concurrent 8',
  ])
    .addCommand(checkCommand(io))
    .addCommand(showCommand(io))
    .addCommand(configSetCommand(io));
}

function checkCommand(io: Io): Command {
  return createCommand('check', 'Check a configuration file: every problem with its line', [
    'svc config check',
    'svc config check /etc/svc.config.yaml && systemctl reload svc-coordinator',
  ])
    .argument('[file]', 'the file (default: as for svc coordinator)')
    .action(async (file: string | undefined) => {
      const loaded = await load(file, io);
      warn(loaded, io);
      const { length } = loaded.warnings;
      const found = length === 0 ? 'ok' : length === 1 ? 'ok, 1 warning' : `ok, ${length} warnings`;
      io.out.line(`${loaded.file ?? 'no file, all values are defaults'}: ${found}`);
    });
}

function showCommand(io: Io): Command {
  return createCommand('show', 'Show every value and its source; secrets are masked', [
    'svc config show',
    'svc config show --json | jq .config.jobs',
  ])
    .argument('[file]', 'the file (default: as for svc coordinator)')
    .option('--json', 'print JSON: config, sources, file, warnings')
    .action(async (file: string | undefined, { json }: { json?: true }) => {
      const loaded = await load(file, io);
      const { sources, warnings } = loaded;
      const config = presentConfig(loaded.config);
      if (json) return io.out.line(safeJson({ config, sources, file: loaded.file, warnings }));
      warn(loaded, io);
      io.out.lines(valueTable(loaded, io.out));
    });
}

/** The parser and the schema are only loaded when needed: every command starts faster without them. */
async function load(file: string | undefined, { env, cwd }: Io): Promise<LoadedConfig> {
  const { loadConfig } = await import('../config/load.ts');
  return loadConfig({ file, env, cwd });
}

function warn({ warnings }: LoadedConfig, { err }: Io): void {
  for (const warning of warnings) err.line(`${err.paint('yellow', 'warning:')} ${warning}`);
}

interface Row {
  key: string;
  value: string;
  source: string;
}

function valueTable({ config, sources }: LoadedConfig, screen: Screen): string[] {
  const rows = leavesOf(presentConfig(config)).map(({ path, value }) => ({
    key: path,
    value: shown(value),
    source: sources[path] ?? '',
  }));
  const columns: Column<Row>[] = [
    { header: 'KEY', value: ({ key }) => key },
    { header: 'VALUE', value: ({ value }) => value, shrinkTo: 12 },
    {
      header: 'FROM',
      value: ({ source }) => source,
      paint: (text, { source }) => (source === 'default' ? screen.paint('dim', text) : text),
    },
  ];
  return sheetTable(columns, rows, screen);
}

function shown(value: unknown): string {
  if (value === null) return '-';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
