import type { Clock, Random } from '../domain/clock.ts';
import type { Principal } from '../domain/key.ts';
import { hashSecret } from './keyFormat.ts';

/** How long a ticket may wait to be used, ms. */
const lifeMs = 30_000;
/** Tickets waiting at once; beyond it the oldest go. */
const ticketsMax = 10_000;
/** Of one key, so that no reader pushes out the tickets of others: as many dashboards as may come back at once. */
const ticketsOfKeyMax = 1_000;
const ticketBytes = 32;

/**
 * Tickets stand in for a key where a browser cannot send a header: on a WebSocket and an EventSource. Each is taken once.
 */
export class Tickets {
  readonly #clock: Clock;
  readonly #random: Random;
  /** By hash of the ticket: finding one by its hash tells nothing of how near a guess was. */
  readonly #waiting = new Map<string, { principal: Principal; expiresAt: number }>();
  /** How many of those each key has, by its id. */
  readonly #counts = new Map<string, number>();

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
    this.#makeRoom(principal);
    const ticket = Buffer.from(this.#random.bytes(ticketBytes)).toString('base64url');
    const expiresAt = this.#clock.now() + lifeMs;
    this.#waiting.set(hashSecret(ticket), { principal, expiresAt });
    this.#counts.set(principal.keyId, this.#countOf(principal) + 1);
    return { ticket, expiresAt };
  }

  /** Whose ticket it is, once; null when it was used, has expired, or never was. */
  redeem(ticket: string): Principal | null {
    const found = this.#take(hashSecret(ticket));
    return found !== undefined && found.expiresAt > this.#clock.now() ? found.principal : null;
  }

  /** Tickets stand in order of issue, so the old ones come first. */
  #makeRoom(principal: Principal): void {
    const now = this.#clock.now();
    for (const [hash, { expiresAt }] of this.#waiting) {
      if (expiresAt > now && this.#waiting.size < ticketsMax) break;
      this.#take(hash);
    }
    if (this.#countOf(principal) < ticketsOfKeyMax) return;
    for (const [hash, { principal: owner }] of this.#waiting) {
      if (owner.keyId !== principal.keyId) continue;
      this.#take(hash);
      return;
    }
  }

  #countOf({ keyId }: Principal): number {
    return this.#counts.get(keyId) ?? 0;
  }

  #take(hash: string): { principal: Principal; expiresAt: number } | undefined {
    const found = this.#waiting.get(hash);
    if (found === undefined) return undefined;
    this.#waiting.delete(hash);
    const left = this.#countOf(found.principal) - 1;
    if (left > 0) this.#counts.set(found.principal.keyId, left);
    else this.#counts.delete(found.principal.keyId);
    return found;
  }
}
