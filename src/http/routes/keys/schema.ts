import { array, number, object, string } from 'yup';
import { CoordinatorError } from '../../../domain/errors.ts';
import { type KeyBounds, notBound, type Role, roles } from '../../../domain/key.ts';
import { nameLengthMax, slotsMax } from '../../../domain/limits.ts';
import { boundedList } from '../../../lib/boundedList.ts';
import { time } from '../../time.ts';
import { validate } from '../../validate.ts';

/** Thirty days: a grace that is longer is a second key. */
const graceSecondsMax = 30 * 86_400;

/** Names that one bound of a key may have. */
const namesMax = 100;
const names = (min: number) =>
  boundedList(namesMax, array().of(string().defined().min(1).max(nameLengthMax)).min(min).nullable());

/** What the workers of a key may say of themselves; null: it is not bound. */
const bounds = {
  name_patterns: names(1),
  // None: its workers may have no tags.
  tags: names(0),
  providers: names(1),
  max_concurrency: number().integer().min(0).max(slotsMax).nullable(),
};

const createSchema = object({
  role: string().oneOf(roles).required(),
  name: string().min(1).max(nameLengthMax),
  expires_at: time(),
  ...bounds,
}).noUnknown();

const changeSchema = object(bounds)
  .noUnknown()
  .test('some', `must have one of ${Object.keys(bounds).join(', ')}`, (body) => Object.keys(body).length > 0);

const rotateSchema = object({ grace_seconds: number().min(0).max(graceSecondsMax) }).noUnknown();

/** What the body of POST /api/keys asks for. */
interface NewKeyRequest {
  role: Role;
  name: string | null;
  expiresAt: number | null;
  /** null: it is not bound. */
  bounds: KeyBounds | null;
}

/** The body of POST /api/keys. @throws CoordinatorError invalid_request. */
export function parseCreate(body: unknown): NewKeyRequest {
  const { role, name, expires_at, ...wire } = validate(createSchema, body);
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

/** The body of PATCH /api/keys/:id. @returns the bounds that are to be others. @throws CoordinatorError invalid_request. */
export function parseChange(body: unknown): Partial<KeyBounds> {
  return changeOf(validate(changeSchema, body));
}

interface BoundsBody {
  name_patterns?: string[] | null | undefined;
  tags?: string[] | null | undefined;
  providers?: string[] | null | undefined;
  max_concurrency?: number | null | undefined;
}

function changeOf({ name_patterns, tags, providers, max_concurrency }: BoundsBody): Partial<KeyBounds> {
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

/** The body of POST /api/keys/:id/rotate, which may be left out. @returns the grace, ms. */
export function parseRotate(body: unknown): number {
  return (validate(rotateSchema, body ?? {}).grace_seconds ?? 0) * 1000;
}
