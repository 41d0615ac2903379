import { number, object } from 'yup';
import { slotsMax } from '../../../domain/limits.ts';
import { Query, type RawQuery } from '../../query.ts';
import { validate } from '../../validate.ts';

const patchSchema = object({
  concurrency: number().integer().min(0).max(slotsMax).required(),
}).noUnknown();

/** The body of PATCH /api/workers/:id. @throws CoordinatorError invalid_request. */
export function parsePatch(body: unknown): { concurrency: number } {
  return validate(patchSchema, body);
}

/** The query of GET /api/workers: how many to leave out before the first. @throws CoordinatorError invalid_request. */
export function parseOffset(raw: RawQuery): number {
  const query = new Query(raw);
  const offset = query.integer('offset', 0, 0, Number.MAX_SAFE_INTEGER);
  query.done();
  return offset;
}
