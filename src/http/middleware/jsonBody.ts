import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { brotliDecompressSync, unzipSync } from 'node:zlib';
import type { Middleware } from 'koa';
import bodyParser from 'koa-bodyparser';
import { CoordinatorError } from '../../domain/errors.ts';
import { isDeeperThan } from '../../lib/jsonDepth.ts';

/** Levels of nesting; JSON schemas of tools have some twenty. */
const depthMax = 200;

/** The parser's own error, as koa-bodyparser hands it over. */
interface ParseError extends Error {
  type?: string;
  status?: number;
}

function invalid(message: string, cause?: unknown): CoordinatorError {
  return new CoordinatorError('invalid_request', message, { errors: [{ field: '', message }] }, { cause });
}

/**
 * Reads a JSON object into `ctx.request.body`.
 * @param maxBytes asked at every request.
 * @throws CoordinatorError unsupported_media_type, payload_too_large, invalid_request.
 */
export function jsonBody(maxBytes: () => number): Middleware {
  let parser = { maxBytes: 0, parse: parserOf(0) };
  return async (ctx, next) => {
    if (!ctx.is('application/json')) {
      // Without a body `is` says null; with an empty one the length is 0.
      if (ctx.is('*/*') === null || ctx.request.length === 0)
        throw invalid('A body is needed: a JSON object, sent as application/json');
      throw new CoordinatorError('unsupported_media_type', 'The body must be sent as application/json');
    }
    const allowed = maxBytes();
    if (parser.maxBytes !== allowed) parser = { maxBytes: allowed, parse: parserOf(allowed) };
    const came = await bytesDuring(
      ctx.req,
      parser.parse(ctx, async () => {}),
    );
    const { body, rawBody } = ctx.request;
    if (typeof body !== 'object' || body === null || Array.isArray(body) || rawBody === '') {
      throw invalid('The body must be a JSON object');
    }
    // For bytes that are no UTF-8 the parser puts U+FFFD. The bytes are looked at only where one stands: it may be meant.
    if (
      String(rawBody).includes('\ufffd') &&
      !isUtf8(plainBytes(came, ctx.get('Content-Encoding'), allowed))
    ) {
      throw invalid('The body is not UTF-8');
    }
    if (isDeeperThan(String(rawBody), depthMax)) {
      throw invalid(`The body nests deeper than ${depthMax} levels`);
    }
    await next();
  };
}

/** The bytes that come while something else reads the request; not copied. */
async function bytesDuring(request: IncomingMessage, reading: Promise<unknown>): Promise<Buffer[]> {
  const chunks: Buffer[] = [];
  const keep = (chunk: Buffer): void => void chunks.push(chunk);
  request.on('data', keep);
  try {
    await reading;
  } finally {
    request.off('data', keep);
  }
  return chunks;
}

/** The bytes without their Content-Encoding, which the parser has undone once already. */
function plainBytes(chunks: readonly Buffer[], encoding: string, maxOutputLength: number): Buffer {
  const bytes = Buffer.concat(chunks);
  if (encoding === '' || encoding === 'identity') return bytes;
  return encoding === 'br'
    ? brotliDecompressSync(bytes, { maxOutputLength })
    : unzipSync(bytes, { maxOutputLength });
}

function parserOf(maxBytes: number): Middleware {
  return bodyParser({
    enableTypes: ['json'],
    jsonLimit: String(maxBytes),
    strict: true,
    onerror: (error: ParseError) => {
      if (error.type === 'entity.too.large' || error.status === 413) {
        throw new CoordinatorError(
          'payload_too_large',
          `The body is larger than the ${maxBytes} bytes that http.max_body_bytes allows`,
        );
      }
      if (error.status === 415) throw new CoordinatorError('unsupported_media_type', error.message);
      throw invalid('The body is not a JSON object, or has a key that is refused (__proto__)', error);
    },
  });
}
