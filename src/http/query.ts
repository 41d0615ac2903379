import { CoordinatorError, type FieldError } from '../domain/errors.ts';
import { nameLengthMax } from '../domain/limits.ts';
import { isTime } from '../lib/isoTime.ts';
import type { JsonSchema } from './shape/shape.ts';
import { timeMessage } from './time.ts';

/** As Koa parses it: a parameter that is repeated is a list. */
export type RawQuery = Record<string, string | string[] | undefined>;

/** Values of one parameter. */
const valuesMax = 100;
/** Items of one page of a list. */
export const pageMax = 1000;
const pageDefault = 50;

/** A query string, read one parameter at a time; `done` reports every fault at once. */
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
    if (list.length > max) this.fault(field, `may be given at most ${max} times`);
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

  /** @throws CoordinatorError invalid_request with every fault, parameters that nobody read among them. */
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

/** One parameter of a query: how it is read, and how the document describes it. */
export interface Parameter<T> {
  read(query: Query, field: string): T;
  /** A parameter object of OpenAPI without its name and place, or a reference to a whole one. */
  readonly document: JsonSchema;
}

/** The parameters that a route takes; it is given their values under the same names. */
export type Parameters<Q> = { readonly [K in keyof Q]: Parameter<Q[K]> };

/** What the document says of a parameter besides its schema: `description`, `example`. */
type Notes = JsonSchema;

export function parameter<T>(schema: JsonSchema, notes: Notes, read: Parameter<T>['read']): Parameter<T> {
  return { read, document: { ...notes, schema } };
}

/** A text of at most `lengthMax` characters; null when it is not given. */
export function text(notes: Notes = {}, lengthMax = nameLengthMax): Parameter<string | null> {
  return parameter({ type: 'string', maxLength: lengthMax }, notes, (query, field) =>
    query.text(field, lengthMax),
  );
}

/** An id, in lower case, as ids are made. */
export function id(notes: Notes = {}): Parameter<string | null> {
  return parameter({ type: 'string', maxLength: nameLengthMax }, notes, (query, field) => {
    return query.text(field)?.toLowerCase() ?? null;
  });
}

/** A text that may be repeated up to `max` times. */
export function texts(max: number, notes: Notes = {}): Parameter<string[]> {
  const items = { type: 'string', maxLength: nameLengthMax };
  return parameter({ type: 'array', maxItems: max, items }, notes, (query, field) =>
    query.all(field, { max }),
  );
}

/** `name=value`, up to `max` times. A name has no `=`; a value may. */
export function pairs(max: number, notes: Notes = {}): Parameter<[name: string, value: string][]> {
  const lengthMax = 2 * nameLengthMax;
  const items = { type: 'string', pattern: '^[^=]+=', maxLength: lengthMax };
  return parameter({ type: 'array', maxItems: max, items }, notes, (query, field) =>
    query.all(field, { max, lengthMax }).flatMap((text): [string, string][] => {
      const at = text.indexOf('=');
      if (at > 0) return [[text.slice(0, at), text.slice(at + 1)]];
      if (text !== '') query.fault(field, 'must be name=value');
      return [];
    }),
  );
}

export function integer(
  { min, max, fallback }: { min: number; max: number; fallback: number },
  notes: Notes = {},
): Parameter<number> {
  const bounds = max === Number.MAX_SAFE_INTEGER ? {} : { maximum: max };
  const schema = { type: 'integer', minimum: min, ...bounds, default: fallback };
  return parameter(schema, notes, (query, field) => {
    const text = query.text(field);
    if (text === null) return fallback;
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= min && value <= max)) query.fault(field, `must be a whole number from ${min} to ${max}`);
    return value;
  });
}

/** A moment in epoch ms; null when it is not given. */
export function time(notes: Notes = {}): Parameter<number | null> {
  return parameter({ type: 'string', format: 'date-time' }, notes, (query, field) => {
    const text = query.text(field);
    if (text === null) return null;
    if (!isTime(text)) query.fault(field, timeMessage);
    return Date.parse(text);
  });
}

/** Any number of known words, separated by commas or repeated. @param items how the document describes a word. */
export function words<T extends string>(
  known: readonly T[],
  notes: Notes = {},
  items: JsonSchema = { type: 'string', enum: known },
): Parameter<T[]> {
  const style = { style: 'form', explode: false };
  return parameter({ type: 'array', items }, { ...notes, ...style }, (query, field) => {
    return query
      .all(field)
      .flatMap((text) => text.split(','))
      .flatMap((text) => {
        const word = known.find((one) => one === text);
        if (word === undefined) query.fault(field, `must be one of ${known.join(', ')}`);
        return word === undefined ? [] : [word];
      });
  });
}

/** One known word; null when it is not given or is a fault. */
export function word<T extends string>(
  known: readonly T[],
  notes: Notes = {},
  fallback?: T,
): Parameter<T | null> {
  const schema = { type: 'string', enum: known, ...(fallback === undefined ? {} : { default: fallback }) };
  return parameter(schema, notes, (query, field) => {
    const text = query.text(field);
    const found = known.find((one) => one === text) ?? null;
    if (text !== null && text !== '' && found === null)
      query.fault(field, `must be one of ${known.join(', ')}`);
    return found;
  });
}

/** The parameters of a page of a list. */
export const pageParameters = {
  limit: integer(
    { min: 1, max: pageMax, fallback: pageDefault },
    { description: 'Maximum number of items.' },
  ),
  offset: integer(
    { min: 0, max: Number.MAX_SAFE_INTEGER, fallback: 0 },
    { description: 'Number of items to skip.' },
  ),
};

/** The values of parameters; their faults are reported by the query's `done`. */
export function readParameters<Q extends object>(parameters: Parameters<Q>, query: Query): Q {
  const values: Record<string, unknown> = {};
  for (const field in parameters) values[field] = parameters[field].read(query, field);
  // Each value was read by the parameter of its name.
  return values as Q;
}
