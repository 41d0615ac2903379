import type { WireLease } from '../domain/workerProtocol.ts';

/** A lease as a key of a map. */
export function leaseKey(of: WireLease): string {
  return `${of.lease}:${of.job_id}`;
}

/** What to send about a lease that has ended here. */
export interface OutboxEntry extends WireLease {
  /** The frame as sent. */
  json: string;
  /**
   * Sent after the coordinator has answered the first one. A `release` carries no usage, so an `aborted` after it
   * reports what a released run cost: refused as late, but still recorded on the attempt.
   */
  afterwards: string | null;
  /** The frame only reports the usage of a stopped run. */
  isUsageOnly: boolean;
}

/**
 * The outcomes without an `ack`. An outcome may have been paid for: it is kept until the coordinator reports that it is
 * durable or refused, and is sent again after every reconnect. Never more entries than held leases.
 */
export class Outbox {
  readonly #entries = new Map<string, OutboxEntry>();
  #whenEmpty: (() => void)[] = [];

  get size(): number {
    return this.#entries.size;
  }

  entries(): Iterable<OutboxEntry> {
    return this.#entries.values();
  }

  has(key: string): boolean {
    return this.#entries.has(key);
  }

  isUsageOnly(key: string): boolean {
    return this.#entries.get(key)?.isUsageOnly === true;
  }

  add(key: string, entry: OutboxEntry): void {
    this.#entries.set(key, entry);
  }

  /**
   * The coordinator has answered for this lease.
   * @param isKnown whether it knows the lease at all; else nothing more is sent about it.
   * @returns the frame to send now, if one is left.
   */
  settle(key: string, isKnown: boolean): string | null {
    const entry = this.#entries.get(key);
    if (entry?.afterwards && isKnown) {
      entry.json = entry.afterwards;
      entry.afterwards = null;
      entry.isUsageOnly = true;
      return entry.json;
    }
    this.#entries.delete(key);
    if (this.#entries.size === 0 && this.#whenEmpty.length > 0) {
      for (const resolve of this.#whenEmpty.splice(0)) resolve();
    }
    return null;
  }

  /** Resolves when no outcome waits for an answer. */
  emptied(): Promise<void> {
    if (this.#entries.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#whenEmpty.push(resolve));
  }
}
