import { type Logger, pino } from 'pino';
import { loggedError } from './loggedError.ts';

export type { Logger };

/**
 * A JSON logger on standard output. Callers pass names, ids, counts and durations; never a prompt, an input, an
 * output or a key. The redaction is a second net under that rule. An error is passed as `err`, whole: `loggedError` takes
 * from it what may be logged.
 */
export function createLogger(level: string): Logger {
  return pino({
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
  });
}

/** Says nothing: for tests and for parts that run inside another program. */
export const silent: Logger = pino({ level: 'silent' });
