import { number, object } from 'yup';
import { validate } from '../../validate.ts';

const patchSchema = object({ concurrency: number().integer().min(0).max(100_000).required() }).noUnknown();

/** The body of PATCH /api/workers/:id. @throws CoordinatorError invalid_request. */
export function parsePatch(body: unknown): { concurrency: number } {
  return validate(patchSchema, body);
}
