/** Characters of a value written in one piece: 16 Ki of them take some 20 µs. */
const pieceCharacters = 16 * 1024;

/**
 * The JSON of a value of any size, as `JSON.stringify` writes it, in pieces of some 16 Ki characters; escapes can make
 * a piece six times as long. No piece ends within a character, so each can be encoded as UTF-8 by itself.
 * @param root plain JSON, as `JSON.parse` returns it; undefined members are omitted.
 */
export function* jsonPieces(root: unknown): Generator<string> {
  const open: Container[] = [];
  let text = '';
  let value = root;
  for (;;) {
    if (isShort(value)) {
      text += JSON.stringify(value) ?? 'null';
    } else if (typeof value === 'string') {
      yield `${text}"`;
      yield* stringPieces(value);
      text = '"';
    } else {
      const container = new Container(value as object);
      text += container.begin;
      open.push(container);
    }
    let inner = open.at(-1);
    while (inner !== undefined && !inner.next()) {
      text += inner.end;
      open.pop();
      inner = open.at(-1);
    }
    if (text.length >= pieceCharacters) {
      yield text;
      text = '';
    }
    if (inner === undefined) break;
    if (inner.key === null) {
      text += inner.comma;
    } else {
      yield `${text}${inner.comma}"`;
      yield* stringPieces(inner.key);
      text = '":';
    }
    value = inner.value;
  }
  if (text !== '') yield text;
}

/** A list or an object that is being written. */
class Container {
  readonly begin: string;
  readonly end: string;
  readonly #keys: readonly string[] | null;
  readonly #values: readonly unknown[];
  #index = -1;
  comma: ',' | '' = '';

  constructor(value: object) {
    const isList = Array.isArray(value);
    const members = isList ? [] : Object.entries(value).filter(([, member]) => member !== undefined);
    this.#keys = isList ? null : members.map(([key]) => key);
    this.#values = isList ? value : members.map(([, member]) => member);
    this.begin = isList ? '[' : '{';
    this.end = isList ? ']' : '}';
  }

  /** Go to the next member. @returns false at the end. */
  next(): boolean {
    if (this.#index >= 0) this.comma = ',';
    this.#index += 1;
    return this.#index < this.#values.length;
  }

  /** null in a list. */
  get key(): string | null {
    return this.#keys?.[this.#index] ?? null;
  }

  get value(): unknown {
    return this.#values[this.#index];
  }
}

/** The inside of a JSON string. */
function* stringPieces(text: string): Generator<string> {
  for (let from = 0; from < text.length; ) {
    const last = from + pieceCharacters - 1;
    // Both halves of a surrogate pair stay together.
    const isHigh = (text.charCodeAt(last) & 0xfc00) === 0xd800;
    const to = isHigh ? last + 2 : last + 1;
    yield JSON.stringify(text.slice(from, to)).slice(1, -1);
    from = to;
  }
}

/** Whether a value is short enough to be written as one piece. Looks no further than that takes. */
export function isShort(value: unknown): boolean {
  return roomBeside(value, pieceCharacters) >= 0;
}

/** The room left of `room` characters after a value is written; negative, by any amount, when it does not fit. */
function roomBeside(value: unknown, room: number): number {
  if (typeof value === 'string') return room - value.length - 2;
  if (typeof value !== 'object' || value === null) return room - 8;
  let left = room - 2;
  if (Array.isArray(value)) {
    for (const item of value) {
      left = roomBeside(item, left);
      if (left < 0) break;
    }
    return left;
  }
  for (const key in value) {
    left = roomBeside((value as Record<string, unknown>)[key], left - key.length - 4);
    if (left < 0) break;
  }
  return left;
}
