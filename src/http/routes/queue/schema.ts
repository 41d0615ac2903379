import { object, string } from 'yup';
import { queueReasonMax } from '../../../domain/queue.ts';
import { validate } from '../../validate.ts';

const pauseSchema = object({ reason: string().max(queueReasonMax).nullable() }).noUnknown();

/** The body of POST /api/queue/pause; no body is an empty one. @throws CoordinatorError invalid_request. */
export function parsePause(body: unknown): { reason: string | null } {
  const reason = validate(pauseSchema, body ?? {}).reason?.trim() ?? '';
  return { reason: reason === '' ? null : reason };
}
