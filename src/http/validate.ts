import { type AnyObject, type ObjectSchema, ValidationError } from 'yup';
import '../lib/yupMessages.ts';
import { CoordinatorError, type FieldError } from '../domain/errors.ts';
import { isFields } from '../lib/fields.ts';

/** Members of a body: far more than any has. */
const membersMax = 100;
/** Faults that one answer names; a client with more of them has one mistake many times. */
export const faultsMax = 100;

/**
 * Check a value as it is, without turning one type into another, and tell every error at once.
 * @param schema bounds its lists with `boundedList`.
 * @throws CoordinatorError invalid_request with the path and the fault of each field, at most 100.
 */
export function validate<T extends AnyObject>(schema: ObjectSchema<T>, value: unknown): T {
  if (isFields(value) && Object.keys(value).length > membersMax) {
    throw refusal([{ field: '', message: `must have at most ${membersMax} members` }]);
  }
  try {
    return schema.validateSync(value, { strict: true, abortEarly: false }) as T;
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error;
    const errors = error.inner.length > 0 ? error.inner.flatMap(fieldErrors) : fieldErrors(error);
    throw refusal(errors.slice(0, faultsMax));
  }
}

function refusal(errors: FieldError[]): CoordinatorError {
  const named = errors.map(({ field, message }) => `${field} ${message}`.trim()).join('; ');
  return new CoordinatorError('invalid_request', `The request is not valid: ${named}`, { errors });
}

function fieldErrors(error: ValidationError): FieldError[] {
  const path = error.path ?? '';
  const unknown: unknown = error.params?.unknown;
  if (error.type === 'noUnknown' && typeof unknown === 'string') {
    return unknown
      .split(', ')
      .map((key) => ({ field: path === '' ? key : `${path}.${key}`, message: 'is not known' }));
  }
  return [{ field: path, message: error.message }];
}
