import { join, resolve } from 'node:path';
import type { Clock } from '../../domain/clock.ts';
import type { CostBucket, CostDimension } from '../../domain/cost.ts';
import type { JobRecord } from '../../domain/job.ts';
import type { KeyRecord } from '../../domain/key.ts';
import type { WorkerRecord } from '../../domain/worker.ts';
import { type FolderLock, FolderLocked, lockFolder } from '../../lib/folderLock.ts';
import { type Logger, silent } from '../../lib/log.ts';
import { nextTurn } from '../../lib/nextTurn.ts';
import { Archive } from '../json/archive/archive.ts';
import { makeCheckpoint } from '../json/checkpoint/checkpoint.ts';
import { Checkpointer, type RunCheckpoint, runInThread } from '../json/checkpoint/checkpointer.ts';
import { codeOf, type Files, nodeFiles } from '../json/files.ts';
import { Journal } from '../json/journal/journal.ts';
import { JournalWatch } from '../json/journal/journalWatch.ts';
import { type Layout, layoutOf } from '../json/layout.ts';
import { restore } from '../json/restore.ts';
import { Commits } from '../memory/commits.ts';
import { leaveForArchive } from '../memory/leave.ts';
import { Memory } from '../memory/memory.ts';
import { scanJobs } from '../memory/search/jobScan.ts';
import { searchJobs } from '../memory/search/jobSearch.ts';
import {
  type ArchiveRule,
  type AuditPage,
  type AuditQuery,
  type BacklogGroup,
  type Change,
  type Decide,
  type Demand,
  type IdempotencyRecord,
  type JobChange,
  type JobCounts,
  type JobFilter,
  type JobPage,
  type JobQuery,
  type LaneSummary,
  type Store,
  type StoreHealth,
  StoreLocked,
  StoreUnusable,
} from '../store.ts';

/**
 * 128 MiB: some 60,000 dispatches of 1 KB and what becomes of them; replayed in 0.7 s. A checkpoint takes a second of a
 * core for each 32 MiB: with one after every 32 MiB a drain on two cores was a tenth slower.
 */
const defaultCheckpointBytes = 128 * 1024 * 1024;
/** Files of the journal that make a checkpoint: a round of one takes two of them, and little memory. */
const sealsPerCheckpoint = 4;
/** Of journal that a checkpoint folds in at once: some 200 MB of memory. */
const roundBytesMax = 64 * 1024 * 1024;
/** Entries of the audit log in memory that make a checkpoint: some 5 MB. */
const auditEntriesMax = 10_000;
const defaultAuditKeptMs = 400 * 86_400_000;
/** Offers of one claim between two turns of the event loop: about 1 ms. */
const offersPerTurn = 1_000;

/** Changes of one commit that are made ready between two turns of the event loop: some 5 ms. */
const changesPerTurn = 500;
/** The same of long changes. */
const charactersPerTurn = 1024 ** 2;

/** What the store is made of. */
export interface JsonStoreOptions {
  /** The folder; made when it is missing. */
  path: string;
  clock: Clock;
  logger?: Logger | undefined;
  /** Milliseconds that a job of this priority is ahead of its time of arrival; must always answer the same. */
  headStart: (priority: string) => number;
  /** Bytes of journal after which a checkpoint is made, 128 MiB unless told. */
  checkpointBytes?: number | undefined;
  /** How long entries of the audit log are kept, ms; 400 days unless given. */
  auditKeptMs?: (() => number) | undefined;
  /** Told how long each commit took, ms, claims included; failed ones are not told. */
  onCommit?: ((tookMs: number) => void) | undefined;
  /** The file system, that of the machine unless told. With another one checkpoints are made in this thread. */
  files?: Files | undefined;
  /** Takes the folder for this process. @throws FolderLocked */
  lock?: ((folder: string) => Promise<FolderLock>) | undefined;
}

/** The embedded store, and what only its own tests and benchmarks ask of it. */
export interface JsonStore extends Store {
  /** Seal the journal and make a checkpoint now; resolves when none is under way. */
  checkpoint(): Promise<void>;
}

/**
 * The embedded store: everything in memory, a journal on disk that every commit waits for, and lowdb files as the
 * checkpoint. One process a folder. See docs/operations.md for its files.
 */
export function createJsonStore(options: JsonStoreOptions): JsonStore {
  return new FolderStore(options);
}

/** What there is while the store is open. */
interface Parts {
  lock: FolderLock;
  journal: Journal;
  commits: Commits;
  watch: JournalWatch;
  checkpointer: Checkpointer;
  archive: Archive;
}

class FolderStore implements JsonStore {
  readonly failed: Promise<Error>;
  readonly #options: JsonStoreOptions;
  readonly #files: Files;
  readonly #logger: Logger;
  readonly #memory: Memory;
  readonly #checkpointBytes: number;
  #tellFailed: (error: Error) => void = () => {};
  #parts: Parts | null = null;
  #isOpened = false;
  #closing: Promise<void> | null = null;
  /** Length of the journal at which sealing it is tried again, after it failed. */
  #sealAgainAt = 0;
  readonly #layout: Layout;
  readonly #auditKeptMs: () => number;

  constructor(options: JsonStoreOptions) {
    const { clock, headStart } = options;
    this.#options = options;
    this.#files = options.files ?? nodeFiles;
    this.#logger = options.logger ?? silent;
    this.#checkpointBytes = options.checkpointBytes ?? defaultCheckpointBytes;
    this.#layout = layoutOf(resolve(options.path));
    this.#auditKeptMs = options.auditKeptMs ?? (() => defaultAuditKeptMs);
    this.#memory = new Memory({ headStart, now: () => clock.now() });
    this.failed = new Promise((resolve) => {
      this.#tellFailed = resolve;
    });
  }

  async open(): Promise<void> {
    if (this.#isOpened) throw new Error('a store is opened once; create another one');
    this.#isOpened = true;
    try {
      await this.#openFolder(this.#layout);
    } catch (error) {
      throw codeOf(error) === null ? error : new StoreUnusable(this.#layout.root, error);
    }
  }

  async #openFolder(layout: Layout): Promise<void> {
    await this.#files.makeFolder(layout.root);
    const lock = await this.#lock(layout.root);
    try {
      const { clock } = this.#options;
      const { active, nextSeq, sealed } = await restore(this.#files, layout, this.#memory, this.#logger);
      const file = await this.#files.open(join(layout.journal, active.name), 'append');
      const journal = new Journal(this.#files, layout.journal, file, active, nextSeq);
      const run: RunCheckpoint =
        this.#files === nodeFiles ? runInThread : (plan) => makeCheckpoint(this.#files, plan);
      const checkpointer = new Checkpointer(
        {
          root: layout.root,
          run,
          clock,
          logger: this.#logger,
          enoughBytes: this.#checkpointBytes,
          roundBytesMax: Math.min(2 * this.#checkpointBytes, roundBytesMax),
          auditKeptMs: this.#auditKeptMs,
          onMade: ({ audit }) => this.#memory.audit.folded(audit),
        },
        sealed,
      );
      const commits = new Commits({
        journal,
        memory: this.#memory,
        clock,
        logger: this.#logger,
        onCommit: (tookMs) => this.#options.onCommit?.(tookMs),
        afterGroup: () => this.#sealWhenLong(journal, checkpointer),
      });
      commits.failed.then(this.#tellFailed);
      const archive = new Archive({
        files: this.#files,
        folder: layout.archive,
        isHot: (id) => this.#memory.jobs.get(id) !== undefined,
        logger: this.#logger,
      });
      await archive.open();
      const watch = new JournalWatch({
        journal,
        clock,
        logger: this.#logger,
        onLost: (lost) => commits.fail(lost),
      });
      this.#parts = { lock, journal, commits, watch, checkpointer, archive };
      watch.start();
      checkpointer.start();
    } catch (error) {
      await lock.release();
      throw error;
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  health(): StoreHealth {
    const parts = this.#parts;
    if (parts === null || this.#closing !== null)
      return { status: 'closed', detail: 'it is not open', journalBytes: 0 };
    const { commits, checkpointer, journal } = parts;
    const journalBytes = journal.bytes + checkpointer.sealedBytes;
    const { problem } = commits;
    if (problem !== null) {
      return { status: problem.isFinal ? 'failed' : 'failing', detail: problem.detail, journalBytes };
    }
    const detail =
      checkpointer.problem === null
        ? null
        : `the last checkpoint failed and will be tried again, until then the journal grows: ${checkpointer.problem}`;
    return { status: 'ok', detail, journalBytes };
  }

  async commit(changes: Iterable<Change>): Promise<JobRecord[]> {
    const batch = this.#open().commits.begin();
    let added = 0;
    let turnCharacters = 0;
    try {
      for (const change of changes) {
        if (added === changesPerTurn || batch.characters - turnCharacters > charactersPerTurn) {
          added = 0;
          turnCharacters = batch.characters;
          await nextTurn();
        }
        batch.add(change);
        added += 1;
      }
    } catch (error) {
      batch.abandon();
      throw error;
    }
    return await batch.commit();
  }

  async claim(demand: Demand, decide: Decide): Promise<JobChange[]> {
    const { commits } = this.#open();
    const { jobs, lanes } = this.#memory;
    const batch = commits.begin();
    const claimed: JobChange[] = [];
    try {
      const walk = lanes.walk(demand.lanes);
      let offers = 0;
      let step = claimed.length < demand.limit ? walk.next(true) : null;
      while (step !== null && !step.done) {
        const job = jobs.at(step.value.ordinal);
        const decision = decide(job, step.value.lane);
        if (typeof decision !== 'string') {
          if (decision.id !== job.id)
            throw new Error(`job ${job.id} was offered, ${decision.id} was changed`);
          batch.add(decision);
          claimed.push(decision);
        }
        if (claimed.length >= demand.limit) break;
        offers += 1;
        if (offers % offersPerTurn === 0) await nextTurn();
        step = walk.next(decision !== 'close');
      }
    } catch (error) {
      batch.abandon();
      throw error;
    }
    if (claimed.length > 0) await batch.commit();
    return claimed;
  }

  async job(id: string): Promise<JobRecord | undefined> {
    return this.#memory.jobs.get(id);
  }

  jobs(query: JobQuery, signal?: AbortSignal): Promise<JobPage> {
    return searchJobs(this.#memory.jobs, query, signal);
  }

  async runningJobs(): Promise<JobRecord[]> {
    return this.#memory.jobs.in('running.active', 'running.stuck');
  }

  async delayedJobs(): Promise<JobRecord[]> {
    return this.#memory.jobs.in('pending.delayed');
  }

  async counts(): Promise<JobCounts> {
    return this.#memory.jobs.counts();
  }

  async pendingByKey(): Promise<Map<string, number>> {
    return this.#memory.jobs.countByKey('pending.ready', 'pending.delayed');
  }

  async backlog(): Promise<BacklogGroup[]> {
    return this.#memory.backlog.groups();
  }

  async archive(rule: ArchiveRule, mayLeave: (job: JobRecord) => boolean): Promise<number> {
    const { commits, archive } = this.#open();
    const { jobs } = this.#memory;
    const { clock } = this.#options;
    return archive.alone(() => leaveForArchive({ now: clock.now(), jobs, commits, archive }, rule, mayLeave));
  }

  archivedJob(id: string): Promise<JobRecord | undefined> {
    return this.#open().archive.find(id);
  }

  scan(filter: JobFilter, isArchivedToo: boolean): AsyncGenerator<JobRecord[]> {
    return scanJobs(this.#memory, this.#open().archive, filter, isArchivedToo);
  }

  async lanes(): Promise<LaneSummary[]> {
    return this.#memory.lanes.summaries((ordinal) => this.#memory.jobs.at(ordinal));
  }

  async position(id: string): Promise<number | null> {
    const job = this.#memory.jobs.get(id);
    return job?.state === 'pending.ready' ? this.#memory.lanes.position(job) : null;
  }

  async costBuckets(from: number, to: number, dimension: CostDimension): Promise<CostBucket[]> {
    return this.#memory.costs.buckets(from, to, dimension);
  }

  async workers(): Promise<WorkerRecord[]> {
    return [...this.#memory.registry.workers.values()];
  }

  async keys(): Promise<KeyRecord[]> {
    return [...this.#memory.registry.keys.values()];
  }

  audit(query: AuditQuery): Promise<AuditPage> {
    const from = this.#options.clock.now() - this.#auditKeptMs();
    return this.#memory.audit.page(this.#files, this.#layout.audit, query, from);
  }

  async idempotent(key: string): Promise<IdempotencyRecord | undefined> {
    return this.#memory.idempotent(key);
  }

  async idempotencyKeys(owner: string): Promise<number> {
    return this.#memory.idempotencyKeys(owner);
  }

  async checkpoint(): Promise<void> {
    const { journal, commits, checkpointer } = this.#open();
    await commits.between(async () => {
      if (journal.bytes > 0) await this.#seal(journal, checkpointer);
    });
    checkpointer.start();
    await checkpointer.idle();
  }

  #open(): Parts {
    if (this.#parts === null) throw new Error('the store is not open');
    return this.#parts;
  }

  async #lock(root: string): Promise<FolderLock> {
    try {
      return await (this.#options.lock ?? lockFolder)(root);
    } catch (error) {
      if (error instanceof FolderLocked) throw new StoreLocked(error.message, { cause: error });
      throw error;
    }
  }

  async #close(): Promise<void> {
    const parts = this.#parts;
    if (parts === null) return;
    try {
      await parts.watch.close();
      await parts.commits.close();
      await parts.checkpointer.close();
      await parts.archive.close();
      await parts.journal.close();
    } catch (error) {
      // Everything acknowledged is durable, and what a failing disk kept back was refused: nothing is lost by this.
      this.#logger.error({ err: error }, 'the store could not be closed cleanly; the next start cleans up');
    } finally {
      await parts.lock.release();
    }
  }

  async #seal(journal: Journal, checkpointer: Checkpointer): Promise<void> {
    await journal.rotate((sealed) => checkpointer.add(sealed));
    this.#memory.audit.unsealed = 0;
  }

  /** Between two groups: begin a new file of the journal when this one is long, and a checkpoint of the old one. */
  async #sealWhenLong(journal: Journal, checkpointer: Checkpointer): Promise<void> {
    const sealBytes = this.#checkpointBytes / sealsPerCheckpoint;
    const isAuditLong = this.#memory.audit.unsealed >= auditEntriesMax;
    if (journal.bytes < Math.max(isAuditLong ? 1 : sealBytes, this.#sealAgainAt)) return;
    try {
      await this.#seal(journal, checkpointer);
      this.#sealAgainAt = 0;
      if (isAuditLong) checkpointer.start();
    } catch (error) {
      this.#sealAgainAt = journal.bytes + sealBytes / 4;
      this.#logger.error(
        { err: error },
        'the journal could not be sealed for a checkpoint; it grows until it can',
      );
    }
  }
}
