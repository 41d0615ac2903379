import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import { ApiError, Unreachable } from '../client/client.ts';
import { writeWhole } from '../lib/writeWhole.ts';
import { createCommand } from './command.ts';
import { type ConnectionOptions, connect } from './connection.ts';
import { CommandFailure, exitCodes } from './exit.ts';
import type { Io } from './io.ts';

interface Flags extends ConnectionOptions {
  file?: string;
  unset?: true;
}

/** The file to create where there is none. */
const newFile = 'svc.config.yaml';

/** `svc config set`: change one value in the file, and make the coordinator reload it. */
export function configSetCommand(io: Io): Command {
  return createCommand('set', 'Change a value in the configuration file and apply it', [
    "svc config set providers.defaults.rate_limit '{retry_after_seconds: 30, max_retries: 5}'",
    'svc config set providers.openai.rate_limit.max_concurrent 8',
    'svc config set jobs.max_pending --unset     remove the key, so that its default applies',
  ])
    .argument('<key>', 'path of the key, as svc config show prints it')
    .argument('[value]', 'as in YAML: 5, true, text, [a, b], {key: value}')
    .option('--unset', 'remove the key from the file')
    .option('--file <file>', 'the file (default: as for svc coordinator)')
    .action(async (key: string, value: string | undefined, _options: Flags, command: Command) => {
      const flags = command.optsWithGlobals<Flags>();
      if ((value === undefined) !== (flags.unset === true))
        throw new CommandFailure(exitCodes.usage, 'give either a value or --unset');
      const [{ loadConfig }, { changedConfigText }] = await Promise.all([
        import('../config/load.ts'),
        import('../config/edit.ts'),
      ]);
      const found = await loadConfig({ file: flags.file, env: io.env, cwd: io.cwd });
      const path = found.file ?? join(io.cwd, newFile);
      const text = found.file === null ? '' : await readFile(path, 'utf8');
      await writeWhole(path, changedConfigText(text, path, key, value ?? null));
      io.out.line(`${path}: ${key} ${value === undefined ? 'removed' : `is ${value}`}`);
      io.err.line(await reload(flags, key, io));
    });
}

/** The file is already changed, so a failing reload is reported but is not an error. */
async function reload(flags: Flags, key: string, io: Io): Promise<string> {
  try {
    const { changed, needs_restart: waiting } = await (await connect(flags, io)).reloadConfig();
    const isOf = (one: string): boolean => one === key || one.startsWith(`${key}.`);
    if (waiting.some(isOf)) return 'Takes effect after a restart of the coordinator.';
    if (changed.some((change) => isOf(change.key))) return 'In effect now.';
    return 'The running coordinator had this value already, or reads another file (svc config show --help).';
  } catch (error) {
    if (!(error instanceof ApiError) && !(error instanceof Unreachable)) throw error;
    return `Takes effect after the next start or reload: ${error.message}`;
  }
}
