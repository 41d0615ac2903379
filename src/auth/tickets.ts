import type { Clock, Random } from '../domain/clock.ts';
import type { Principal } from '../domain/key.ts';
import { hashSecret } from './keyFormat.ts';

/** How long a ticket may wait to be used, ms. */
const lifeMs = 30_000;
/** Tickets waiting at once; beyond it the oldest go. */
const ticketsMax = 10_000;
const ticketBytes = 32;

/**
 * Tickets stand in for a key where a browser cannot send a header: on a WebSocket and an EventSource. Each is taken once.
 */
export class Tickets {
  readonly #clock: Clock;
  readonly #random: Random;
  /** By hash of the ticket: finding one by its hash tells nothing of how near a guess was. */
  readonly #waiting = new Map<string, { principal: Principal; expiresAt: number }>();

  constructor(options: { clock: Clock; random: Random }) {
    this.#clock = options.clock;
    this.#random = options.random;
  }

  /** How many wait, those included that have expired and were not cleared away yet: at most 10,000. */
  get count(): number {
    return this.#waiting.size;
  }

  /** @returns the ticket and until when it is taken, epoch ms. */
  issue(principal: Principal): { ticket: string; expiresAt: number } {
    this.#forgetOld();
    const ticket = Buffer.from(this.#random.bytes(ticketBytes)).toString('base64url');
    const expiresAt = this.#clock.now() + lifeMs;
    this.#waiting.set(hashSecret(ticket), { principal, expiresAt });
    return { ticket, expiresAt };
  }

  /** Whose ticket it is, once; null when it was used, has expired, or never was. */
  redeem(ticket: string): Principal | null {
    const hash = hashSecret(ticket);
    const found = this.#waiting.get(hash);
    this.#waiting.delete(hash);
    return found !== undefined && found.expiresAt > this.#clock.now() ? found.principal : null;
  }

  /** Tickets stand in order of issue, so the old ones come first. */
  #forgetOld(): void {
    for (const [hash, { expiresAt }] of this.#waiting) {
      if (expiresAt > this.#clock.now() && this.#waiting.size < ticketsMax) return;
      this.#waiting.delete(hash);
    }
  }
}
