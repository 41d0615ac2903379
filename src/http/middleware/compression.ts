import { pipeline, Readable } from 'node:stream';
import { constants, createBrotliCompress, createGzip } from 'node:zlib';
import type { Context, Middleware } from 'koa';

/** Bytes up to which a compressed answer would not be worth its own work: it fits into one packet as it is. */
const plainBytesMax = 1024;
/** The same for what answers a change: that of a dispatch has 1 to 2 KB, and its client waits for it. */
const plainBytesMaxOfChange = 16 * 1024;
/**
 * Answers that are compressed at once; others are sent as they are. Each takes up to 1 MiB of memory, and the threads that do it
 * also write the journal: at 32 parts of 64 KiB, some 0.5 ms each on four threads, a commit waits 4 ms at most.
 */
const atOnceMax = 32;
/** A whole text is handed to its thread in parts of this size. */
const partBytes = 64 * 1024;

const compressible = /^(application\/(problem\+)?json|application\/x-ndjson|text\/(plain|html|csv))$/;

/**
 * Compresses answers of more than 1 KiB as the client asks (RFC 9110, 12.5.3: gzip or br, by its weights), on other threads than the
 * one that serves. Never an event stream, nor an answer with a secret: who can put a text of his own beside a secret
 * learns the secret from the length (BREACH). Outside of everything that answers.
 */
export function compression(): Middleware {
  let running = 0;
  return async (ctx, next) => {
    await next();
    if (ctx.respond === false) return;
    if (isWorthIt(ctx)) {
      ctx.vary('Accept-Encoding');
      const encoding = ctx.acceptsEncodings('br', 'gzip', 'identity');
      if ((encoding === 'br' || encoding === 'gzip') && running < atOnceMax) {
        running += 1;
        compress(ctx, encoding, () => {
          running -= 1;
        });
      }
    }
    // It may take a while to find what comes first, and the client shall know that it was understood.
    if (ctx.body instanceof Readable) ctx.flushHeaders();
  };
}

function isWorthIt(ctx: Context): boolean {
  const { body, method } = ctx;
  const plain = method === 'GET' || method === 'HEAD' ? plainBytesMax : plainBytesMaxOfChange;
  if (
    typeof body === 'string'
      ? body.length <= plain && (ctx.length ?? 0) <= plain
      : !(body instanceof Readable)
  )
    return false;
  return (
    ctx.state.holdsSecret !== true &&
    !ctx.res.hasHeader('Content-Encoding') &&
    compressible.test(ctx.response.type)
  );
}

function compress(ctx: Context, encoding: 'br' | 'gzip', onEnd: () => void): void {
  const { body } = ctx;
  ctx.set('Content-Encoding', encoding);
  // Another form of the same: equal in what it says, not in its bytes (RFC 9110, 8.8.3).
  const etag = ctx.res.getHeader('ETag');
  if (typeof etag === 'string' && etag.startsWith('"')) ctx.set('ETag', `W/${etag}`);
  if (ctx.method === 'HEAD') {
    // The length of the plain form is not that of the other.
    ctx.body = Readable.from([]);
    onEnd();
    return;
  }
  const source = typeof body === 'string' ? Readable.from(partsOf(body)) : (body as Readable);
  const encoder = encoding === 'br' ? createBrotliCompress(brotli) : createGzip(gzip);
  ctx.body = encoder;
  // What fails half way breaks the connection, so that a part is not taken for the whole.
  pipeline(source, encoder, (error) => {
    onEnd();
    if (error) ctx.res.destroy();
  });
}

/** What is written is sent on at once: what comes next may take its time. */
const gzip = { level: 4, flush: constants.Z_SYNC_FLUSH };
const brotli = {
  flush: constants.BROTLI_OPERATION_FLUSH,
  params: {
    [constants.BROTLI_PARAM_QUALITY]: 4,
    [constants.BROTLI_PARAM_LGWIN]: 18,
    [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
  },
};

function* partsOf(text: string): Generator<Buffer> {
  const bytes = Buffer.from(text);
  for (let from = 0; from < bytes.length; from += partBytes) yield bytes.subarray(from, from + partBytes);
}
