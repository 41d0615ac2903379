/** Part of a budget reserved for privileged holders: when others fill it, an operator must still get in. */
const reservedPart = 1 / 8;

/** The owner of bytes. */
export interface Holder {
  keyId: string;
  /** Has no share, and may use the reserve (`isPrivileged` of the role). */
  isPrivileged: boolean;
}

export interface BudgetBounds {
  /** Bytes in all, the reserve included. */
  bytes: number;
  /** The part of them that one key may hold, above 0 and at most 1. */
  share: number;
}

/** Which bound refuses: the share of the key, or the total. */
export type BudgetRefusal = 'share' | 'all';

/**
 * Counts bytes held in memory, in all and for each key, against bounds that may change at any time. Each caller gives
 * back as many bytes as it took. Both cost a lookup, whatever the number of keys.
 */
export class ByteBudget {
  readonly #bounds: () => BudgetBounds;
  /** Only keys that hold something. */
  readonly #byKey = new Map<string, number>();
  #held = 0;

  /** @param bounds read at each call. */
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

  /** Bytes that the holder may have when nobody else holds any. Anything larger never fits. */
  most({ isPrivileged }: Holder): number {
    const bounds = this.#bounds();
    return isPrivileged ? bounds.bytes : mostOf(bounds);
  }

  /** Which bound refuses this many more bytes; null when they fit. Takes nothing. */
  refusal(holder: Holder, bytes: number): BudgetRefusal | null {
    const bounds = this.#bounds();
    if (!holder.isPrivileged && this.heldBy(holder.keyId) + bytes > mostOf(bounds)) return 'share';
    const most = holder.isPrivileged ? bounds.bytes : bounds.bytes * (1 - reservedPart);
    return this.#held + bytes > most ? 'all' : null;
  }

  /** Take bytes if they fit. @returns null when they were taken; else which bound refuses, with nothing taken. */
  take(holder: Holder, bytes: number): BudgetRefusal | null {
    const refusal = this.refusal(holder, bytes);
    if (refusal === null) this.add(holder, bytes);
    return refusal;
  }

  /** Count bytes that exist whether they fit or not. */
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

/** What one key without privileges may have. */
function mostOf({ bytes, share }: BudgetBounds): number {
  return Math.floor(bytes * Math.min(share, 1 - reservedPart));
}
