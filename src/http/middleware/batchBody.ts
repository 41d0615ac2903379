import { isUtf8 } from 'node:buffer';
import type { Middleware } from 'koa';
import { CoordinatorError } from '../../domain/errors.ts';
import type { Turns } from '../../lib/turns.ts';
import type { Uploads } from '../uploads.ts';
import { invalid, joined, readBody } from './readBody.ts';

/** The body of a batch, unparsed: its jobs are parsed one after the other, so that a long one does not block others. */
export interface BatchBody {
  form: 'json' | 'ndjson';
  /** UTF-8. */
  bytes: Buffer;
}

/** Bytes that are checked at once: some 2 ms. */
const sliceBytes = 4 * 1024 ** 2;

/**
 * Reads a body in JSON or NDJSON into `ctx.request.body`, as it came.
 * @param maxBytes asked at every request.
 * @throws CoordinatorError unsupported_media_type, payload_too_large, invalid_request; share_exceeded, rate_limited and
 * request_timeout when there is no room for it or it comes too slowly.
 */
export function batchBody(uploads: Uploads, maxBytes: () => number): Middleware {
  const { turns } = uploads;
  return async (ctx, next) => {
    const form = ctx.is('application/json') ? 'json' : ctx.is('application/x-ndjson') ? 'ndjson' : null;
    if (form === null || ctx.get('Content-Encoding') !== '') throw wrongForm(ctx.get('Content-Type'));
    const received = await readBody(ctx.req, {
      uploads,
      principal: ctx.state.principal,
      maxBytes: maxBytes(),
      maxName: 'http.max_batch_bytes',
      isDecoded: false,
    });
    try {
      const room = received.upload.whole();
      if (room !== null) await room;
      const bytes = await joined(received, turns);
      // A file in another encoding would lose letters, and that would only show in the answers.
      if (!(await isText(bytes, turns))) throw invalid('The body is not UTF-8');
      const body: BatchBody = { form, bytes };
      ctx.request.body = body;
      await next();
    } finally {
      received.upload.release();
    }
  };
}

/** Whether bytes are UTF-8. */
async function isText(bytes: Buffer, turns: Turns): Promise<boolean> {
  let start = 0;
  while (start < bytes.length) {
    let end = Math.min(start + sliceBytes, bytes.length);
    // Not within a character: its bytes but the first are 10xxxxxx, three at most.
    for (let back = 0; back < 3 && ((bytes[end] ?? 0) & 0xc0) === 0x80; back += 1) end -= 1;
    if (!isUtf8(bytes.subarray(start, end))) return false;
    start = end;
    if (start < bytes.length) await turns.next();
  }
  return true;
}

function wrongForm(type: string): CoordinatorError {
  const wanted = 'application/json or application/x-ndjson, without a Content-Encoding';
  return type === ''
    ? invalid(`A body is needed, sent as ${wanted}`)
    : new CoordinatorError('unsupported_media_type', `The body must be sent as ${wanted}`);
}
