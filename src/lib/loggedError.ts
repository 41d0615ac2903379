import { StoreUnavailable } from '../domain/errors.ts';

/** How many causes are followed. */
const causesMax = 5;

/** An error in a log line. */
export interface LoggedError {
  type: string;
  code?: string;
  message?: string;
  /** The frames of its stack. */
  stack?: string;
  cause?: LoggedError;
}

/**
 * What a log may contain of anything thrown: its class, its code and where it was thrown. The message is omitted
 * because it may quote content: a SyntaxError of JSON or of an expression does. It is kept where it cannot: errors of
 * the operating system name a file or an address, and the store passes them on.
 */
export function loggedError(thrown: unknown, depth = 0): LoggedError {
  if (!(thrown instanceof Error)) return { type: typeof thrown };
  const { code, cause } = thrown as Error & { code?: unknown };
  return {
    type: thrown.constructor.name,
    ...(typeof code === 'string' ? { code } : {}),
    ...(isShowable(thrown) ? { message: thrown.message } : {}),
    ...(thrown.stack === undefined ? {} : { stack: framesOf(thrown.stack, thrown.message) }),
    ...(cause === undefined || depth === causesMax ? {} : { cause: loggedError(cause, depth + 1) }),
  };
}

/** Whether its message never quotes content. A message of the store may end with the message of its cause. */
function isShowable(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false;
  if ('syscall' in thrown && typeof thrown.syscall === 'string') return true;
  return thrown instanceof StoreUnavailable && (thrown.cause === undefined || isShowable(thrown.cause));
}

/** V8 writes the message before the frames, with all its lines. */
function framesOf(stack: string, message: string): string {
  const at = stack.indexOf(message);
  const frames = at < 0 ? stack : stack.slice(at + message.length);
  return frames
    .split('\n')
    .filter((line) => /^ {4}at /.test(line))
    .map((line) => line.trim())
    .join('\n');
}
