import { once } from 'node:events';
import { constants } from 'node:fs';
import { access, realpath, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { messageOf } from '../../domain/errors.ts';
import { plainText } from '../../lib/plainText.ts';
import { type GrowingFile, growingFile, replacedFile } from '../../lib/replacedFile.ts';
import { CommandFailure, exitCodes } from '../exit.ts';
import type { Io } from '../io.ts';

/** Where answers go. */
export interface Destination {
  /** Whether they are written as they come, not all at the end. */
  grows: boolean;
  open(): Promise<GrowingFile>;
}

export interface DestinationOptions {
  /** undefined: standard output. */
  output: string | undefined;
  follow: boolean;
  /** The file that is read, which must not be overwritten; null for none. */
  input: string | null;
  /** Called before something is written to a terminal. */
  onTerminal?: (() => void) | undefined;
}

/** @throws CommandFailure (usage) when the file cannot be written: better now than after hours. */
export async function destinationOf(
  { output, follow, input, onTerminal }: DestinationOptions,
  io: Io,
): Promise<Destination> {
  if (output === undefined || output === '-')
    return { grows: true, open: async () => standardOutput(io, onTerminal) };
  const path = resolve(io.cwd, output);
  const unusable = (why: string): CommandFailure =>
    new CommandFailure(exitCodes.usage, `--output ${output} cannot be written: ${why}`);
  const found = await stat(path).catch(() => null);
  if (found?.isDirectory()) throw unusable('it is a folder');
  if (input !== null && found !== null && (await realpath(path)) === (await realpath(input)))
    throw unusable('it is the file with the prompts');
  await access(dirname(path), constants.W_OK).catch((error: unknown) => {
    throw unusable(messageOf(error));
  });
  const open = (): Promise<GrowingFile> => (follow ? growingFile(path) : replacedFile(path));
  return { grows: follow, open: () => withNames(open, output) };
}

/** Failures name the file. */
async function withNames(open: () => Promise<GrowingFile>, output: string): Promise<GrowingFile> {
  const named = async <T>(done: Promise<T>): Promise<T> =>
    done.catch((error: unknown) => {
      throw new CommandFailure(exitCodes.failed, `${output} cannot be written: ${messageOf(error)}`);
    });
  const file = await named(open());
  return {
    write: (text) => named(file.write(text)),
    flush: () => named(file.flush()),
    finish: () => named(file.finish()),
    discard: () => file.discard(),
  };
}

/** Unchanged for a program, harmless for a terminal. Written no faster than it is read. */
function standardOutput(io: Io, onTerminal: (() => void) | undefined): GrowingFile {
  const nothing = async (): Promise<void> => {};
  return {
    write: async (text) => {
      if (io.out.isTerminal) {
        onTerminal?.();
        io.out.write(plainText(text));
      } else if (!io.stdout.write(text)) await once(io.stdout, 'drain');
    },
    flush: nothing,
    finish: nothing,
    discard: nothing,
  };
}
