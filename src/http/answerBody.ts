import { Readable } from 'node:stream';
import type { ParameterizedContext } from 'koa';
import type { Principal } from '../domain/key.ts';
import type { AnswerMemory } from '../lib/answerMemory.ts';

/** Characters of an answer that is not counted: no connection has more than one, see Connections.inTurn. */
const smallMax = 16 * 1024;
/** Bytes that are handed to a connection at a time: so much of an answer is in its buffers, and no more. */
const pieceBytes = 64 * 1024;
/** What an answer that is made while it is read takes: a piece in the buffers, and the next one. */
const streamBytes = 2 * pieceBytes;

/** Whether nothing of what was asked for has happened yet, so that the request may be refused. */
function isRead({ method }: ParameterizedContext): boolean {
  return method === 'GET' || method === 'HEAD';
}

/**
 * Refuse a read, before its answer is made, when unread answers of its key already fill its share.
 * @throws CoordinatorError share_exceeded.
 */
export function assertRoom(ctx: ParameterizedContext, answers: AnswerMemory): void {
  // A dispatch is answered with the job, so a large body has a large answer.
  if (!isRead(ctx) && Number(ctx.req.headers['content-length'] ?? 0) <= smallMax) return;
  const refusal = answers.refusalOfShare(ctx.state.principal);
  if (refusal !== null) throw refusal;
}

/**
 * The body of an answer that is there as a whole. A large one is counted until it has left, and handed over in pieces.
 * @throws CoordinatorError share_exceeded, rate_limited for one that only reads and does not fit.
 */
export function setText(ctx: ParameterizedContext, text: string, answers: AnswerMemory): void {
  if (text.length <= smallMax) {
    ctx.body = text;
    return;
  }
  const principal: Principal = ctx.state.principal;
  const refusal = isRead(ctx) ? answers.refusal(principal, text.length) : null;
  if (refusal !== null) throw refusal;
  // Bytes lie outside of the heap, and the connection needs no copy of them.
  const bytes = Buffer.from(text);
  let taken = 0;
  const hold = answers.hold(principal, {
    held: () => bytes.length,
    taken: () => taken,
    cut: () => ctx.res.destroy(),
  });
  hold.update();
  ctx.res.once('close', () => hold.release());
  function* pieces() {
    for (; taken < bytes.length; taken += pieceBytes) yield bytes.subarray(taken, taken + pieceBytes);
  }
  ctx.body = Readable.from(pieces(), { objectMode: false });
  ctx.length = bytes.length;
}

/**
 * A text, or bytes, that nobody holds whole: a chunk is made when the client has read those before, and none any more when it has
 * gone. What fails half way breaks the connection, so that a part is not taken for the whole.
 * @throws CoordinatorError share_exceeded, rate_limited when there is no room to begin with.
 */
export function setChunks(
  ctx: ParameterizedContext,
  chunks: AsyncIterable<string | Buffer>,
  answers: AnswerMemory,
): void {
  const { res } = ctx;
  const principal: Principal = ctx.state.principal;
  const refusal = answers.refusal(principal, streamBytes);
  if (refusal !== null) throw refusal;
  let held = streamBytes;
  let taken = 0;
  const hold = answers.hold(principal, { held: () => held, taken: () => taken, cut: () => res.destroy() });
  hold.update();
  res.once('close', () => hold.release());
  async function* pieces(): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
      const more = Math.max(bytes.length - streamBytes, 0);
      const lack = more === 0 ? null : answers.refusal(principal, more);
      if (lack !== null) throw lack;
      held = streamBytes + more;
      if (!res.destroyed) hold.update();
      for (let from = 0; from < bytes.length; from += pieceBytes) {
        yield bytes.subarray(from, from + pieceBytes);
        taken += Math.min(pieceBytes, bytes.length - from);
      }
    }
  }
  const body = Readable.from(pieces(), { objectMode: false });
  body.once('error', () => res.destroy());
  ctx.body = body;
}
