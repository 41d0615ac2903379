import type { IncomingMessage } from 'node:http';
import type { Middleware } from 'koa';
import { CoordinatorError, messageOf } from '../../domain/errors.ts';

/** The body of a batch, unparsed: its jobs are parsed one after the other, so that a long one stops nobody. */
export interface BatchBody {
  form: 'json' | 'ndjson';
  bytes: Buffer;
}

/** Bodies that are in memory at one time may be this many times the largest one; parsed, they take some five times that. */
const budgetBodies = 2;

/**
 * Reads a body in JSON or NDJSON into `ctx.request.body`, as it came.
 * @param maxBytesNow asked at every request.
 * @throws CoordinatorError unsupported_media_type, payload_too_large, invalid_request; rate_limited when the batches
 * of others fill the memory that there is for them.
 */
export function batchBody(maxBytesNow: () => number): Middleware {
  let held = 0;
  const hold = (bytes: number, maxBytes: number): void => {
    if (held + bytes > budgetBodies * maxBytes) {
      throw new CoordinatorError('rate_limited', 'Other batches are being taken in; send this one again', {
        retryAfterSeconds: 1,
      });
    }
    held += bytes;
  };
  return async (ctx, next) => {
    const maxBytes = maxBytesNow();
    const form = ctx.is('application/json') ? 'json' : ctx.is('application/x-ndjson') ? 'ndjson' : null;
    if (form === null || ctx.get('Content-Encoding') !== '') throw wrongForm(ctx.get('Content-Type'));
    if ((ctx.request.length ?? 0) > maxBytes) throw tooLarge(maxBytes);
    let own = 0;
    try {
      const bytes = await read(ctx.req, (chunkBytes) => {
        if (own + chunkBytes > maxBytes) throw tooLarge(maxBytes);
        hold(chunkBytes, maxBytes);
        own += chunkBytes;
      });
      const body: BatchBody = { form, bytes };
      ctx.request.body = body;
      await next();
    } finally {
      held -= own;
    }
  };
}

/** @param onChunk told the size of each part before it is kept; what it throws ends the reading. */
async function read(request: IncomingMessage, onChunk: (bytes: number) => void): Promise<Buffer> {
  const chunks: Buffer[] = [];
  try {
    // Not destroyed when the reading ends early: the refusal is still to be sent over the same socket.
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      onChunk(chunk.length);
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof CoordinatorError) throw error;
    throw invalid(`The body broke off: ${messageOf(error)}`);
  }
  return Buffer.concat(chunks);
}

function invalid(message: string): CoordinatorError {
  return new CoordinatorError('invalid_request', message, { errors: [{ field: '', message }] });
}

function wrongForm(type: string): CoordinatorError {
  const wanted = 'application/json or application/x-ndjson, without a Content-Encoding';
  return type === ''
    ? invalid(`A body is needed, sent as ${wanted}`)
    : new CoordinatorError('unsupported_media_type', `The body must be sent as ${wanted}`);
}

function tooLarge(maxBytes: number): CoordinatorError {
  return new CoordinatorError(
    'payload_too_large',
    `The body is larger than the ${maxBytes} bytes that http.max_batch_bytes allows`,
  );
}
