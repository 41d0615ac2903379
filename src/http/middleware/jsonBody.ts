import { isUtf8 } from 'node:buffer';
import type { Middleware } from 'koa';
import { JsonScan } from '../../lib/jsonScan.ts';
import type { Uploads } from '../uploads.ts';
import { assertJson, assertShape, jsonObject } from './jsonObject.ts';
import { invalid, joined, readBody } from './readBody.ts';

/** A body that is parsed in a turn of its own: 10 MiB take some 30 ms, and one client must not send ten of them at once. */
const longBytes = 256 * 1024;

/**
 * Reads a JSON object of any size, a job, into `ctx.request.body`. It is measured while it arrives, and what is too deep or
 * has too many values is refused before anybody parses it. Its memory is given back when the request has its answer, or when
 * a handler that needs it no longer calls `ctx.state.bodyTaken`.
 * @param maxBytes asked at every request.
 * @throws CoordinatorError unsupported_media_type, payload_too_large, invalid_request; share_exceeded, rate_limited and
 * request_timeout when there is no room for it or it comes too slowly.
 */
export function jsonBody(uploads: Uploads, maxBytes: () => number): Middleware {
  const { turns } = uploads;
  return async (ctx, next) => {
    assertJson(ctx);
    const scan = new JsonScan();
    const received = await readBody(ctx.req, {
      uploads,
      principal: ctx.state.principal,
      maxBytes: maxBytes(),
      maxName: 'http.max_body_bytes',
      isDecoded: true,
      onPart: (part) => {
        scan.feed(part);
        assertShape(scan);
      },
    });
    const { upload } = received;
    const isLong = received.bytes > longBytes;
    try {
      const room = upload.whole();
      if (room !== null) await room;
      const [first] = received.parts;
      const bytes =
        received.parts.length === 1 && first !== undefined ? first : await joined(received, turns);
      if (isLong) await turns.next();
      ctx.request.body = parse(bytes);
      // What follows, the commit above all, is as long.
      if (isLong) await turns.next();
      ctx.state.bodyTaken = (): Promise<void> | null => {
        upload.release();
        return isLong ? turns.next() : null;
      };
      await next();
    } finally {
      upload.release();
    }
  };
}

/** @throws CoordinatorError invalid_request. */
function parse(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw invalid('The body is not UTF-8');
  return jsonObject(() => JSON.parse(bytes.toString('utf8', hasMark(bytes) ? 3 : 0)));
}

/** RFC 8259, 8.1: a byte order mark may be ignored. */
function hasMark(bytes: Buffer): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
}
