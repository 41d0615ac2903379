import type { Middleware } from 'koa';
import bodyParser from 'koa-bodyparser';
import { CoordinatorError } from '../../domain/errors.ts';
import { JsonScan } from '../../lib/jsonScan.ts';
import { assertJson, assertShape, jsonObject } from './jsonObject.ts';
import { invalid } from './readBody.ts';

/** Each connection can hold one such body, so they are not counted: keys and settings have a few hundred bytes. */
const maxBytes = 64 * 1024;

const parser = bodyParser({
  enableTypes: ['json'],
  jsonLimit: String(maxBytes),
  // `jsonObject` looks for it, and names it.
  onProtoPoisoning: 'ignore',
  onerror: (error: Error & { status?: number }) => {
    if (error.status !== 413) throw invalid('The body is not a JSON object', error);
    throw new CoordinatorError(
      'payload_too_large',
      `The body is larger than the ${maxBytes} bytes that this route takes`,
    );
  },
} as bodyParser.Options);

/**
 * Reads a JSON object of at most 64 KiB, anything but a job, into `ctx.request.body`.
 * @throws CoordinatorError unsupported_media_type, payload_too_large, invalid_request.
 */
export function smallBody(): Middleware {
  return (ctx, next) => {
    assertJson(ctx);
    return parser(ctx, async () => {
      const { body, rawBody } = ctx.request;
      const text = typeof rawBody === 'string' ? rawBody : '';
      const scan = new JsonScan();
      scan.feed(Buffer.from(text));
      assertShape(scan);
      ctx.request.body = jsonObject(() => (text === '' ? null : body));
      await next();
    });
  };
}
