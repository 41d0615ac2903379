import type { Clock, Random } from '../domain/clock.ts';
import { Entry } from './entry.ts';

/** What the feed remembers for those who come back: at most so many events, of so many bytes. */
const keptMax = 4_096;
const keptBytesMax = 16 * 1024 * 1024;
/** Numbers a start leaves to the one before it: a thousand events for every millisecond that passed. */
const numbersPerMs = 1_000;
const epochBytes = 8;

/**
 * Numbers every event and remembers the last ones. The numbers begin at the time of the start, so that they rise over
 * restarts too: a number of an earlier life is older than all that is remembered, never taken for one of this life.
 */
export class Feed {
  /** New at each start. */
  readonly epoch: string;
  /** Oldest first; what is forgotten is undefined. */
  readonly #kept: (Entry | undefined)[] = [];
  /** Index of the oldest. */
  #first = 0;
  #bytes = 0;
  #seq: number;
  /** The newest number that is not remembered any more. */
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

  /** Bytes of what is remembered, at most 16 MiB. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Number an event. */
  number(event: ConstructorParameters<typeof Entry>[1]): Entry {
    this.#seq += 1;
    return new Entry(this.#seq, event);
  }

  /** Remember an event that was just numbered. */
  keep(entry: Entry): void {
    entry.onGrown = this.#onGrown;
    this.#kept.push(entry);
    this.#bytes += entry.weight;
    this.#trim();
  }

  /** Whether every event after `seq` that was to be kept still is. */
  covers(seq: number): boolean {
    return seq >= this.#forgotten && seq <= this.#seq;
  }

  /** What is remembered of the events after `seq`, oldest first. */
  after(seq: number): Entry[] {
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
    // Cut off in large pieces: a cut moves everything that stays.
    if (this.#first >= keptMax) {
      this.#kept.splice(0, this.#first);
      this.#first = 0;
    }
  }
}
