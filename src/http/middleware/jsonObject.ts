import type { Context } from 'koa';
import { CoordinatorError } from '../../domain/errors.ts';
import type { JsonScan } from '../../lib/jsonScan.ts';
import { hasPrototypeKey, shapeFault } from '../../lib/jsonShape.ts';
import { invalid } from './readBody.ts';

/** @throws CoordinatorError unsupported_media_type; invalid_request when there is no body at all. */
export function assertJson(ctx: Context): void {
  if (ctx.is('application/json')) return;
  // Without a body `is` returns null; with an empty one the length is 0.
  if (ctx.is('*/*') === null || ctx.request.length === 0)
    throw invalid('A body is needed: a JSON object, sent as application/json');
  throw new CoordinatorError('unsupported_media_type', 'The body must be sent as application/json');
}

/** @throws CoordinatorError invalid_request when what was scanned is too deep, or has too many members or values. */
export function assertShape(scan: JsonScan): void {
  const fault = shapeFault(scan);
  if (fault !== null) throw invalid(`The body ${fault}`);
}

/** What `parse` returns, if that is an object that can be copied safely. @throws CoordinatorError invalid_request. */
export function jsonObject(parse: () => unknown): object {
  let body: unknown;
  try {
    body = parse();
  } catch (error) {
    throw invalid('The body is not a JSON object', error);
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw invalid('The body must be a JSON object');
  }
  if (hasPrototypeKey(body)) throw invalid('The body has a key that is refused (__proto__)');
  return body;
}
