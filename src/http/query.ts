import { CoordinatorError, type FieldError } from '../domain/errors.ts';
import { isTime } from '../lib/isoTime.ts';
import { timeMessage } from './time.ts';

/** As Koa parses it: a parameter that is repeated is a list. */
export type RawQuery = Record<string, string | string[] | undefined>;

/** A query string, read one parameter at a time; every fault is told at once by `done`. */
export class Query {
  readonly #query: RawQuery;
  readonly #read = new Set<string>();
  readonly #errors: FieldError[] = [];

  constructor(query: RawQuery) {
    this.#query = query;
  }

  fault(field: string, message: string): void {
    this.#errors.push({ field, message });
  }

  all(field: string): string[] {
    this.#read.add(field);
    const value = this.#query[field];
    const list = value === undefined ? [] : Array.isArray(value) ? value : [value];
    if (list.includes('')) this.fault(field, 'must not be empty');
    return list;
  }

  text(field: string): string | null {
    const list = this.all(field);
    if (list.length > 1) this.fault(field, 'may be given once');
    return list[0] ?? null;
  }

  /** `name=value`, any number of times. A name has no `=`; a value may. */
  pairs(field: string): [name: string, value: string][] {
    return this.all(field).flatMap((text) => {
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
      if (!this.#read.has(field)) this.fault(field, 'is not known');
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
