import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { ParameterizedContext } from 'koa';

/** How much of a refused body is read after the answer: several times the largest that is taken. */
const bytesMax = 256 * 1024 ** 2;
const timeMsMax = 30_000;
/** A client that sends nothing for so long has stopped, or has gone. */
const quietMsMax = 2_000;

/**
 * Answer a request whose body is read no further. What is left of it would block the next request on this
 * connection: it is thrown away where it has come already, and otherwise the connection ends with the answer.
 */
export function answerUnread(ctx: ParameterizedContext, text: string): void {
  if (ctx.req.complete) {
    ctx.req.resume();
    ctx.body = text;
    return;
  }
  ctx.set('Connection', 'close');
  ctx.body = lingering(text, ctx.req);
  ctx.length = Buffer.byteLength(text);
}

/**
 * An answer to a request whose body nobody reads to its end. A connection that is closed while the client still sends is
 * reset by the system, and the client never sees why (EPIPE): so the answer goes out at once, what still comes is read
 * and thrown away, within bounds, and only then the connection is closed.
 */
function lingering(text: string, request: IncomingMessage): Readable {
  const answer = new Readable({ read() {} });
  answer.push(text);
  let bytes = 0;
  const end = (): void => {
    clearTimeout(late);
    clearTimeout(quiet);
    request.off('data', count).off('end', end).off('close', end).off('error', end);
    // A last word of it must not end the process.
    request.on('error', () => {});
    answer.push(null);
  };
  const count = (part: Buffer): void => {
    bytes += part.length;
    quiet.refresh();
    if (bytes > bytesMax) end();
  };
  const late = setTimeout(end, timeMsMax);
  const quiet = setTimeout(end, quietMsMax);
  request.on('data', count).on('end', end).on('close', end).on('error', end);
  request.resume();
  if (request.readableEnded || request.destroyed) end();
  return answer;
}
