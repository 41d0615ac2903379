/* When a checkpoint is made, and in which thread: one at a time, retried after a failure. Sealed journal files remain
   until a checkpoint contains them, so a crash only means a longer replay. */

import { Worker } from 'node:worker_threads';
import type { Clock } from '../../../domain/clock.ts';
import { messageOf } from '../../../domain/errors.ts';
import type { Logger } from '../../../lib/log.ts';
import { threadFile } from '../../../lib/threadFile.ts';
import type { JournalFile } from '../journal/replay.ts';
import type { CheckpointPlan, CheckpointReport } from './checkpoint.ts';

/** Makes one checkpoint; `signal` requests a stop, which may happen at any step. */
export type RunCheckpoint = (plan: CheckpointPlan, signal: AbortSignal) => Promise<CheckpointReport>;

/** A failed checkpoint is retried after this time, or when the next journal file is sealed. */
const retryMs = 60_000;

const workerFile = threadFile('./checkpointWorker.ts', import.meta.url);

/**
 * Make the checkpoint in its own thread, so that parsing and writing block nothing. The thread may use 1 GiB of heap
 * and is ended alone beyond it: it needs some 200 MB for 64 MiB of journal.
 */
export const runInThread: RunCheckpoint = (plan, signal) =>
  new Promise((resolve, reject) => {
    const worker = new Worker(workerFile, {
      workerData: plan,
      name: 'checkpoint',
      resourceLimits: { maxOldGenerationSizeMb: 1024, maxYoungGenerationSizeMb: 8 },
    });
    const stop = () => {
      worker.terminate().then(() => reject(new Error('the checkpoint was stopped')), reject);
    };
    signal.addEventListener('abort', stop, { once: true });
    let report: CheckpointReport | null = null;
    worker.once('message', (message: CheckpointReport) => {
      report = message;
    });
    worker.once('error', reject);
    worker.once('exit', (code) => {
      signal.removeEventListener('abort', stop);
      if (report !== null) resolve(report);
      else reject(new Error(`the checkpoint's thread ended with code ${code} and no report`));
    });
  });

/** What `Checkpointer` works with. */
export interface CheckpointerOptions {
  root: string;
  run: RunCheckpoint;
  clock: Clock;
  logger: Logger;
  /** Bytes of sealed journal that start a checkpoint. */
  enoughBytes: number;
  /** Bytes of journal in one checkpoint, more only when a single file has more; see `makeCheckpoint`. */
  roundBytesMax: number;
  /** How long entries of the audit log are kept, ms; read at each checkpoint. */
  auditKeptMs: () => number;
  /** A checkpoint was made. */
  onMade: (report: CheckpointReport) => void;
}

/**
 * Folds sealed journal files into the checkpoint, several together: a job that starts and ends in them is written once.
 * One checkpoint at a time, retried after a failure.
 */
export class Checkpointer {
  readonly #options: CheckpointerOptions;
  readonly #sealed: JournalFile[];
  readonly #stop = new AbortController();
  #running: Promise<void> | null = null;
  #cancelRetry: (() => void) | null = null;
  #problem: string | null = null;

  /** @param sealed files from before the start, oldest first. */
  constructor(options: CheckpointerOptions, sealed: readonly JournalFile[]) {
    this.#options = options;
    this.#sealed = [...sealed];
  }

  /** Why the last checkpoint failed; null when it did not. */
  get problem(): string | null {
    return this.#problem;
  }

  /** Bytes of journal waiting for a checkpoint. */
  get sealedBytes(): number {
    return this.#sealed.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** A journal file was sealed: start a checkpoint when that is enough. */
  add(sealed: JournalFile): void {
    this.#sealed.push(sealed);
    if (this.sealedBytes >= this.#options.enoughBytes) this.start();
  }

  /** Make a checkpoint of the waiting files, unless one is running or none wait. */
  start(): void {
    if (this.#running !== null || this.#sealed.length === 0 || this.#stop.signal.aborted) return;
    this.#cancelRetry?.();
    this.#cancelRetry = null;
    this.#running = this.#run().finally(() => {
      this.#running = null;
      if (this.#problem === null) this.start();
      else if (!this.#stop.signal.aborted) {
        this.#cancelRetry = this.#options.clock.after(retryMs, () => this.start());
      }
    });
  }

  /** Wait until no checkpoint is running or due. For tests and benchmarks. */
  async idle(): Promise<void> {
    while (this.#running !== null) await this.#running;
  }

  /** Stop a running checkpoint at any step, and start no more: the next start continues. */
  async close(): Promise<void> {
    this.#stop.abort();
    this.#cancelRetry?.();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { root, run, clock, logger, roundBytesMax, auditKeptMs, onMade } = this.#options;
    const round: JournalFile[] = [];
    let bytes = 0;
    for (const file of this.#sealed) {
      if (round.length > 0 && bytes + file.bytes > roundBytesMax) break;
      round.push(file);
      bytes += file.bytes;
    }
    const startedAt = clock.monotonic();
    try {
      const now = clock.now();
      const journals = round.map(({ name }) => name);
      const plan = { root, journals, roundBytesMax, now, auditBefore: now - auditKeptMs() };
      const report = await run(plan, this.#stop.signal);
      onMade(report);
      this.#sealed.splice(0, round.length);
      this.#problem = null;
      const { seq, segments, leftovers } = report;
      const durationMs = Math.round(clock.monotonic() - startedAt);
      logger.info(
        { seq, segments, bytes: report.bytes, journalBytes: bytes, durationMs },
        'made a checkpoint',
      );
      if (leftovers.length > 0)
        logger.warn({ leftovers }, 'files of the last checkpoint could not be removed');
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      this.#problem = messageOf(error);
      logger.error({ err: error }, 'the checkpoint failed; the journal keeps its changes');
    }
  }
}
