import { resolve } from 'node:path';
import type { Command } from 'commander';
import { safeJson } from '../lib/plainText.ts';
import { type DataFolderFlags, dataFolderOf } from './backup.ts';
import { createCommand } from './command.ts';
import { CommandFailure, exitCodes } from './exit.ts';
import { type Io, processIo } from './io.ts';

interface Flags extends DataFolderFlags {
  replace?: true;
  json?: true;
}

/** `svc restore`: a backup back into the data folder of a coordinator that does not run. */
export function restoreCommand(io: Io = processIo()): Command {
  return createCommand('restore', 'Put a backup into the data folder of a stopped coordinator', [
    'svc restore /backup/svc.tar.gz',
    'svc restore --data-dir /var/lib/svc /backup/svc.tar.gz',
    'svc restore --replace /backup/svc.tar.gz    what is in the folder moves to a folder inside it',
  ])
    .argument('<file>', 'the backup')
    .option('--config <file>', 'configuration file (default: as for svc coordinator)')
    .option('--data-dir <folder>', 'the data folder (default: as for svc coordinator)')
    .option('--replace', 'also if the folder is not empty: its contents move to before-restore-<time> in it')
    .option('--json', 'print the result as JSON')
    .action(async (file: string, _options: Flags, command: Command) => {
      const flags = command.optsWithGlobals<Flags>();
      const folder = await dataFolderOf(flags, io);
      const path = resolve(io.cwd, file);
      const { contents, former } = await restore(path, folder, flags.replace === true);
      const { files, ...about } = contents;
      if (flags.json) {
        io.out.line(safeJson({ folder, former, ...about, files: files.length }));
        return;
      }
      io.out.line(
        `${folder}: as it was at ${about.taken_at}, ${files.length} files, up to record ${about.seq}`,
      );
      if (former !== null) io.out.line(`What was in it is now in ${former}`);
    });
}

async function restore(path: string, folder: string, replace: boolean) {
  const { FolderLocked, FolderNotEmpty, restoreBackup } = await import('../backup/restore.ts');
  try {
    return await restoreBackup(path, folder, replace ? new Date() : null);
  } catch (error) {
    if (error instanceof FolderNotEmpty)
      throw new CommandFailure(exitCodes.refused, `${error.message}. --replace moves what is in it aside`);
    if (error instanceof FolderLocked) throw new CommandFailure(exitCodes.refused, error.message);
    throw error;
  }
}
