/** Part of a budget that only privileged holders get: when others fill it, an operator must still get in. */
const reservedPart = 1 / 8;

/** Whose bytes they are. */
export interface Holder {
  keyId: string;
  /** Held to no share, and served out of the reserve (`isPrivileged` of the role). */
  isPrivileged: boolean;
}

export interface BudgetBounds {
  /** Bytes in all, the reserve included. */
  bytes: number;
  /** The part of them that one key may have, above 0 and at most 1. */
  share: number;
}

/** What stands in the way: the share of the key, or that all of them together hold as much as there may be. */
export type BudgetRefusal = 'share' | 'all';

/**
 * Counts bytes that are in memory for others, in all and for each key, against bounds that may change at any time.
 * Whoever takes bytes gives as many back. Both cost a lookup, whatever the number of keys.
 */
export class ByteBudget {
  readonly #bounds: () => BudgetBounds;
  /** Only of keys that hold something. */
  readonly #byKey = new Map<string, number>();
  #held = 0;

  /** @param bounds asked each time. */
  constructor(bounds: () => BudgetBounds) {
    this.#bounds = bounds;
  }

  /** Bytes that are held by all keys. */
  get held(): number {
    return this.#held;
  }

  /** Bytes that are held by one key. */
  heldBy(keyId: string): number {
    return this.#byKey.get(keyId) ?? 0;
  }

  /** Bytes that the holder may have when nobody else has any. What is larger than this fits at no time. */
  most({ isPrivileged }: Holder): number {
    const bounds = this.#bounds();
    return isPrivileged ? bounds.bytes : mostOf(bounds);
  }

  /** What stands in the way of so many more bytes; null when they fit. Nothing is taken. */
  refusal(holder: Holder, bytes: number): BudgetRefusal | null {
    const bounds = this.#bounds();
    if (!holder.isPrivileged && this.heldBy(holder.keyId) + bytes > mostOf(bounds)) return 'share';
    const most = holder.isPrivileged ? bounds.bytes : bounds.bytes * (1 - reservedPart);
    return this.#held + bytes > most ? 'all' : null;
  }

  /** Take bytes if they fit. @returns what stands in the way, with nothing taken; null when they were taken. */
  take(holder: Holder, bytes: number): BudgetRefusal | null {
    const refusal = this.refusal(holder, bytes);
    if (refusal === null) this.add(holder, bytes);
    return refusal;
  }

  /** Count bytes that are there whether they fit or not. */
  add({ keyId }: Holder, bytes: number): void {
    this.#held += bytes;
    this.#byKey.set(keyId, this.heldBy(keyId) + bytes);
  }

  /** Give back what was taken. */
  giveBack({ keyId }: Holder, bytes: number): void {
    const own = this.heldBy(keyId) - bytes;
    this.#held -= bytes;
    if (own > 0) this.#byKey.set(keyId, own);
    else this.#byKey.delete(keyId);
  }
}

/** What one key may have that is not privileged. */
function mostOf({ bytes, share }: BudgetBounds): number {
  return Math.floor(bytes * Math.min(share, 1 - reservedPart));
}
