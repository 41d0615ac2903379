import type { Clock } from '../../domain/clock.ts';
import { CoordinatorError } from '../../domain/errors.ts';
import { isTerminal } from '../../domain/states.ts';
import type { Logger } from '../../lib/log.ts';
import { BlobMissing, type Blobs, streamPrefix } from '../../store/blobs.ts';
import type { Store } from '../../store/store.ts';
import type { Deadlines } from '../core/index.ts';
import { findJob } from '../jobs/index.ts';
import { type OpenSpools, Spool } from './spool.ts';

/** How long a spool is kept after the end of its job, ms. */
export const keptMs = 3_600_000;
/** Bytes of one spool: a long answer in words of five letters, each in a line of its own, has some 1 MB. */
const spoolBytesMax = 4 * 1024 ** 2;
/** Of all spools; beyond it no more is recorded until older ones have gone. */
const bytesMax = 1024 ** 3;
/** As many may be kept, and as many may be about to grow. */
const spoolsMax = 10_000;
const lookEveryMs = 60_000;
const newline = 0x0a;

interface Known {
  bytes: number;
  /** Epoch ms; null until its job is known to have ended. */
  removeAt: number | null;
}

/** Lines that were read, and the place after them. */
interface Lines {
  lines: string[];
  /** In bytes from the beginning. */
  next: number;
}

/** The spools of all jobs. */
export class Spools {
  readonly #blobs: Blobs;
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #deadlines: Deadlines;
  readonly #logger: Logger;
  /** By job. */
  readonly #known = new Map<string, Known>();
  /** Those that still grow. */
  readonly #growing = new Map<string, Spool>();
  readonly #open: OpenSpools = { count: 0 };
  #bytes = 0;
  #isClosed = false;

  constructor(options: {
    blobs: Blobs;
    store: Store;
    clock: Clock;
    deadlines: Deadlines;
    logger: Logger;
  }) {
    this.#blobs = options.blobs;
    this.#store = options.store;
    this.#clock = options.clock;
    this.#deadlines = options.deadlines;
    this.#logger = options.logger;
  }

  /** Take up what there is, and remove from now on what is too old. */
  start(): void {
    this.#takeUp()
      .then(() => this.#sweep())
      .catch((error: unknown) => this.#logger.error({ err: error }, 'recorded streams could not be listed'))
      .finally(() => this.#lookLater());
  }

  close(): void {
    this.#isClosed = true;
    for (const spool of this.#growing.values()) spool.end();
  }

  /** Begin the spool of a job that has just been created. It is over at once when there are too many. */
  begin(jobId: string): Spool {
    const spool = new Spool({
      id: streamPrefix + jobId,
      blobs: this.#blobs,
      logger: this.#logger,
      mayAdd: (bytes) => this.#mayAdd(jobId, bytes),
      open: this.#open,
    });
    if (this.#growing.size >= spoolsMax) spool.end();
    else this.#growing.set(jobId, spool);
    spool.onChange(() => {
      if (spool.isOver) this.#growing.delete(jobId);
    });
    return spool;
  }

  /** The spool of a job while it grows; null before and after that. */
  growing(jobId: string): Spool | null {
    return this.#growing.get(jobId) ?? null;
  }

  /** The whole lines from a place on, as far as they are written; none when there is no spool. @throws the error of the disk. */
  async *read(jobId: string, from: number): AsyncGenerator<Lines> {
    const growing = this.#growing.get(jobId);
    const to = growing?.size;
    if (to !== undefined && to <= from) return;
    const recent = growing?.recent(from) ?? null;
    if (recent !== null && to !== undefined) {
      yield { lines: recent.slice(0, -1).split('\n'), next: to };
      return;
    }
    let next = from;
    let carried: Buffer = Buffer.alloc(0);
    try {
      for await (const piece of this.#blobs.read(streamPrefix + jobId, from, to)) {
        const bytes = carried.length === 0 ? piece : Buffer.concat([carried, piece]);
        const end = bytes.lastIndexOf(newline) + 1;
        carried = bytes.subarray(end);
        if (end === 0) continue;
        next += end;
        yield { lines: bytes.toString('utf8', 0, end - 1).split('\n'), next };
      }
    } catch (error) {
      if (!(error instanceof BlobMissing)) throw error;
    }
  }

  /** Nothing happens when there is none. @throws the error of the disk. */
  async remove(jobId: string): Promise<void> {
    const growing = this.#growing.get(jobId);
    growing?.end();
    await growing?.written();
    await this.#blobs.remove(streamPrefix + jobId);
    this.#bytes -= this.#known.get(jobId)?.bytes ?? 0;
    this.#known.delete(jobId);
  }

  async #takeUp(): Promise<void> {
    for (const id of await this.#blobs.list()) {
      const jobId = id.slice(streamPrefix.length);
      const bytes = id.startsWith(streamPrefix) ? await this.#blobs.size(id) : null;
      // One that has begun meanwhile is counted.
      if (bytes === null || this.#known.has(jobId)) continue;
      this.#known.set(jobId, { bytes, removeAt: null });
      this.#bytes += bytes;
    }
  }

  #mayAdd(jobId: string, bytes: number): boolean {
    const known = this.#known.get(jobId) ?? { bytes: 0, removeAt: null };
    if (known.bytes === 0 && this.#known.size >= spoolsMax) return false;
    if (known.bytes + bytes > spoolBytesMax || this.#bytes + bytes > bytesMax) return false;
    known.bytes += bytes;
    this.#bytes += bytes;
    this.#known.set(jobId, known);
    return true;
  }

  #lookLater(): void {
    if (this.#isClosed) return;
    this.#deadlines.set(this.#clock.monotonic() + lookEveryMs, () => {
      this.#sweep()
        .catch((error: unknown) =>
          this.#logger.error({ err: error }, 'old recorded streams could not be removed; trying again'),
        )
        .finally(() => this.#lookLater());
    });
  }

  async #sweep(): Promise<void> {
    for (const [jobId, known] of this.#known) {
      if (this.#isClosed) return;
      if (this.#growing.has(jobId)) continue;
      known.removeAt ??= await this.#removeAt(jobId);
      if (known.removeAt !== null && known.removeAt <= this.#clock.now()) await this.remove(jobId);
    }
  }

  /** Epoch ms; null while its job has not ended. */
  async #removeAt(jobId: string): Promise<number | null> {
    try {
      const { state, life } = await findJob(this.#store, jobId);
      return isTerminal(state) ? (life.finishedAt ?? life.updatedAt) + keptMs : null;
    } catch (error) {
      if (error instanceof CoordinatorError && error.code === 'job_not_found') return 0;
      throw error;
    }
  }
}
