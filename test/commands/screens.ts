import { Readable, Writable } from 'node:stream';
import type { Io } from '../../src/commands/io.ts';
import { createScreen } from '../../src/lib/screen.ts';

/** An `Io` whose screens keep what is written; a terminal of `columns` where that is given. */
export function fakeIo(
  over: { env?: NodeJS.ProcessEnv; cwd?: string; columns?: number; rows?: number; input?: string } = {},
): {
  io: Io;
  out: () => string;
  err: () => string;
} {
  const { env = {}, cwd = '/', columns, rows, input = '' } = over;
  let out = '';
  let err = '';
  const stream = (add: (text: string) => void) => ({
    isTTY: columns !== undefined,
    columns,
    rows,
    write: (text: string) => add(text),
  });
  const io: Io = {
    env,
    cwd,
    out: createScreen(
      stream((text) => {
        out += text;
      }),
      env,
    ),
    err: createScreen(
      stream((text) => {
        err += text;
      }),
      env,
    ),
    stdout: new Writable({
      decodeStrings: false,
      write(part, _encoding, done) {
        out += String(part);
        done();
      },
    }),
    stdin: Readable.from(input === '' ? [] : [Buffer.from(input)]),
  };
  return { io, out: () => out, err: () => err };
}
