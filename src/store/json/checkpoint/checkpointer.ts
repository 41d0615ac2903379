/*
 * When a checkpoint is made, and in which thread: one at a time, again after a failure. Sealed files of the journal stay
 * until a checkpoint has them, so a crash only means that the next start replays more.
 */

import { Worker } from 'node:worker_threads';
import type { Clock } from '../../../domain/clock.ts';
import { messageOf } from '../../../domain/errors.ts';
import type { Logger } from '../../../lib/log.ts';
import type { JournalFile } from '../journal/replay.ts';
import type { CheckpointPlan, CheckpointReport } from './checkpoint.ts';

/** Makes one checkpoint; `signal` asks it to stop, which it may do at any step. */
export type RunCheckpoint = (plan: CheckpointPlan, signal: AbortSignal) => Promise<CheckpointReport>;

/** A checkpoint that failed is tried again after this time, or when the next file of the journal is sealed. */
const retryMs = 60_000;

/** Where the program was built, the thread's file is JavaScript like this one. */
const workerFile = new URL('./checkpointWorker.ts', import.meta.url);
if (import.meta.url.endsWith('.js')) workerFile.pathname = workerFile.pathname.replace(/ts$/, 'js');

/**
 * Make the checkpoint in a thread of its own, so that parsing and writing stop nobody. The thread may take 1 GiB of
 * heap and dies of more, alone: it needs some 200 MB for 64 MiB of journal.
 */
export const runInThread: RunCheckpoint = (plan, signal) =>
  new Promise((resolve, reject) => {
    const worker = new Worker(workerFile, {
      workerData: plan,
      name: 'checkpoint',
      resourceLimits: { maxOldGenerationSizeMb: 1024 },
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
  /** Bytes of sealed journal that begin a checkpoint. */
  enoughBytes: number;
  /** Bytes of journal that go into one checkpoint, more only when a single file has more; see `makeCheckpoint`. */
  roundBytesMax: number;
  /** How long entries of the audit log are kept, ms; asked at each checkpoint. */
  auditKeptMs: () => number;
  /** A checkpoint was made. */
  onMade: (report: CheckpointReport) => void;
}

/**
 * Sees to it that sealed files of the journal get into the checkpoint, some of them together: a job that begins and ends
 * in them is written once. One checkpoint at a time, again after a failure.
 */
export class Checkpointer {
  readonly #options: CheckpointerOptions;
  readonly #sealed: JournalFile[];
  readonly #stop = new AbortController();
  #running: Promise<void> | null = null;
  #cancelRetry: (() => void) | null = null;
  #problem: string | null = null;

  /** @param sealed files that wait since before the start, oldest first. */
  constructor(options: CheckpointerOptions, sealed: readonly JournalFile[]) {
    this.#options = options;
    this.#sealed = [...sealed];
  }

  /** Why the last checkpoint failed; null when it did not. */
  get problem(): string | null {
    return this.#problem;
  }

  /** Bytes of journal that wait for a checkpoint. */
  get sealedBytes(): number {
    return this.#sealed.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** A file of the journal was sealed: begin a checkpoint when that makes enough. */
  add(sealed: JournalFile): void {
    this.#sealed.push(sealed);
    if (this.sealedBytes >= this.#options.enoughBytes) this.start();
  }

  /** Make a checkpoint of what waits, unless one is under way or nothing waits. */
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

  /** Wait until no checkpoint is under way and none is due. For tests and benchmarks. */
  async idle(): Promise<void> {
    while (this.#running !== null) await this.#running;
  }

  /** Stop a checkpoint that is under way, at whatever step, and begin no more: the next start goes on. */
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
      logger.error({ err: error }, 'the checkpoint failed; the journal keeps what it would have taken in');
    }
  }
}
