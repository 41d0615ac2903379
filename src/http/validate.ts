import { type AnyObject, type ObjectSchema, ValidationError } from 'yup';
import '../lib/yupMessages.ts';
import { CoordinatorError, type FieldError } from '../domain/errors.ts';

/**
 * Check a value as it is, without turning one type into another, and tell every error at once.
 * @throws CoordinatorError invalid_request with the path and the fault of each field.
 */
export function validate<T extends AnyObject>(schema: ObjectSchema<T>, value: unknown): T {
  try {
    return schema.validateSync(value, { strict: true, abortEarly: false }) as T;
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error;
    const errors = error.inner.length > 0 ? error.inner.flatMap(fieldErrors) : fieldErrors(error);
    const named = errors.map(({ field, message }) => `${field} ${message}`.trim()).join('; ');
    throw new CoordinatorError('invalid_request', `The request is not valid: ${named}`, { errors });
  }
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
