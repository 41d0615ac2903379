import { type InferType, number, object, string } from 'yup';
import { CoordinatorError } from '../../../domain/errors.ts';
import { type KeyBounds, notBound, type Role, roles } from '../../../domain/key.ts';
import { nameLengthMax } from '../../../domain/limits.ts';
import { roleShape } from '../../shape/common.ts';
import { time } from '../../time.ts';
import { bounds } from './bounds.ts';

/** Thirty days: a grace that is longer is a second key. */
const graceSecondsMax = 30 * 86_400;

/** The body of POST /api/keys. */
export const createSchema = object({
  role: string().oneOf(roles).required().meta({ shape: roleShape }),
  name: string().min(1).max(nameLengthMax).meta({ description: 'Who or what it is for.' }),
  expires_at: time({
    description: 'The key is rejected from then on. Without this it is valid until it is revoked.',
  }),
  ...bounds,
}).noUnknown();

/** The body of PATCH /api/keys/:id. */
export const changeSchema = object(bounds)
  .noUnknown()
  .test('some', `must have one of ${Object.keys(bounds).join(', ')}`, (body) => Object.keys(body).length > 0)
  .meta({ json: { minProperties: 1 } });

/** The body of POST /api/keys/:id/rotate. */
export const rotateSchema = object({
  grace_seconds: number()
    .min(0)
    .max(graceSecondsMax)
    .meta({ description: 'At most 30 days; 0 if left out.' }),
}).noUnknown();

/** What the body of POST /api/keys asks for. */
interface NewKeyRequest {
  role: Role;
  name: string | null;
  expiresAt: number | null;
  /** null: it is not bound. */
  bounds: KeyBounds | null;
}

/** @throws CoordinatorError invalid_request when a key that is not a worker's is to be bound. */
export function newKeyOf({ role, name, expires_at, ...wire }: InferType<typeof createSchema>): NewKeyRequest {
  const change = changeOf(wire);
  const field = Object.entries(wire).find(([, value]) => value !== null && value !== undefined)?.[0];
  if (field !== undefined && role !== 'worker') throw onlyWorkers(field);
  return {
    role: role as Role,
    name: name ?? null,
    expiresAt: expires_at === undefined ? null : Date.parse(expires_at),
    bounds: field === undefined ? null : { ...notBound, ...change },
  };
}

/** The bounds that a body of PATCH /api/keys/:id changes. */
export function changeOf({
  name_patterns,
  tags,
  providers,
  max_concurrency,
}: InferType<typeof changeSchema>): Partial<KeyBounds> {
  return {
    ...(name_patterns === undefined ? {} : { namePatterns: name_patterns }),
    ...(tags === undefined ? {} : { tags }),
    ...(providers === undefined ? {} : { providers }),
    ...(max_concurrency === undefined ? {} : { maxConcurrency: max_concurrency }),
  };
}

function onlyWorkers(field: string): CoordinatorError {
  const message = 'is for keys with the role worker';
  return new CoordinatorError('invalid_request', `The request is not valid: ${field} ${message}`, {
    errors: [{ field, message }],
  });
}
