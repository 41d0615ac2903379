import type { Writable } from 'node:stream';
import { createScreen, type Screen } from '../lib/screen.ts';

/** What a command has of the world around it. */
export interface Io {
  env: NodeJS.ProcessEnv;
  cwd: string;
  /** What was asked for. */
  out: Screen;
  /** Everything said on the way. */
  err: Screen;
  /** The stream of `out`, for what nobody should hold whole: it is written no faster than it is read. */
  stdout: Writable;
  stdin: AsyncIterable<Uint8Array | string>;
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
