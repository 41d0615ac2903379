import { type DestinationStream, type Logger, pino } from 'pino';
import { loggedError } from './loggedError.ts';
import { readableLine } from './logLine.ts';

export type { Logger };

/**
 * A logger on standard output: JSON, or lines for people on a terminal. Callers log names, ids, counts and durations;
 * never a prompt, an input, an output or a key. The redaction is a second net under that rule. Pass an error as `err`,
 * whole: `loggedError` picks what may be logged.
 */
export function createLogger(level: string): Logger {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: loggedError },
    redact: {
      paths: [
        'authorization',
        'key',
        'apiKey',
        'secret',
        'prompt',
        'input',
        'messages',
        'output',
        '*.authorization',
      ],
      censor: '[hidden]',
    },
  };
  return process.stdout.isTTY === true ? pino(options, forPeople(process.stdout)) : pino(options);
}

/** Log lines on their way to a terminal. */
function forPeople(stream: NodeJS.WriteStream): DestinationStream {
  return { write: (json) => void stream.write(`${readableLine(json, stream.hasColors())}\n`) };
}

/** Logs nothing: for tests and for parts that run inside another program. */
export const silent: Logger = pino({ level: 'silent' });
