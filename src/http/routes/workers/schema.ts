import { number, object } from 'yup';
import { slotsMax } from '../../../domain/limits.ts';
import { validate } from '../../validate.ts';

const patchSchema = object({
  concurrency: number().integer().min(0).max(slotsMax).required(),
}).noUnknown();

/** The body of PATCH /api/workers/:id. @throws CoordinatorError invalid_request. */
export function parsePatch(body: unknown): { concurrency: number } {
  return validate(patchSchema, body);
}
