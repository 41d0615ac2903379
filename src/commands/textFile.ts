import { isUtf8 } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { messageOf } from '../domain/errors.ts';
import { CommandFailure, exitCodes } from './exit.ts';
import type { Io } from './io.ts';

/**
 * The text of a file named by an option, `-` for standard input, without a byte order mark.
 * @param option its name for messages: `--file`.
 * @throws CommandFailure (usage) when it cannot be read or is not UTF-8: the model would get another text.
 */
export async function readTextFile(option: string, file: string, io: Io): Promise<string> {
  const bytes =
    file === '-' ? await readAll(io.stdin) : await readFile(resolve(io.cwd, file)).catch(unreadable);
  if (!isUtf8(bytes)) throw new CommandFailure(exitCodes.usage, `${option}: ${file} is not UTF-8`);
  return bytes.toString('utf8').replace(/^\ufeff/, '');

  function unreadable(error: unknown): never {
    throw new CommandFailure(exitCodes.usage, `${option}: ${file} cannot be read: ${messageOf(error)}`);
  }
}

async function readAll(stream: Io['stdin']): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}
