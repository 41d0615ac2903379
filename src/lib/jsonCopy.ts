/** Marks a value that JSON would change or omit. */
const notJson = Symbol('not JSON');

/**
 * A copy that shares nothing but strings with the value, equal to `JSON.parse(JSON.stringify(value))`. It takes half
 * the time for short objects with long strings: strings are immutable, so they are not copied.
 * @returns null when JSON would change the value (undefined, NaN, −0, dates, classes, …): use JSON then.
 */
export function jsonCopy<T extends object>(value: T): T | null {
  const copy = copyOf(value);
  return copy === notJson ? null : (copy as T);
}

function copyOf(value: unknown): unknown {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'number':
      return Number.isFinite(value) && !Object.is(value, -0) ? value : notJson;
    case 'object':
      if (value === null) return null;
      return Array.isArray(value) ? copyOfList(value) : copyOfObject(value);
    default:
      return notJson;
  }
}

function copyOfList(list: readonly unknown[]): unknown[] | typeof notJson {
  const copies = new Array<unknown>(list.length);
  for (let index = 0; index < list.length; index += 1) {
    const copy = copyOf(list[index]);
    if (copy === notJson) return notJson;
    copies[index] = copy;
  }
  return copies;
}

function copyOfObject(object: object): object | typeof notJson {
  if (!isPlain(object)) return notJson;
  // All members at once: one by one, each would change the shape of the object.
  const copy: Record<string, unknown> = { ...object };
  for (const key in copy) {
    // Setting it would set the prototype.
    if (key === '__proto__') return notJson;
    const member = copy[key];
    if (typeof member === 'string') continue;
    const own = copyOf(member);
    if (own === notJson) return notJson;
    if (own !== member) copy[key] = own;
  }
  return copy;
}

/** Whether a value is what `JSON.parse(JSON.stringify(value))` would make of it. It allocates nothing. */
export function isJson(value: unknown): boolean {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return true;
    case 'number':
      return Number.isFinite(value) && !Object.is(value, -0);
    case 'object':
      if (value === null) return true;
      return Array.isArray(value) ? isJsonList(value) : isJsonObject(value);
    default:
      return false;
  }
}

/** By index, which finds holes. */
function isJsonList(list: readonly unknown[]): boolean {
  for (let index = 0; index < list.length; index += 1) if (!isJson(list[index])) return false;
  return true;
}

function isJsonObject(object: object): boolean {
  if (!isPlain(object)) return false;
  for (const key in object) if (!isJson(object[key as keyof typeof object])) return false;
  return true;
}

function isPlain(object: object): boolean {
  return Object.getPrototypeOf(object) === Object.prototype && !('toJSON' in object);
}
