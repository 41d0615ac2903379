import { resolve } from 'node:path';
import type { Command } from 'commander';
import { safeJson } from '../lib/plainText.ts';
import { createCommand } from './command.ts';
import { CommandFailure, exitCodes } from './exit.ts';
import { type Io, processIo } from './io.ts';

/** How the commands that work on a data folder find it. */
export interface DataFolderFlags {
  config?: string;
  dataDir?: string;
}

interface Flags extends DataFolderFlags {
  check?: true;
  json?: true;
}

/** `svc backup`: the data folder as one file, while the coordinator runs or not. */
export function backupCommand(io: Io = processIo()): Command {
  return createCommand('backup', 'Copy the data folder into one file, also while the coordinator runs', [
    'svc backup /backup                       a file in this folder, named after the time',
    'svc backup /backup/svc.tar.gz',
    'svc backup --data-dir /var/lib/svc /backup',
    'svc backup --check /backup/svc.tar.gz    read a backup and compare every checksum',
  ])
    .argument('<path>', 'a new file, or a folder')
    .option('--config <file>', 'configuration file (default: as for svc coordinator)')
    .option('--data-dir <folder>', 'the data folder (default: as for svc coordinator)')
    .option('--check', 'check an existing backup, and write nothing')
    .option('--json', 'print the result as JSON')
    .action(async (target: string, _options: Flags, command: Command) => {
      const flags = command.optsWithGlobals<Flags>();
      const path = resolve(io.cwd, target);
      const { bytes, contents, ...made } = flags.check
        ? await check(path)
        : await make(await dataFolderOf(flags, io), path);
      const { files, ...about } = contents;
      if (flags.json) io.out.line(safeJson({ path: made.path, bytes, ...about, files: files.length }));
      else
        io.out.line(
          `${made.path}: ${files.length} files, ${sizeText(bytes)}, up to record ${about.seq}, taken at ${about.taken_at}${flags.check ? ': good' : ''}`,
        );
    });
}

function sizeText(bytes: number): string {
  const kib = bytes / 1024;
  return kib < 1024 ? `${Math.ceil(kib)} KiB` : `${(kib / 1024).toFixed(1)} MiB`;
}

/** The data folder that a coordinator with this configuration uses. */
export async function dataFolderOf({ config, dataDir }: DataFolderFlags, { env, cwd }: Io): Promise<string> {
  const { loadConfig } = await import('../config/load.ts');
  const overrides = dataDir === undefined ? {} : { dataDir };
  const loaded = await loadConfig({ file: config, env, cwd, overrides });
  return loaded.config.store.path;
}

async function make(folder: string, path: string) {
  const { BackupExists, NothingStored, writeBackup } = await import('../backup/backup.ts');
  try {
    return await writeBackup(folder, path, new Date());
  } catch (error) {
    if (error instanceof BackupExists || error instanceof NothingStored)
      throw new CommandFailure(exitCodes.refused, error.message);
    throw error;
  }
}

async function check(path: string) {
  const { checkBackup } = await import('../backup/restore.ts');
  const { contents, bytes } = await checkBackup(path);
  return { path, bytes, contents };
}
