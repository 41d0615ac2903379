import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { CommandFailure, exitCodes } from '../exit.ts';
import type { Io } from '../io.ts';

/** A key has fewer. */
const lengthMax = 10_000;

/** One line from standard input, without the spaces around it. A terminal asks for it and does not show it. */
export async function readSecret(question: string, io: Io): Promise<string> {
  if (io.stdin === process.stdin && process.stdin.isTTY) return askHidden(question, io);
  let text = '';
  const decoder = new TextDecoder();
  for await (const part of io.stdin) {
    text += typeof part === 'string' ? part : decoder.decode(part, { stream: true });
    if (text.length > lengthMax)
      throw new CommandFailure(exitCodes.usage, 'standard input is no key: too long');
  }
  return text.trim();
}

async function askHidden(question: string, io: Io): Promise<string> {
  io.err.write(question);
  // Readline handles Ctrl-C and corrections; what it would show goes nowhere.
  const output = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output, terminal: true });
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  lines.once('line', resolve);
  lines.once('close', () => reject(new CommandFailure(exitCodes.usage, 'no key was given')));
  try {
    return (await promise).trim();
  } finally {
    lines.close();
    io.err.line();
  }
}
