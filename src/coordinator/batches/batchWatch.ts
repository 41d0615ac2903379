import type { Config } from '../../config/config.ts';
import { type BatchResult, isFinal, type LineFault } from '../../domain/batch.ts';
import type { Clock } from '../../domain/clock.ts';
import { CoordinatorError, messageOf } from '../../domain/errors.ts';
import type { FileRecord } from '../../domain/file.ts';
import type { JobRequest } from '../../domain/job.ts';
import { jobStates, statusOf } from '../../domain/states.ts';
import { KeyedQueue } from '../../lib/keyedQueue.ts';
import type { Logger } from '../../lib/log.ts';
import { Lookout } from '../../lib/lookout.ts';
import type { Store } from '../../store/store.ts';
import type { Committed, Deadlines } from '../core/index.ts';
import type { FileShelf } from '../files/index.ts';
import type { PlannedRequest } from '../jobs/index.ts';
import { openJobsOf, type RunBook, type RunHost, type RunIntake, type RunWatch } from '../runs/index.ts';
import type { BatchFormat } from './batchFormat.ts';
import type { BatchHost } from './batchHost.ts';
import { BatchIntake } from './batchIntake.ts';
import { checkFile } from './batchReading.ts';
import { Closed, type ResultParts, StillOpen, writeFiles } from './batchResults.ts';
import { type BatchRun, isBatch } from './batchRun.ts';

/** After a failure, ms: twice as long after each further one. */
const retryMs = 1_000;
const retryMsMax = 60_000;
/** How often batches are checked for the end of their window, or of their run: nothing else may report it. */
const tickMs = 2_000;
/** The states of jobs that have not started. */
const waitingStates = jobStates.filter((state) => statusOf(state) === 'pending');

/** What the watch works with. */
export interface BatchWatchParts {
  config: () => Config;
  clock: Clock;
  deadlines: Deadlines;
  logger: Logger;
  store: Store;
  files: FileShelf;
  book: RunBook;
  host: BatchHost;
  runHost: RunHost;
  runWatch: RunWatch;
  runIntake: RunIntake;
  plan: (request: JobRequest) => PlannedRequest;
  /** Told when the first batch is begun and when the last one has ended. */
  onBatches: (areUnderWay: boolean) => void;
}

/**
 * What a batch does by itself: reads its file, makes its lines jobs, ends with the last of them and writes its files. What is due
 * follows from its state and the totals of its run, so it is begun again after each start, and nothing of it can be lost by a
 * crash.
 */
export class BatchWatch {
  readonly #parts: BatchWatchParts;
  readonly #lookout = new Lookout(
    (id) => this.#lookAt(id),
    (id, error) => this.#tryAgain(id, error),
  );
  /** Files are read and written one after the other for each key. */
  readonly #turns = new KeyedQueue();
  readonly #intakes = new Map<string, BatchIntake>();
  /** Batches that have not ended. */
  readonly #underWay = new Set<string>();
  /** How long each waits after its next failure, ms. */
  readonly #retries = new Map<string, number>();
  #format: BatchFormat | null = null;
  #isClosed = false;

  constructor(parts: BatchWatchParts) {
    this.#parts = parts;
  }

  /** Go on with every batch from now on. */
  open(format: BatchFormat): void {
    this.#format = format;
    for (const run of this.#parts.book.list([])) this.look(run.id);
    this.#tickLater();
  }

  /** Resolves when nothing is read or written any more: what was begun is begun again at the next start. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#lookout.idle();
  }

  /** How files are read and answers written. @throws Error before `open`. */
  get format(): BatchFormat {
    if (this.#format === null) throw new Error('batches are not open');
    return this.#format;
  }

  /** What reads and writes answers. */
  get results(): ResultParts {
    const { store, files, clock } = this.#parts;
    const isClosed = () => this.#isClosed;
    return { store, files, format: this.format, now: () => clock.now(), isClosed };
  }

  /** A change of a job is durable. */
  follow({ runTotals }: Committed): void {
    if (runTotals === undefined) return;
    const run = this.#parts.book.find(runTotals.runId);
    if (run === undefined || !isBatch(run) || isFinal(run.batch.state)) return;
    const refillAt = this.#intakes.get(run.id)?.refillAt ?? 0;
    if (openJobsOf(run.totals) === 0 || run.totals.pending <= refillAt || run.batch.state === 'expiring')
      this.look(run.id);
  }

  /** Do what is due for a batch; nothing for another run. */
  look(id: string): void {
    if (this.#format !== null && !this.#isClosed && this.#current(id) !== null) this.#lookout.look(id);
  }

  #tickLater(): void {
    const { clock, deadlines, book } = this.#parts;
    if (this.#isClosed) return;
    deadlines.set(clock.monotonic() + tickMs, () => {
      const now = clock.now();
      for (const run of book.list([]))
        if (
          isBatch(run) &&
          run.batch.state === 'in_progress' &&
          (run.batch.request.expiresAt <= now || run.state === 'cancelled')
        )
          this.look(run.id);
      this.#tickLater();
    });
  }

  #tryAgain(id: string, error: unknown): void {
    if (this.#isClosed) return;
    this.#parts.logger.warn(
      { batch: id, error: messageOf(error) },
      'a batch could not be brought up to date; trying again',
    );
    const afterMs = this.#retries.get(id) ?? retryMs;
    this.#retries.set(id, Math.min(retryMsMax, afterMs * 2));
    this.#lookLater(id, afterMs);
  }

  #lookLater(id: string, afterMs: number): void {
    const { clock, deadlines } = this.#parts;
    deadlines.set(clock.monotonic() + afterMs, () => this.look(id));
  }

  /** The batch as it is; null when nothing of it is to come. */
  #current(id: string): BatchRun | null {
    const run = this.#parts.book.find(id);
    return run !== undefined && isBatch(run) && !isFinal(run.batch.state) ? run : null;
  }

  /** Take all the steps that are due. */
  async #lookAt(id: string): Promise<void> {
    this.#count(id);
    for (;;) {
      const run = this.#current(id);
      if (run === null || this.#isClosed) break;
      const isMoved = await this.#step(run);
      this.#retries.delete(id);
      if (!isMoved) break;
    }
    if (this.#current(id)?.batch.state !== 'in_progress') this.#intakes.delete(id);
    this.#count(id);
  }

  #count(id: string): void {
    const before = this.#underWay.size;
    if (this.#current(id) === null) this.#underWay.delete(id);
    else this.#underWay.add(id);
    const after = this.#underWay.size;
    if ((before === 0) !== (after === 0)) this.#parts.onBatches(after > 0);
  }

  /** @returns whether the batch is in another state now. */
  #step(run: BatchRun): Promise<boolean> {
    switch (run.batch.state) {
      case 'validating':
        return this.#inTurn(run, () => this.#validate(run));
      case 'in_progress':
        return this.#goOn(run);
      case 'expiring':
        return this.#expire(run);
      case 'cancelling':
        return this.#cancel(run);
      default:
        return this.#inTurn(run, () => this.#write(run));
    }
  }

  #inTurn(run: BatchRun, task: () => Promise<boolean>): Promise<boolean> {
    return this.#turns.run(run.createdBy?.keyId ?? '', task);
  }

  async #validate(run: BatchRun): Promise<boolean> {
    const { files, config, clock, host, logger, runWatch } = this.#parts;
    const isWanted = () => !this.#isClosed && this.#current(run.id)?.batch.state === 'validating';
    const checked = await checkFile(files, run, this.format, config().http.maxBodyBytes, isWanted).catch(
      (error: unknown) => {
        if (!isFileLost(error)) throw error;
        return { lines: 0, faults: [lostFault(error)] };
      },
    );
    if (checked === null) return !this.#isClosed;
    const { lines, faults } = checked;
    const at = clock.now();
    const read = await host.apply(run.id, () =>
      faults.length === 0 ? { type: 'batch.validated', lines, at } : { type: 'batch.refused', faults, at },
    );
    if (read !== null) runWatch.look(read);
    logger.info({ batch: run.name, lines, faults: faults.length }, 'the file of a batch was read');
    return true;
  }

  async #goOn(run: BatchRun): Promise<boolean> {
    const { clock, host } = this.#parts;
    const at = clock.now();
    if (run.state === 'cancelled') {
      await host.apply(run.id, () => ({ type: 'batch.cancelled', at }));
      return true;
    }
    if (run.batch.request.expiresAt <= at) {
      await host.apply(run.id, () => ({ type: 'batch.expired', at }));
      return true;
    }
    const admitted = await this.#admit(run);
    if (!admitted.isWhole) {
      if (admitted.retryAfterMs !== null) this.#lookLater(run.id, admitted.retryAfterMs);
      // It stopped because the batch shall go on no longer.
      return this.#mayAdmit(run.id) === null && !this.#isClosed;
    }
    const ended = await host.apply(run.id, ({ totals }) =>
      openJobsOf(totals) === 0 ? { type: 'batch.ended', at: clock.now() } : null,
    );
    return ended !== null;
  }

  async #admit(run: BatchRun) {
    const known = this.#intakes.get(run.id);
    const intake = known ?? new BatchIntake({ ...this.#parts, format: this.format });
    this.#intakes.set(run.id, intake);
    try {
      return await intake.admit(() => this.#mayAdmit(run.id));
    } catch (error) {
      this.#intakes.delete(run.id);
      if (isFileLost(error)) return { isWhole: true } as const;
      throw error;
    }
  }

  #mayAdmit(id: string): BatchRun | null {
    const run = this.#current(id);
    if (this.#isClosed || run?.batch.state !== 'in_progress' || run.state === 'cancelled') return null;
    return run.batch.request.expiresAt > this.#parts.clock.now() ? run : null;
  }

  /** None of its waiting jobs starts from here on. */
  async #expire(run: BatchRun): Promise<boolean> {
    const { clock, book, runHost, runWatch } = this.#parts;
    const detail = 'Its window is over; what waits is cancelled';
    await runHost.apply(run.id, ({ state, totals }) =>
      state === 'running' && totals.pending > 0
        ? { type: 'run.paused', reason: 'deadline', detail, at: clock.now() }
        : null,
    );
    await runWatch.cancelJobs(run.id, waitingStates);
    if (openJobsOf(book.get(run.id).totals) > 0) return false;
    return this.#inTurn(run, () => this.#write(run));
  }

  async #cancel(run: BatchRun): Promise<boolean> {
    const { clock, runHost, runWatch } = this.#parts;
    const cancelled = await runHost.apply(run.id, () => ({ type: 'run.cancelled', at: clock.now() }));
    const now = cancelled ?? this.#parts.book.get(run.id);
    if (openJobsOf(now.totals) > 0) {
      runWatch.look(now);
      return false;
    }
    return this.#inTurn(run, () => this.#write(run));
  }

  async #write(run: BatchRun): Promise<boolean> {
    const { host } = this.#parts;
    try {
      await writeFiles(this.results, run, (result, files) => this.#finish(run, result, files));
      return true;
    } catch (error) {
      if (error instanceof Closed) return false;
      if (isFileLost(error)) return this.#finish(run, resultWithoutFiles(run), [], [lostFault(error)]);
      if (!(error instanceof StillOpen)) throw error;
      await host.apply(run.id, () => ({ type: 'batch.reopened' }));
      return run.batch.state === 'finalizing';
    }
  }

  /** @returns false when the batch is not at its end any more. */
  async #finish(
    { id, name }: BatchRun,
    result: BatchResult,
    written: FileRecord[],
    faults: LineFault[] = [],
  ): Promise<boolean> {
    const { clock, files, host, logger, runWatch } = this.#parts;
    const records = written.map((file) => ({ kind: 'file', file }) as const);
    const at = clock.now();
    const ended = await host.apply(id, () => ({ type: 'batch.written', result, faults, at }), records);
    if (ended === null) return false;
    for (const file of written) files.put(file);
    runWatch.look(ended);
    const { completed, failed } = result;
    logger.info({ batch: name, status: ended.batch.state, completed, failed }, 'a batch has ended');
    if (faults.length > 0)
      logger.error({ batch: name }, 'the input file of a batch is lost, so it has no answer files');
    return true;
  }
}

/** Its input file is gone, although it was in use: its bytes were removed by hand, or the disk lost them. */
function isFileLost(error: unknown): error is CoordinatorError {
  return error instanceof CoordinatorError && error.code === 'file_not_found';
}

function lostFault({ code, message }: CoordinatorError): LineFault {
  return { line: null, code, message, param: 'input_file_id' };
}

/** What is known of a batch whose lines are not: its jobs have their answers. */
function resultWithoutFiles({ totals }: BatchRun): BatchResult {
  const { completed, failed, inputTokens, outputTokens, nanoDollars } = totals;
  return {
    completed,
    failed,
    inputTokens,
    cachedInputTokens: 0,
    outputTokens,
    reasoningTokens: 0,
    nanoDollars,
    outputFileId: null,
    errorFileId: null,
  };
}
