import { CoordinatorError } from '../../domain/errors.ts';
import type { JobRequest } from '../../domain/job.ts';
import { notBound, type Principal } from '../../domain/key.ts';
import type { TextLine } from '../../lib/textLines.ts';
import type { FileShelf } from '../files/index.ts';
import type { PlannedRequest } from '../jobs/index.ts';
import type { PlannedLine, RunIntake } from '../runs/index.ts';
import { type BatchFormat, BatchLineFault } from './batchFormat.ts';
import { inputLines } from './batchReading.ts';
import type { BatchRun } from './batchRun.ts';

/** Lines that are made jobs in one commit, and their bytes. */
const chunkLinesMax = 500;
const chunkBytesMax = 2 * 1024 ** 2;
/** Jobs of a batch that wait at most, and their bytes: the rest of the file stays on the disk. */
const waitingLinesMax = 5_000;
const waitingBytesMax = 32 * 1024 ** 2;
/** After a refusal that names no time, s. */
const retrySeconds = 5;

/** Whether all lines of a batch are jobs now, as far as they can be. */
export type Admitted =
  | { isWhole: true }
  /** @param retryAfterMs null: when jobs of it have started or ended. */
  | { isWhole: false; retryAfterMs: number | null };

/**
 * Makes the lines of one batch jobs, a part at a time. It begins at the first line after each start: known ones are passed
 * over. While it waits it holds nothing but its place in the file: a thousand batches may wait.
 */
export class BatchIntake {
  readonly #format: BatchFormat;
  readonly #runIntake: RunIntake;
  readonly #plan: (request: JobRequest) => PlannedRequest;
  readonly #files: FileShelf;
  /** null while it waits. */
  #lines: AsyncGenerator<TextLine> | null = null;
  /** Where `#lines` began, and the end of the last line that is a job: bytes of the file. */
  #from = 0;
  #place = 0;
  /** Lines that were read and are not jobs yet, with where each ends, and their bytes. */
  #chunk: { line: PlannedLine; end: number }[] = [];
  #chunkBytes = 0;
  /** Of lines so far. */
  #readLines = 0;
  #readBytes = 0;
  /** Lines of a commit: less after one that was too large for a share. */
  #chunkLines = chunkLinesMax;
  #isAtEnd = false;

  constructor(parts: {
    files: FileShelf;
    format: BatchFormat;
    runIntake: RunIntake;
    plan: (request: JobRequest) => PlannedRequest;
  }) {
    this.#files = parts.files;
    this.#format = parts.format;
    this.#runIntake = parts.runIntake;
    this.#plan = parts.plan;
  }

  /** Jobs that wait at which more are made; below 0 when there are none to come. */
  get refillAt(): number {
    if (this.#isAtEnd && this.#chunk.length === 0) return -1;
    return this.#waitingMax / 2;
  }

  get #waitingMax(): number {
    const meanBytes = this.#readLines === 0 ? 1 : this.#readBytes / this.#readLines;
    return Math.min(waitingLinesMax, Math.ceil(waitingBytesMax / meanBytes));
  }

  /**
   * Make jobs until enough of them wait, or there is no room for more.
   * @param current the batch as it is; null when it shall take no more jobs.
   * @throws CoordinatorError other than those that pass; StoreUnavailable; the error of the disk. It cannot be used again then.
   */
  async admit(current: () => BatchRun | null): Promise<Admitted> {
    try {
      return await this.#admit(current);
    } finally {
      await this.#rest();
    }
  }

  async #admit(current: () => BatchRun | null): Promise<Admitted> {
    for (;;) {
      const run = current();
      if (run === null) return { isWhole: false, retryAfterMs: null };
      if (this.#isAtEnd && this.#chunk.length === 0) return { isWhole: true };
      if (run.totals.pending >= this.#waitingMax) return { isWhole: false, retryAfterMs: null };
      await this.#fill(run);
      const retryAfterMs = await this.#commit(run);
      if (retryAfterMs !== null) return { isWhole: false, retryAfterMs };
    }
  }

  async #rest(): Promise<void> {
    if (this.#chunk.length > 0) this.#isAtEnd = false;
    this.#chunk = [];
    this.#chunkBytes = 0;
    await this.#lines?.return(undefined);
    this.#lines = null;
  }

  async #fill(run: BatchRun): Promise<void> {
    if (this.#lines === null) this.#from = this.#place;
    this.#lines ??= inputLines(this.#files, run, { from: this.#from });
    while (!this.#isAtEnd && this.#chunk.length < this.#chunkLines && this.#chunkBytes < chunkBytesMax) {
      const { value, done } = await this.#lines.next();
      if (done === true) {
        this.#isAtEnd = true;
        return;
      }
      this.#readLines += 1;
      this.#readBytes += value.bytes;
      try {
        const { lineId, request } = await this.#format.parse(value.text, run.batch.request);
        const line = { lineId, planned: this.#plan(request) };
        this.#chunk.push({ line, end: this.#from + value.end });
        this.#chunkBytes += value.bytes;
      } catch (error) {
        // It was right when the file was checked: its model is gone since. It ends up in the error file.
        if (isOfLine(error)) continue;
        throw error;
      }
    }
  }

  /** @returns when to try again, ms; null when it was done. */
  async #commit(run: BatchRun): Promise<number | null> {
    const part = this.#chunk.slice(0, this.#chunkLines);
    const lines = part.map(({ line }) => line);
    try {
      await this.#runIntake.add(run.id, lines, principalOf(run));
    } catch (error) {
      if (!(error instanceof CoordinatorError) || !waited.has(error.code)) throw error;
      const { retryAfterSeconds } = error.details;
      // More than the share of a key, or the queue, ever has room for.
      if (retryAfterSeconds === undefined && lines.length > 1) {
        this.#chunkLines = Math.ceil(lines.length / 2);
        return null;
      }
      return (retryAfterSeconds ?? retrySeconds) * 1000;
    }
    this.#chunk = this.#chunk.slice(lines.length);
    this.#place = part.at(-1)?.end ?? this.#place;
    if (this.#chunk.length === 0) this.#chunkBytes = 0;
    return null;
  }
}

/** Refusals that pass, or that smaller commits do not meet. */
const waited: ReadonlySet<string> = new Set(['queue_full', 'share_exceeded', 'draining', 'invalid_request']);

/** A line that cannot be run: its own fault, or nothing names a provider for it any more. */
function isOfLine(error: unknown): boolean {
  if (error instanceof BatchLineFault) return true;
  return error instanceof CoordinatorError && error.code === 'invalid_request';
}

/** The key that sent the batch: it owns the jobs, and they count towards its share. */
function principalOf({ createdBy, batch }: BatchRun): Principal | null {
  if (createdBy === null) return null;
  const role = batch.request.hasShare ? 'client' : 'operator';
  return { keyId: createdBy.keyId, name: createdBy.name, role, bounds: notBound, secretHash: '' };
}
