import {
  type AnySchema,
  array,
  boolean,
  type ISchema,
  lazy,
  number,
  object,
  string,
  ValidationError,
} from 'yup';
import { nameLengthMax } from '../domain/limits.ts';
import { nearest } from '../lib/nearest.ts';

/**
 * The building blocks of the schema. Each value has one rule and one message that states the whole rule, so that one
 * mistake gives one line. A key without a value (`jobs:` and nothing under it) is null, which means not set.
 */

type Field = ISchema<unknown>;

/** The actual value, for the end of a message; never long, never a whole structure. */
function shown(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object' && value !== null) return 'a map';
  const text = typeof value === 'string' ? JSON.stringify(value) : String(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

const wanted =
  (rule: string) =>
  ({ value }: { value?: unknown }): string =>
    `must be ${rule}, not ${shown(value)}`;

function numberField(rule: string, fits: (value: number) => boolean): Field {
  const message = wanted(rule);
  return number()
    .typeError(message)
    .nullable()
    .test('fits', message, (value) => value === null || value === undefined || fits(value));
}

export function wholeNumber(min: number, max: number = Number.MAX_SAFE_INTEGER): Field {
  const rule = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
  return numberField(
    `a whole number ${rule}`,
    (value) => Number.isInteger(value) && value >= min && value <= max,
  );
}

/** A number from `min` on, not Infinity or NaN. */
export function atLeast(min: number): Field {
  return numberField(`a number of at least ${min}`, (value) => Number.isFinite(value) && value >= min);
}

export function above(min: number, max: number = Number.MAX_VALUE): Field {
  const rule = max === Number.MAX_VALUE ? `above ${min}` : `above ${min} and at most ${max}`;
  return numberField(`a number ${rule}`, (value) => value > min && value <= max);
}

export function anyNumber(): Field {
  return numberField('a number', Number.isFinite);
}

export function flag(): Field {
  return boolean().typeError(wanted('true or false')).nullable();
}

function stringField(message: ReturnType<typeof wanted> | string, fits: (value: string) => boolean): Field {
  return string()
    .typeError(message)
    .nullable()
    .test('fits', message, (value) => value === null || value === undefined || fits(value));
}

export function text(): Field {
  return stringField(wanted('a text that is not empty'), (value) => value.trim() !== '');
}

/** A name: compared by jobs, rules and lists. */
export function name(): Field {
  return stringField(
    wanted(`a name of 1 to ${nameLengthMax} characters`),
    (value) => value.trim() !== '' && value.length <= nameLengthMax,
  );
}

/** A text whose value never appears in a message. */
export function secret(): Field {
  return stringField('must be a text of 16 characters or more', (value) => value.length >= 16);
}

export function oneOf(values: readonly string[]): Field {
  const rule = (value: unknown): string => {
    const near = typeof value === 'string' ? nearest(value, values) : null;
    return `must be one of ${values.join(', ')}, not ${shown(value)}${near === null ? '' : `; did you mean ${near}?`}`;
  };
  const message = ({ value }: { value?: unknown }): string => rule(value);
  return string()
    .typeError(message)
    .nullable()
    .test('one of', message, (value) => value === null || value === undefined || values.includes(value));
}

const notHttpUrl = wanted('an address such as http://127.0.0.1:7420');

function isHttpUrl(value: string): boolean {
  return URL.canParse(value) && /^https?:$/.test(new URL(value).protocol);
}

export function httpUrl(): Field {
  return stringField(notHttpUrl, isHttpUrl);
}

/** The address of a provider; its query is added to every request. */
export function baseUrl(): Field {
  const message = ({ value }: { value?: unknown }): string =>
    typeof value === 'string' && isHttpUrl(value) ? 'must not contain #' : notHttpUrl({ value });
  return stringField(message, (value) => isHttpUrl(value) && !value.includes('#'));
}

/** Headers of the connection itself, which a configuration cannot set. */
const ownHeaders = ['host', 'connection', 'content-length', 'content-type', 'transfer-encoding', 'upgrade'];

/** The form of a header name: RFC 9110, 5.6.2. */
export const headerRule = {
  fits: (key: string): boolean =>
    /^[\w!#$%&'*+.^`|~-]{1,200}$/.test(key) && key !== '__proto__' && !ownHeaders.includes(key.toLowerCase()),
  rule: 'is not the name of a header that can be set',
};

/** The value of a header; never appears in a message. */
export function headerValue(): Field {
  return stringField('must be a text of printable ASCII characters', (value) =>
    /^[\x20-\x7e]{1,4096}$/.test(value),
  );
}

export function environmentName(): Field {
  return stringField(wanted('the name of an environment variable'), (value) =>
    /^[A-Za-z_][A-Za-z0-9_]*$/.test(value),
  );
}

/** A list without duplicates. */
export function listOfNames(): Field {
  return array()
    .typeError(wanted('a list of names'))
    .nullable()
    .of(name())
    .test(
      'no nulls',
      'must not have an empty item',
      (list) => list === null || list === undefined || !list.includes(null),
    )
    .test('unique', 'must not name anything twice', (list) => {
      return list === null || list === undefined || new Set(list).size === list.length;
    });
}

export function listOf(item: Field): Field {
  return array().typeError(wanted('a list')).nullable().of(item);
}

/** @param hint for an unknown key when no known one is near; null for none. */
export function shape(
  fields: Record<string, Field>,
  hint: (key: string) => string | null = () => null,
): AnySchema {
  return object(fields)
    .typeError(wanted('a map of keys'))
    .nullable()
    .default(undefined)
    .test('known keys', function checkKeys(value: unknown) {
      if (typeof value !== 'object' || value === null) return true;
      const known = Object.keys(fields);
      const errors = Object.keys(value)
        .filter((key) => !known.includes(key))
        .map((key) => {
          const near = nearest(key, known);
          const help = near === null ? hint(key) : `did you mean ${near}?`;
          const path = keyPath(this.path ?? '', key);
          return this.createError({ path, message: help === null ? 'unknown key' : `unknown key, ${help}` });
        });
      return errors.length === 0 || new ValidationError(errors);
    });
}

/** A map with keys chosen by the user. */
export function mapOf(item: Field, keyRule: { fits: (key: string) => boolean; rule: string }): Field {
  return lazy((value: unknown) => {
    const isMap = typeof value === 'object' && value !== null && !Array.isArray(value);
    const keys = isMap ? Object.keys(value) : [];
    return object(Object.fromEntries(keys.filter(keyRule.fits).map((key) => [key, item])))
      .typeError(wanted('a map'))
      .nullable()
      .default(undefined)
      .test('keys', function checkKeys() {
        const errors = keys
          .filter((key) => !keyRule.fits(key))
          .map((key) => this.createError({ path: keyPath(this.path ?? '', key), message: keyRule.rule }));
        return errors.length === 0 || new ValidationError(errors);
      });
  });
}

/** `a.b`, and `a["b.c"]` where the key has a dot: yup's form of paths. */
export function keyPath(parent: string, key: string): string {
  if (key.includes('.')) return `${parent}["${key}"]`;
  return parent === '' ? key : `${parent}.${key}`;
}

/** The steps of such a path. */
export function pathSteps(path: string): string[] {
  return [...path.matchAll(/\["([^"]*)"\]|\[(\d+)\]|([^.[\]]+)/g)].map(
    ([, quoted, index, plain]) => quoted ?? index ?? plain ?? '',
  );
}
