/* Lines of ready jobs that stay in memory as they were read from a segment. Owns those bytes. What is parsed later was
   verified with the segment before any job was used, so it is never read from the disk again. */

import { messageOf } from '../../../domain/errors.ts';
import type { JobHead, JobRecord } from '../../../domain/job.ts';
import type { UnreadJobs } from '../../durableLog.ts';
import { StoreCorrupt } from '../errors.ts';
import { jobOf } from '../journal/record.ts';
import type { JobKind, LineHead } from './jobHeads.ts';
import { whatToDo } from './manifest.ts';

/** Lines of ready jobs in one block of a segment. */
export class UnreadLines implements UnreadJobs {
  readonly ordinals: number[] = [];
  readonly ids: string[] = [];
  readonly #path: string;
  /** Where `#bytes` begins in the file. */
  readonly #position: number;
  /** Where each line begins and ends in `#bytes`. */
  readonly #places: number[] = [];
  readonly #kinds: JobKind[] = [];
  readonly #enqueuedAt: number[] = [];
  #bytes: ArrayBuffer;

  /**
   * @param path of the segment. @param block bytes of it, which are copied. @param position where they begin in the file.
   */
  constructor(path: string, block: Buffer, position: number) {
    this.#path = path;
    this.#position = position;
    // V8 takes resizable ones from the system page by page, and gives the pages back. From malloc, glibc keeps what is
    // freed: after a million jobs were read, 1.3 GB.
    this.#bytes = new ArrayBuffer(block.length, { maxByteLength: block.length });
    new Uint8Array(this.#bytes).set(block);
  }

  get bytes(): number {
    return this.#bytes.byteLength;
  }

  /** Add the line that begins at `from` and ends before `to`. @returns its index. */
  add({ ordinal, id, kind, enqueuedAt }: LineHead, from: number, to: number): number {
    this.ordinals.push(ordinal);
    this.ids.push(id);
    this.#places.push(from, to);
    this.#kinds.push(kind);
    this.#enqueuedAt.push(enqueuedAt);
    return this.ordinals.length - 1;
  }

  head(index: number): JobHead {
    const { createdBy, run, request, life } = this.#kinds[index] as JobKind;
    const { strategy, target, chain, priority } = life;
    const enqueuedAt = this.#enqueuedAt[index] as number;
    return {
      ordinal: this.ordinals[index] as number,
      state: 'pending.ready',
      createdBy,
      run,
      request,
      life: { strategy, target, chain, priority, enqueuedAt },
    };
  }

  /** @throws StoreCorrupt */
  read(index: number): JobRecord {
    const from = this.#places[2 * index] as number;
    const to = this.#places[2 * index + 1] as number;
    try {
      const job = jobOf(JSON.parse(Buffer.from(this.#bytes, from, to - from).toString('utf8')));
      // The one that is known by it, so that it is in memory once.
      job.id = this.ids[index] as string;
      return job;
    } catch (error) {
      throw new StoreCorrupt(this.#path, this.#position + from, `${messageOf(error)}; ${whatToDo}`);
    }
  }

  /** @throws StoreCorrupt for the first line that is no JSON. */
  check(): void {
    for (let index = 0; index < this.ordinals.length; index += 1) this.read(index);
  }

  /** The memory is free at once, and not only when garbage is collected. */
  release(): void {
    this.#bytes = this.#bytes.transferToFixedLength(0);
  }
}
