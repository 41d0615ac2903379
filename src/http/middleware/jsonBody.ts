import { isUtf8 } from 'node:buffer';
import type { Context, Middleware } from 'koa';
import bodyParser from 'koa-bodyparser';
import { CoordinatorError } from '../../domain/errors.ts';
import { JsonScan } from '../../lib/jsonScan.ts';
import { hasPrototypeKey, shapeFault } from '../../lib/jsonShape.ts';
import type { Uploads } from '../uploads.ts';
import { invalid, joined, readBody } from './readBody.ts';

/** A body that is parsed in a turn of its own: 10 MiB take some 30 ms, and nobody may come with ten of them at once. */
const longBytes = 256 * 1024;

/**
 * Reads a JSON object into `ctx.request.body`. It is measured while it arrives, and what is too deep or has too many
 * values is refused before anybody parses it. Its memory is given back when the request has its answer, or when a handler
 * that needs it no longer calls `ctx.state.bodyTaken`.
 * @param maxBytes asked at every request.
 * @throws CoordinatorError unsupported_media_type, payload_too_large, invalid_request; share_exceeded, rate_limited and
 * request_timeout when there is no room for it or it comes too slowly.
 */
export function jsonBody(uploads: Uploads, maxBytes: () => number): Middleware {
  const { turns } = uploads;
  return async (ctx, next) => {
    if (!ctx.is('application/json')) {
      // Without a body `is` says null; with an empty one the length is 0.
      if (ctx.is('*/*') === null || ctx.request.length === 0)
        throw invalid('A body is needed: a JSON object, sent as application/json');
      throw new CoordinatorError('unsupported_media_type', 'The body must be sent as application/json');
    }
    const scan = new JsonScan();
    const received = await readBody(ctx.req, {
      uploads,
      principal: ctx.state.principal,
      maxBytes: maxBytes(),
      maxName: 'http.max_body_bytes',
      isDecoded: true,
      onPart: (part) => {
        scan.feed(part);
        const fault = shapeFault(scan);
        if (fault !== null) throw invalid(`The body ${fault}`);
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
      ctx.request.body = await parse(ctx, bytes);
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

/**
 * As much of a request as the parser needs: headers, and a stream that gives everything at once. An EventEmitter in its
 * place would cost a small body a tenth of its time.
 */
class Whole {
  readonly headers = {};
  readonly #listeners: Record<string, (bytes?: Buffer) => void> = {};

  on(name: string, listener: (bytes?: Buffer) => void): void {
    this.#listeners[name] = listener;
  }

  removeListener(): void {}

  send(bytes: Buffer): void {
    this.#listeners.data?.(bytes);
    this.#listeners.end?.();
  }
}

/** koa-bodyparser, which is handed bytes that have been checked in place of the request. */
const parser = bodyParser({
  enableTypes: ['json'],
  jsonLimit: String(Number.MAX_SAFE_INTEGER),
  strict: true,
  // Looked for below: its own expression takes 10 ns for every quote.
  onProtoPoisoning: 'ignore',
  onerror: (error: Error) => {
    throw invalid('The body is not a JSON object', error);
  },
} as bodyParser.Options);

const nothingElse = async (): Promise<void> => {};

async function parse({ request }: Context, bytes: Buffer): Promise<unknown> {
  if (!isUtf8(bytes)) throw invalid('The body is not UTF-8');
  const whole = new Whole();
  const parsed: { get(name: string): string; body?: unknown; rawBody?: string } = {
    get: (name) => request.get(name),
  };
  const parsing = parser({ req: whole, request: parsed } as unknown as Context, nothingElse);
  whole.send(bytes);
  await parsing;
  const { body, rawBody = '' } = parsed;
  if (typeof body !== 'object' || body === null || Array.isArray(body) || rawBody === '') {
    throw invalid('The body must be a JSON object');
  }
  if (hasPrototypeKey(body)) throw invalid('The body has a key that is refused (__proto__)');
  return body;
}
