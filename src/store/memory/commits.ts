/* The steps of a commit: collect a group, append it to the log, apply it to memory, answer. Owns the queue, the store's
   health and the handling of unknown outcomes. Promises that no commit is answered before the log is, that memory
   follows the order of the log, and that a refused commit leaves nothing. After a crash an unanswered commit is there
   whole or not at all. */

import type { Clock } from '../../domain/clock.ts';
import { messageOf, StoreUnavailable } from '../../domain/errors.ts';
import type { JobRecord } from '../../domain/job.ts';
import type { Logger } from '../../lib/log.ts';
import { nextTurn } from '../../lib/nextTurn.ts';
import {
  type DurableLog,
  LogFailed,
  type LogRecord,
  type PendingAppend,
  type StoredChange,
} from '../durableLog.ts';
import { OutcomeUnknown } from '../storeErrors.ts';
import { Batch, type BatchHost } from './batch.ts';
import { Holds } from './holds.ts';
import type { Memory } from './memory.ts';

/** Records that share a sync: applying 1,000 of them is one turn of the event loop, and takes less than 10 ms. */
const groupRecordsMax = 1_000;
/**
 * Commits that start a write before the turn of the event loop is over. While these 16 are synced, the rest of the turn
 * is processed, so that neither the disk nor the thread is idle, and what waits for its answer is still in the
 * processor's cache: 64 clients are served 1.6 times as fast as when all of them shared one sync (bench: dispatch).
 */
const groupCommitsMin = 16;
/** Changes of one commit applied between two turns of the event loop: some 5 ms. */
const appliedPerTurn = 1_000;
/** Characters that share a write. A longer record is written alone. */
const groupCharactersMax = 8 * 1024 * 1024;
/** Characters that may wait for the log; more is refused rather than kept in memory. */
const waitingCharactersMax = 256 * 1024 * 1024;
/** How often a failing log is tried while there are no commits. */
const probeMs = 1_000;

/** A record waiting for the log. */
interface QueuedCommit extends LogRecord {
  characters: number;
  /** Jobs held until it has ended. */
  ids: readonly string[];
  /** The jobs it created, once it is applied. */
  made: JobRecord[];
  /** Monotonic ms. */
  beganAt: number;
  resolve: (made: JobRecord[]) => void;
  reject: (error: Error) => void;
}

const outcomeUnknown = 'It is not known whether the last changes are durable';

function closedUnknown(): OutcomeUnknown {
  return new OutcomeUnknown(
    `${outcomeUnknown}: the store was closed before that. Check before you send them again`,
  );
}

function failedUnknown(failure: Error): OutcomeUnknown {
  return new OutcomeUnknown(`${outcomeUnknown}, and the store has failed: ${failure.message}`, failure);
}

/** What `Commits` works with. */
export interface CommitsOptions {
  log: DurableLog;
  memory: Memory;
  clock: Clock;
  logger: Logger;
  /** Called with the duration of each successful commit, ms. */
  onCommit: (tookMs: number) => void;
}

/**
 * Group commit: commits that arrive during an append share the next one. A commit is one record of the log, so it is
 * stored whole or not at all; memory changes after the append, in the order of the log. While the outcome of a group is
 * unknown, no commit is answered and all later ones wait behind it.
 */
export class Commits {
  /** Resolves with the cause when nothing can be acknowledged any more. */
  readonly failed: Promise<Error>;
  readonly #options: CommitsOptions;
  /** One for all batches: a job has three of them. */
  readonly #batchHost: BatchHost;
  readonly #holds: Holds;
  #waiting: QueuedCommit[] = [];
  #waitingCharacters = 0;
  readonly #tasks: (() => Promise<void>)[] = [];
  #pumping: Promise<void> | null = null;
  /** Set while a group is collected. */
  #endCollecting: (() => void) | null = null;
  #isClosed = false;
  #problem: string | null = null;
  /** Why the outcome of the last group is unknown; null when it is known. */
  #unknown: string | null = null;
  /** Stops waiting for that outcome. */
  #abandonPending: ((error: OutcomeUnknown) => void) | null = null;
  /** The wait for a group was given up: nothing may be appended after it. */
  #hasAbandoned = false;
  #failure: Error | null = null;
  #tellFailed: (error: Error) => void = () => {};
  #cancelProbe: (() => void) | null = null;

  constructor(options: CommitsOptions) {
    this.#options = options;
    const holds = new Holds(options.memory);
    this.#holds = holds;
    this.#batchHost = {
      holds,
      enqueue: (texts, characters, changes, ids) => this.#enqueue(texts, characters, changes, ids),
    };
    this.failed = new Promise((resolve) => {
      this.#tellFailed = resolve;
    });
  }

  /** Why writes are refused now, and whether that is final; null when they are not. */
  get problem(): { detail: string; isFinal: boolean } | null {
    if (this.#failure !== null) return { detail: this.#failure.message, isFinal: true };
    const detail = this.#unknown ?? this.#problem;
    return detail === null ? null : { detail, isFinal: false };
  }

  /** @throws StoreUnavailable when no write can succeed: after `close`, and when the store has failed. */
  assertOpen(): void {
    if (this.#failure !== null) throw new StoreUnavailable(this.#failure.message, this.#failure);
    if (this.#isClosed) throw new StoreUnavailable('the store is closed');
  }

  /** Begin a commit: add changes to it, then `commit` or `abandon` it. @throws StoreUnavailable, see `assertOpen`. */
  begin(): Batch {
    this.assertOpen();
    return new Batch(this.#batchHost);
  }

  /**
   * Run a task between two groups, while no write runs. @returns what it returned or threw. @throws see `assertOpen`.
   */
  between<T>(task: () => Promise<T>): Promise<T> {
    this.assertOpen();
    return new Promise((resolve, reject) => {
      this.#tasks.push(() => this.#run(task).then(resolve, reject));
      this.#pumping ??= this.#pump();
    });
  }

  /** The store can no longer be trusted: nothing is acknowledged from now on. */
  fail(error: Error): void {
    if (this.#failure !== null) return;
    this.#failure = error;
    this.#options.logger.fatal({ err: error }, 'the store has failed; nothing is acknowledged any more');
    this.#tellFailed(error);
    this.#abandonPending?.(failedUnknown(error));
  }

  /** Wait for running commits, except while their outcome is unknown; later ones are refused. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelProbe?.();
    this.#abandonPending?.(closedUnknown());
    await this.#pumping;
  }

  #enqueue(
    texts: readonly string[],
    characters: number,
    changes: StoredChange[],
    ids: readonly string[],
  ): Promise<JobRecord[]> {
    this.assertOpen();
    if (this.#waitingCharacters > 0 && this.#waitingCharacters + characters > waitingCharactersMax) {
      throw new StoreUnavailable('commits arrive faster than the store can write them');
    }
    for (const change of changes) this.#options.memory.sharing.change(change);
    return new Promise((resolve, reject) => {
      const beganAt = this.#options.clock.monotonic();
      this.#push({ texts, characters, changes, ids, made: [], beganAt, resolve, reject });
    });
  }

  #push(waiting: QueuedCommit): void {
    this.#waiting.push(waiting);
    this.#waitingCharacters += waiting.characters;
    this.#pumping ??= this.#pump();
    if (this.#waiting.length >= groupCommitsMin) this.#endCollecting?.();
  }

  async #pump(): Promise<void> {
    while (this.#waiting.length > 0 || this.#tasks.length > 0) {
      for (let task = this.#tasks.shift(); task !== undefined; task = this.#tasks.shift()) await task();
      if (this.#waiting.length === 0) continue;
      await this.#collect();
      const group = this.#nextGroup();
      try {
        this.#assertAppends();
        const pending = await this.#options.log.append(group);
        if (pending !== null) await this.#untilKnown(pending);
        // The log may have failed meanwhile.
        if (this.#failure !== null) throw pending === null ? this.#failure : failedUnknown(this.#failure);
      } catch (error) {
        this.#refuse(group, error);
        continue;
      }
      await this.#accept(group);
      await this.#options.log.afterGroup();
    }
    this.#pumping = null;
  }

  /** @throws Error why nothing may be appended any more. */
  #assertAppends(): void {
    if (this.#failure !== null) throw this.#failure;
    if (this.#hasAbandoned) throw new Error('the store was closed before it could be written');
  }

  async #run<T>(task: () => Promise<T>): Promise<T> {
    this.#assertAppends();
    return task();
  }

  /**
   * Wait until the outcome of a group is known. @throws what `known` rejects with. @throws OutcomeUnknown when the
   * store is closed, or fails, before that.
   */
  async #untilKnown({ detail, known }: PendingAppend): Promise<void> {
    const { logger } = this.#options;
    this.#unknown = `${outcomeUnknown}: ${detail}`;
    logger.error(
      { detail },
      'it is not known whether the last changes are durable; nothing is acknowledged until it is',
    );
    try {
      await new Promise<void>((resolve, reject) => {
        this.#abandonPending = reject;
        known.then(resolve, reject);
        if (this.#failure !== null) reject(failedUnknown(this.#failure));
        else if (this.#isClosed) reject(closedUnknown());
      });
      logger.info('the last changes are durable');
    } catch (error) {
      this.#hasAbandoned = error instanceof OutcomeUnknown;
      throw error;
    } finally {
      this.#unknown = null;
      this.#abandonPending = null;
    }
  }

  /** Wait until enough commits share the write, at most until the end of the turn that brought the first. */
  #collect(): Promise<void> {
    if (this.#waiting.length >= groupCommitsMin) return Promise.resolve();
    return new Promise((resolve) => {
      const end = () => {
        clearImmediate(turn);
        this.#endCollecting = null;
        resolve();
      };
      const turn = setImmediate(end);
      this.#endCollecting = end;
    });
  }

  #nextGroup(): QueuedCommit[] {
    let count = 0;
    let characters = 0;
    for (const waiting of this.#waiting) {
      if (count === groupRecordsMax || (count > 0 && characters + waiting.characters > groupCharactersMax))
        break;
      count += 1;
      characters += waiting.characters;
    }
    this.#waitingCharacters -= characters;
    return this.#waiting.splice(0, count);
  }

  async #accept(group: readonly QueuedCommit[]): Promise<void> {
    try {
      for (const waiting of group) {
        if (waiting.changes.length > appliedPerTurn && waiting.changes.length === waiting.ids.length) {
          await this.#acceptInSlices(waiting);
        } else {
          for (const change of waiting.changes) this.#apply(change, waiting);
          for (const id of waiting.ids) this.#holds.letGo(id);
        }
      }
    } catch (error) {
      // The record is durable but memory could not apply it: a bug, after which memory cannot be trusted.
      this.fail(new Error(`a durable change could not be applied: ${messageOf(error)}`, { cause: error }));
      for (const { reject } of group) reject(new StoreUnavailable('the store has failed', error));
      return;
    }
    if (this.#problem !== null) this.#options.logger.info('the store can be written again');
    this.#problem = null;
    this.#cancelProbe?.();
    this.#cancelProbe = null;
    const now = this.#options.clock.monotonic();
    for (const { resolve, made, beganAt, changes } of group) {
      if (changes.length > 0) this.#options.onCommit(now - beganAt);
      resolve(made);
    }
  }

  #apply(change: StoredChange, { made }: QueuedCommit): void {
    const job = this.#options.memory.apply(change);
    if (job !== null) made.push(job);
  }

  /** A long commit of as many jobs, each changed once: a job is free for the next commit as soon as memory has it. */
  async #acceptInSlices(waiting: QueuedCommit): Promise<void> {
    for (const [index, change] of waiting.changes.entries()) {
      if (index > 0 && index % appliedPerTurn === 0) await nextTurn();
      this.#apply(change, waiting);
      if (change.kind === 'job') this.#holds.letGo(change.id);
    }
  }

  #refuse(group: readonly QueuedCommit[], error: unknown): void {
    for (const { ids } of group) this.#holds.giveBack(ids);
    if (error instanceof OutcomeUnknown) {
      for (const { reject } of group) reject(error);
      return;
    }
    if (error instanceof LogFailed) this.fail(error);
    else if (this.#failure === null && !this.#hasAbandoned) this.#suffer(messageOf(error));
    const refusal = new StoreUnavailable(`the change could not be made durable: ${messageOf(error)}`, error);
    for (const { reject } of group) reject(refusal);
  }

  #suffer(detail: string): void {
    if (this.#problem === null) this.#options.logger.error({ detail }, 'the store cannot be written');
    this.#problem = detail;
    if (this.#isClosed || this.#cancelProbe !== null) return;
    // An empty record: a server taken out of rotation while it fails gets no commit that would notice its recovery.
    this.#cancelProbe = this.#options.clock.after(probeMs, () => {
      this.#cancelProbe = null;
      if (this.#problem === null || this.#isClosed) return;
      const beganAt = this.#options.clock.monotonic();
      const nobody = { resolve: () => {}, reject: () => {} };
      this.#push({ texts: [], characters: 0, changes: [], ids: [], made: [], beganAt, ...nobody });
    });
  }
}
