import { number, object, string } from 'yup';
import { type Role, roles } from '../../../domain/key.ts';
import { nameLengthMax } from '../../../domain/limits.ts';
import { time } from '../../time.ts';
import { validate } from '../../validate.ts';

/** Thirty days: a grace that is longer is a second key. */
const graceSecondsMax = 30 * 86_400;

const createSchema = object({
  role: string().oneOf(roles).required(),
  name: string().min(1).max(nameLengthMax),
  expires_at: time(),
}).noUnknown();

const rotateSchema = object({ grace_seconds: number().min(0).max(graceSecondsMax) }).noUnknown();

/** The body of POST /api/keys. @throws CoordinatorError invalid_request. */
export function parseCreate(body: unknown): { role: Role; name: string | null; expiresAt: number | null } {
  const { role, name, expires_at } = validate(createSchema, body);
  return {
    role: role as Role,
    name: name ?? null,
    expiresAt: expires_at === undefined ? null : Date.parse(expires_at),
  };
}

/** The body of POST /api/keys/:id/rotate, which may be left out. @returns the grace, ms. */
export function parseRotate(body: unknown): number {
  return (validate(rotateSchema, body ?? {}).grace_seconds ?? 0) * 1000;
}
