import { type AnyObject, type ObjectSchema, setLocale, ValidationError } from 'yup';
import { CoordinatorError, type FieldError } from '../domain/errors.ts';

// Messages name no value: it may be content.
const article = (word: string): string => (/^[aeiou]/.test(word) ? 'an' : 'a');
setLocale({
  mixed: {
    required: 'is required',
    notType: ({ type }) => `must be ${article(type)} ${type}`,
    oneOf: ({ values }) => `must be one of ${values}`,
    notNull: 'must not be null',
    defined: 'is required',
  },
  string: {
    min: ({ min }) => `must have at least ${min} characters`,
    max: ({ max }) => `must have at most ${max} characters`,
  },
  number: {
    min: ({ min }) => `must be at least ${min}`,
    max: ({ max }) => `must be at most ${max}`,
    integer: 'must be a whole number',
  },
  array: {
    min: ({ min }) => `must have at least ${min} items`,
    max: ({ max }) => `must have at most ${max} items`,
  },
  object: { noUnknown: 'is not known' },
});

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
