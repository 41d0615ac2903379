import { isUtf8 } from 'node:buffer';
import { copyFile, mkdir, readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { variable } from '../../config/environment.ts';
import { messageOf } from '../../domain/errors.ts';
import { commandElsewhere } from '../../lib/ownCommand.ts';
import { isPackaged } from '../../lib/projectFolder.ts';
import { replacedFile } from '../../lib/replacedFile.ts';
import { settingsPath } from '../../mcp/bridge/settings.ts';
import { CommandFailure, exitCodes } from '../exit.ts';
import type { Io } from '../io.ts';
import { type ClientFile, type ClientName, clientFile, type Entry } from './clients.ts';
import { entryText, withEntry } from './merge.ts';

/** Settings of a client are far smaller; Claude Code keeps its history there too. */
const bytesMax = 64 * 1024 ** 2;

/**
 * Add `svc mcp` to the settings of a client, or print what would be added. The key is not part of it.
 * @throws CommandFailure when the file cannot be read, understood or written; it is unchanged then.
 */
export async function install(
  name: ClientName,
  { isPrinted }: { isPrinted: boolean },
  io: Io,
): Promise<void> {
  const file = clientFile(name, { env: io.env });
  const entry = entryOf(io.env);
  if (isPrinted) {
    io.err.line(`For ${file.title}, in ${file.path}:`);
    io.out.write(entryText(file, entry));
    return;
  }
  const text = await readSettings(file);
  const change = withEntry(text ?? '', file, entry);
  if (change.kind === 'refused') {
    const advice = `Nothing was changed. The entry, to put there by hand:\n\n${entryText(file, entry)}`;
    throw new CommandFailure(exitCodes.refused, `${file.path} ${change.why}. ${advice}`);
  }
  if (change.text === text) io.out.line(`${file.title} has it already: ${file.path}`);
  else await write(file, text, change.text, io);
  io.out.line(file.next);
  if (!(await exists(settingsPath(io.env)))) io.out.line('Store a key for it: svc mcp --set-key');
}

/**
 * How to start this program from a window, whose PATH is not that of a shell: by the path of Node and of the program, or by
 * npx where that is where it came from.
 */
function entryOf(env: NodeJS.ProcessEnv): Entry {
  const folder = variable(env, 'XDG_CONFIG_HOME');
  const passed: Record<string, string> = folder === null ? {} : { XDG_CONFIG_HOME: folder };
  const [npx = 'npx', ...words] = commandElsewhere.split(' ');
  if (isPackaged && env.npm_command === 'exec')
    return { command: npx, args: ['-y', ...words, 'mcp'], env: passed };
  return { command: process.execPath, args: [process.argv[1] ?? 'svc', 'mcp'], env: passed };
}

/** null when there is no such file yet. */
async function readSettings({ path }: ClientFile): Promise<string | null> {
  try {
    const { size } = await stat(path);
    if (size > bytesMax) throw new Error(`it has more than ${bytesMax} bytes`);
    const bytes = await readFile(path);
    // Anything else would be written back as other characters.
    if (!isUtf8(bytes)) throw new Error('it is not UTF-8');
    return bytes.toString();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw new CommandFailure(exitCodes.refused, `${path} cannot be read: ${messageOf(error)}`);
  }
}

async function write(
  { path, title }: ClientFile,
  before: string | null,
  after: string,
  io: Io,
): Promise<void> {
  const backup = `${path}.before-svc`;
  try {
    await mkdir(dirname(path), { recursive: true });
    if (before !== null) await copyFile(path, backup);
    const file = await replacedFile(path);
    await file.write(after);
    await file.finish();
  } catch (error) {
    throw new CommandFailure(exitCodes.refused, `${path} cannot be written: ${messageOf(error)}`);
  }
  io.out.line(`Added svc to ${title}: ${path}`);
  if (before !== null) io.out.line(`The file as it was: ${backup}`);
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
