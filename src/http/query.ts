import { CoordinatorError, type FieldError } from '../domain/errors.ts';
import { nameLengthMax } from '../domain/limits.ts';
import { isTime } from '../lib/isoTime.ts';
import { timeMessage } from './time.ts';

/** As Koa parses it: a parameter that is repeated is a list. */
export type RawQuery = Record<string, string | string[] | undefined>;

/** Values of one parameter. */
const valuesMax = 100;

/** A query string, read one parameter at a time; every fault is told at once by `done`. */
export class Query {
  readonly #query: RawQuery;
  readonly #read = new Set<string>();
  readonly #errors: FieldError[] = [];

  constructor(query: RawQuery) {
    this.#query = query;
  }

  /** Once for each field and fault: a list of words may have the same one many times. */
  fault(field: string, message: string): void {
    if (this.#errors.some((error) => error.field === field && error.message === message)) return;
    this.#errors.push({ field, message });
  }

  /** @param lengthMax characters of each value. @returns nothing when a value is too long, or when there are more than `max`. */
  all(field: string, { max = valuesMax, lengthMax = nameLengthMax } = {}): string[] {
    this.#read.add(field);
    const value = this.#query[field];
    const list = value === undefined ? [] : Array.isArray(value) ? value : [value];
    if (list.length > max) this.fault(field, `may be given ${max} times`);
    if (list.includes('')) this.fault(field, 'must not be empty');
    const isTooLong = list.some(({ length }) => length > lengthMax);
    if (isTooLong) this.fault(field, `must have at most ${lengthMax} characters`);
    return isTooLong || list.length > max ? [] : list;
  }

  text(field: string, lengthMax = nameLengthMax): string | null {
    const list = this.all(field, { lengthMax });
    if (list.length > 1) this.fault(field, 'may be given once');
    return list[0] ?? null;
  }

  /** `name=value`, any number of times. A name has no `=`; a value may. */
  pairs(field: string, max = valuesMax): [name: string, value: string][] {
    return this.all(field, { max, lengthMax: 2 * nameLengthMax }).flatMap((text) => {
      const at = text.indexOf('=');
      if (at > 0) return [[text.slice(0, at), text.slice(at + 1)]];
      if (text !== '') this.fault(field, 'must be name=value');
      return [];
    });
  }

  /** In small letters, as ids are made. */
  id(field: string): string | null {
    return this.text(field)?.toLowerCase() ?? null;
  }

  integer(field: string, fallback: number, min: number, max: number): number {
    const text = this.text(field);
    if (text === null) return fallback;
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= min && value <= max)) this.fault(field, `must be a whole number from ${min} to ${max}`);
    return value;
  }

  time(field: string): number | null {
    const text = this.text(field);
    if (text === null) return null;
    if (!isTime(text)) this.fault(field, timeMessage);
    return Date.parse(text);
  }

  words<T extends string>(field: string, known: readonly T[]): T[] {
    return this.all(field)
      .flatMap((text) => text.split(','))
      .flatMap((text) => {
        const word = known.find((one) => one === text);
        if (word === undefined) this.fault(field, `must be one of ${known.join(', ')}`);
        return word === undefined ? [] : [word];
      });
  }

  done(): void {
    for (const field of Object.keys(this.#query))
      if (!this.#read.has(field)) this.fault(field.slice(0, nameLengthMax), 'is not known');
    if (this.#errors.length === 0) return;
    const named = this.#errors.map(({ field, message }) => `${field} ${message}`).join('; ');
    throw new CoordinatorError('invalid_request', `The query is not valid: ${named}`, {
      errors: this.#errors,
    });
  }
}

/** For routes that take no query at all. @throws CoordinatorError invalid_request. */
export function parseNothing(raw: RawQuery): void {
  new Query(raw).done();
}
