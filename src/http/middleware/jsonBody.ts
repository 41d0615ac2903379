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
    await parser.parse(ctx, async () => {});
    const { body, rawBody } = ctx.request;
    if (typeof body !== 'object' || body === null || Array.isArray(body) || rawBody === '') {
      throw invalid('The body must be a JSON object');
    }
    if (isDeeperThan(String(rawBody), depthMax)) {
      throw invalid(`The body nests deeper than ${depthMax} levels`);
    }
    await next();
  };
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
