import type { Writable } from 'node:stream';
import { createScreen, type Screen } from '../lib/screen.ts';

/** The environment of a command. */
export interface Io {
  env: NodeJS.ProcessEnv;
  cwd: string;
  /** For results. */
  out: Screen;
  /** For everything else. */
  err: Screen;
  /** The stream of `out`, for large results: written no faster than it is read. */
  stdout: Writable;
  /** `isTTY`: a person can answer a question. */
  stdin: AsyncIterable<Uint8Array | string> & { isTTY?: boolean | undefined };
}

/** This process. */
export function processIo(): Io {
  const { env } = process;
  return {
    env,
    cwd: process.cwd(),
    out: createScreen(process.stdout, env),
    err: createScreen(process.stderr, env),
    stdout: process.stdout,
    stdin: process.stdin,
  };
}
