/* The cost buckets of one month, in memory and as stored. Owns the sums and their bound; the same entries in the same
   order give the same buckets, so that memory and a checkpoint agree after any crash. */

import {
  addAmounts,
  amountNames,
  bucketMs,
  type CostAmounts,
  type CostBucket,
  type CostDimension,
  type CostKey,
  costDimensions,
  noAmounts,
} from '../../domain/cost.ts';
import { nameLengthMax } from '../../domain/limits.ts';
import type { LedgerEntry } from '../store.ts';

/** Adds entries of the ledger. */
export interface CostSink {
  add(entry: LedgerEntry): void;
}

/**
 * Buckets of a dimension in a month, at some 150 bytes each: 100 workers or tags that work around the clock. Further
 * ones are merged under `otherKey`, hour by hour; the sums lose nothing.
 */
const bucketsMax = 300_000;
/** Places whose buckets are remembered: workers and tags that are busy at the same time. To find them anew takes 4 µs. */
const placesMax = 1_000;
/** The name of all keys of a dimension that were added after it was full. */
export const otherName = '(other)';

/** A part of a key that is longer than any name, as earlier versions accepted from workers, becomes `otherName`. */
function boundedKey(key: CostKey): CostKey {
  const isLong = (part: string | null): boolean => part !== null && part.length > nameLengthMax;
  return key.some(isLong) ? key.map((part) => (isLong(part) ? otherName : part)) : key;
}

/** The UTC month of a time, `2026-11`. */
export function monthOf(at: number): string {
  return new Date(at).toISOString().slice(0, 7);
}

/** A month as stored in its file: JSON of little but numbers. */
export interface StoredMonth {
  month: string;
  dimensions: Record<CostDimension, StoredDimension>;
}

interface StoredDimension {
  keys: CostKey[];
  /** Ten numbers a bucket: the quarter-hour of the month, the index of its key, its amounts as in `amountNames`. */
  buckets: number[];
}

const numbersEach = 2 + amountNames.length;

function perDimension<T>(make: (name: CostDimension) => T): Record<CostDimension, T> {
  return {
    total: make('total'),
    model: make('model'),
    worker: make('worker'),
    tier: make('tier'),
    tag: make('tag'),
  };
}

/** The buckets of one UTC month. Amounts are replaced, not edited: readers may hold them. */
export class CostMonth implements CostSink {
  readonly month: string;
  readonly #dimensions: Record<CostDimension, Dimension>;
  readonly #max: number;
  /** The buckets of places that entries came for lately, by quarter-hour and place. */
  readonly #places = new Map<string, readonly Bucket[]>();

  /** @param max buckets a dimension; only tests change it from `bucketsMax`. */
  constructor(month: string, max: number = bucketsMax) {
    this.month = month;
    this.#max = max;
    this.#dimensions = perDimension(() => ({ keys: new Map(), quarters: new Map(), count: 0 }));
  }

  static from({ month, dimensions }: StoredMonth): CostMonth {
    const made = new CostMonth(month);
    const first = Date.parse(`${month}-01`) / bucketMs;
    for (const name of costDimensions) {
      const { keys, buckets } = dimensions[name];
      const dimension = made.#dimensions[name];
      const shared = keys.map((stored) => {
        const key = boundedKey(stored);
        const text = JSON.stringify(key);
        const known = dimension.keys.get(text) ?? key;
        dimension.keys.set(text, known);
        return known;
      });
      for (let i = 0; i < buckets.length; i += numbersEach) {
        const key = shared[buckets[i + 1] ?? -1];
        if (key === undefined)
          throw new Error(`a bucket of ${month} names a ${name} that is not in the file`);
        const amounts: CostAmounts = { ...noAmounts };
        for (const [n, amount] of amountNames.entries()) amounts[amount] = buckets[i + 2 + n] ?? 0;
        const quarter = first + (buckets[i] ?? 0);
        // Two keys that were too long are now one.
        const before = dimension.quarters.get(quarter)?.get(key);
        put(dimension, quarter, key, before === undefined ? amounts : addAmounts(before, amounts));
      }
    }
    return made;
  }

  toStored(): StoredMonth {
    const first = Date.parse(`${this.month}-01`) / bucketMs;
    const stored = (name: CostDimension): StoredDimension => {
      const { keys, quarters } = this.#dimensions[name];
      const indexes = new Map([...keys.values()].map((key, index) => [key, index]));
      const buckets: number[] = [];
      for (const [quarter, amountsOf] of quarters) {
        for (const [key, amounts] of amountsOf) {
          buckets.push(quarter - first, indexes.get(key) ?? -1);
          for (const amount of amountNames) buckets.push(amounts[amount]);
        }
      }
      return { keys: [...keys.values()], buckets };
    };
    return { month: this.month, dimensions: perDimension(stored) };
  }

  add({ at, provider, model, workerId, tier, tags, amounts }: LedgerEntry): void {
    const quarter = Math.floor(at / bucketMs);
    const place = JSON.stringify([quarter, provider, model, workerId, tier, tags]);
    let buckets = this.#places.get(place);
    if (buckets === undefined) {
      buckets = [
        this.#bucket('total', quarter, [], []),
        this.#bucket('model', quarter, [provider, model], [provider, otherName]),
        this.#bucket('worker', quarter, [workerId], [otherName]),
        this.#bucket('tier', quarter, [tier], [otherName]),
        ...(tags.length === 0 ? [null] : tags).map((tag) => this.#bucket('tag', quarter, [tag], [otherName])),
      ];
      if (this.#places.size >= placesMax) this.#places.clear();
      this.#places.set(place, buckets);
    }
    for (const { amountsOf, key } of buckets)
      amountsOf.set(key, addAmounts(amountsOf.get(key) ?? noAmounts, amounts));
  }

  /** Add to `found` the buckets that start at or after `from` and before `to`. */
  collect(found: CostBucket[], from: number, to: number, name: CostDimension): void {
    for (const [quarter, amountsOf] of this.#dimensions[name].quarters) {
      const begin = quarter * bucketMs;
      if (begin < from || begin >= to) continue;
      for (const [key, amounts] of amountsOf) found.push({ from: begin, key, amounts });
    }
  }

  /**
   * The bucket of a key, made when there is none. A bucket is never removed, and a full dimension stays full: a later
   * correction finds its bucket, also after a replay.
   */
  #bucket(name: CostDimension, quarter: number, key: CostKey, other: CostKey): Bucket {
    const dimension = this.#dimensions[name];
    const ownKey = boundedKey(key);
    const ownText = JSON.stringify(ownKey);
    const own = dimension.keys.get(ownText);
    const isThere = own !== undefined && dimension.quarters.get(quarter)?.has(own) === true;
    const isOwn = isThere || dimension.count < this.#max;
    const chosen = isOwn ? ownKey : other;
    const text = isOwn ? ownText : JSON.stringify(other);
    const shared = dimension.keys.get(text) ?? chosen;
    dimension.keys.set(text, shared);
    const before = dimension.quarters.get(quarter)?.get(shared) ?? noAmounts;
    return { key: shared, amountsOf: put(dimension, quarter, shared, before) };
  }
}

/** Where amounts are added. */
interface Bucket {
  key: CostKey;
  /** Those of all keys in its quarter-hour. */
  amountsOf: Map<CostKey, CostAmounts>;
}

interface Dimension {
  /** By their JSON. */
  keys: Map<string, CostKey>;
  /** By quarter-hours since 1970, then by key. */
  quarters: Map<number, Map<CostKey, CostAmounts>>;
  /** Number of buckets. */
  count: number;
}

/** @returns the amounts of all keys in that quarter-hour. */
function put(
  dimension: Dimension,
  quarter: number,
  key: CostKey,
  amounts: CostAmounts,
): Map<CostKey, CostAmounts> {
  let amountsOf = dimension.quarters.get(quarter);
  if (amountsOf === undefined) {
    amountsOf = new Map();
    dimension.quarters.set(quarter, amountsOf);
  }
  if (!amountsOf.has(key)) dimension.count += 1;
  amountsOf.set(key, amounts);
  return amountsOf;
}
