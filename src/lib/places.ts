import { CoordinatorError } from '../domain/errors.ts';
import { isPrivileged, type Principal } from '../domain/key.ts';
import { ByteBudget, type Holder } from './byteBudget.ts';

/** How long a key without a place should wait, seconds. */
const retryAfterSeconds = 5;

export interface PlacesOptions {
  /** What takes a place, in the plural, for the texts of refusals. */
  things: string;
  /** Names of the settings, for the same texts. */
  settings: { max: string; share: string };
  /** Places in all, read at each call. */
  max: () => number;
  /** The part of them that one key may have, above 0 and at most 1; one place at least. */
  share: () => number;
}

/**
 * Places shared by all keys, one for each connection or subscriber: counted in all and for each key, with a reserve.
 */
export class Places {
  readonly #options: PlacesOptions;
  readonly #budget: ByteBudget;

  constructor(options: PlacesOptions) {
    this.#options = options;
    this.#budget = new ByteBudget(() => {
      const max = options.max();
      // Half a place more, so that rounding never takes one away.
      return { bytes: max, share: (Math.max(1, Math.round(max * options.share())) + 0.5) / Math.max(1, max) };
    });
  }

  /** Take a place. @returns null, or the refusal: share_exceeded, or rate_limited when all places are taken. */
  enter(principal: Principal): CoordinatorError | null {
    const refusal = this.refusal(principal);
    if (refusal === null) this.#budget.add(holderOf(principal), 1);
    return refusal;
  }

  /** What `enter` would return now; takes no place. */
  refusal(principal: Principal): CoordinatorError | null {
    const { things, settings, max } = this.#options;
    switch (this.#budget.refusal(holderOf(principal), 1)) {
      case null:
        return null;
      case 'share':
        return new CoordinatorError(
          'share_exceeded',
          `This key has ${this.#budget.heldBy(principal.keyId)} ${things}, its share of the ${max()} that there may be (${settings.share}): close some of them first`,
          { retryAfterSeconds },
        );
      case 'all':
        return new CoordinatorError(
          'rate_limited',
          `There are as many ${things} as ${settings.max} allows: try again in ${retryAfterSeconds} s`,
          { retryAfterSeconds },
        );
    }
  }

  /** Give a place back. */
  leave(principal: Principal): void {
    this.#budget.giveBack(holderOf(principal), 1);
  }
}

/** The principal as a holder of a budget. */
export function holderOf({ keyId, role }: Principal): Holder {
  return { keyId, isPrivileged: isPrivileged(role) };
}
