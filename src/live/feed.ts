import type { Clock, Random } from '../domain/clock.ts';
import { NumberedEvent } from './numberedEvent.ts';

/** Limits of what the feed keeps for clients that reconnect: events, and bytes. */
const keptMax = 4_096;
const keptBytesMax = 16 * 1024 * 1024;
/** Numbers reserved for the previous start: a thousand events for every millisecond that passed. */
const numbersPerMs = 1_000;
const epochBytes = 8;

/**
 * Numbers every event and keeps the last ones. The numbers start at the time of the start, so that they also rise over
 * restarts: a number of an earlier start is older than everything kept, and never mistaken for one of this start.
 */
export class Feed {
  /** New at each start. */
  readonly epoch: string;
  /** Oldest first; dropped entries are undefined. */
  readonly #kept: (NumberedEvent | undefined)[] = [];
  /** Index of the oldest. */
  #first = 0;
  #bytes = 0;
  #seq: number;
  /** The newest number that is no longer kept. */
  #forgotten: number;
  readonly #onGrown = (bytes: number): void => {
    this.#bytes += bytes;
    this.#trim();
  };

  constructor({ clock, random }: { clock: Clock; random: Random }) {
    this.epoch = Buffer.from(random.bytes(epochBytes)).toString('hex');
    this.#seq = clock.now() * numbersPerMs;
    this.#forgotten = this.#seq;
  }

  /** The newest number. */
  get seq(): number {
    return this.#seq;
  }

  /** Bytes of what is kept, at most 16 MiB. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Number an event. */
  number(event: ConstructorParameters<typeof NumberedEvent>[1]): NumberedEvent {
    this.#seq += 1;
    return new NumberedEvent(this.#seq, event);
  }

  /** Keep an event that was just numbered. */
  keep(entry: NumberedEvent): void {
    entry.onGrown = this.#onGrown;
    this.#kept.push(entry);
    this.#bytes += entry.weight;
    this.#trim();
  }

  /** Whether every event after `seq` that was kept still is. */
  covers(seq: number): boolean {
    return seq >= this.#forgotten && seq <= this.#seq;
  }

  /** The kept events after `seq`, oldest first. */
  after(seq: number): NumberedEvent[] {
    let low = this.#first;
    let high = this.#kept.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#kept[middle]?.seq ?? 0) <= seq) low = middle + 1;
      else high = middle;
    }
    return this.#kept.slice(low).filter((entry) => entry !== undefined);
  }

  #trim(): void {
    while (this.#kept.length - this.#first > keptMax || this.#bytes > keptBytesMax) {
      const oldest = this.#kept[this.#first];
      if (oldest === undefined) return;
      this.#kept[this.#first] = undefined;
      this.#first += 1;
      oldest.onGrown = null;
      this.#bytes -= oldest.weight;
      this.#forgotten = oldest.seq;
    }
    // Cut off in large pieces: a cut moves all remaining entries.
    if (this.#first >= keptMax) {
      this.#kept.splice(0, this.#first);
      this.#first = 0;
    }
  }
}
