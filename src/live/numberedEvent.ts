import { iso } from '../domain/wire/iso.ts';
import { afterGap, type Encoding, type Message } from './encoding.ts';

/** Memory of an entry besides its text: objects, and the record it refers to. */
const entryBytes = 512;

/** One event with its number. It is presented and serialised once, when the first subscriber needs it. */
export class NumberedEvent implements Message {
  readonly type: string;
  readonly seq: number;
  readonly topics: readonly string[];
  /** The job that ended with it; null for all other events. */
  readonly endedJob: string | null;
  /** The job it is about, if any. */
  readonly jobId: string | null;
  readonly #at: number;
  readonly #data: () => unknown;
  /** Made when the first subscriber needs it: most entries are dropped before that. */
  #bytes: Map<Encoding, Buffer> | null = null;
  #json: string | null = null;
  #weight: number;
  /** Called when the entry takes more memory; set by the feed while it keeps the entry. */
  onGrown: ((bytes: number) => void) | null = null;

  constructor(
    seq: number,
    event: {
      type: string;
      at: number;
      topics: readonly string[];
      data: () => unknown;
      jobId?: string | null;
      isEnd?: boolean;
      /** Characters that `data` refers to. */
      size?: number;
    },
  ) {
    this.seq = seq;
    this.type = event.type;
    this.topics = event.topics;
    this.jobId = event.jobId ?? null;
    this.endedJob = event.isEnd === true ? this.jobId : null;
    this.#weight = entryBytes + (event.size ?? 0);
    this.#at = event.at;
    this.#data = event.data;
  }

  /** Bytes in memory, approximately. */
  get weight(): number {
    return this.#weight;
  }

  get json(): string {
    if (this.#json === null) {
      this.#json = JSON.stringify({
        type: this.type,
        seq: this.seq,
        at: iso(this.#at),
        data: this.#data(),
      });
      this.#grow(this.#json.length);
    }
    return this.#json;
  }

  bytes(encoding: Encoding): Buffer {
    this.#bytes ??= new Map();
    const known = this.#bytes.get(encoding);
    if (known !== undefined) return known;
    const bytes = encoding(this);
    this.#bytes.set(encoding, bytes);
    this.#grow(bytes.length);
    return bytes;
  }

  /** Drop the text; it is made again when needed. */
  release(): void {
    this.#json = null;
    this.#bytes = null;
  }

  /** The same, marked as following a gap. */
  bytesAfterGap(encoding: Encoding): Buffer {
    return encoding(afterGap(this));
  }

  #grow(bytes: number): void {
    this.#weight += bytes;
    this.onGrown?.(bytes);
  }
}
