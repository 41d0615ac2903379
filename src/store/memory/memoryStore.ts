/* The store of the coordinator: memory over a durable log. Owns the life cycle, claims, and the reads; memory, commits
   and the log do the rest, and no other file here knows all three. Promises what `Store` promises, for every log. After
   a crash only what the log returns is left. */

import type { Annotation } from '../../domain/annotation.ts';
import type { Clock } from '../../domain/clock.ts';
import type { CostBucket, CostDimension } from '../../domain/cost.ts';
import { messageOf } from '../../domain/errors.ts';
import type { FileRecord } from '../../domain/file.ts';
import type { JobRecord } from '../../domain/job.ts';
import type { KeyRecord } from '../../domain/key.ts';
import type { ProviderHold } from '../../domain/provider.ts';
import type { QueueState } from '../../domain/queue.ts';
import type { RunRecord } from '../../domain/run.ts';
import type { Delivery, WebhookRecord } from '../../domain/webhook.ts';
import type { WorkerRecord } from '../../domain/worker.ts';
import { type Logger, silent } from '../../lib/log.ts';
import { nextTurn } from '../../lib/nextTurn.ts';
import type { DurableLog, LogHost } from '../durableLog.ts';
import type {
  ArchiveRule,
  AuditPage,
  AuditQuery,
  BacklogGroup,
  Change,
  Decide,
  Demand,
  IdempotencyRecord,
  JobChange,
  JobCounts,
  JobFilter,
  JobPage,
  JobQuery,
  LaneSummary,
  RunPage,
  Store,
  StoreHealth,
} from '../store.ts';
import { Commits } from './commits.ts';
import { leaveForArchive } from './leave.ts';
import { Memory } from './memory.ts';
import { scanJobs } from './search/jobScan.ts';
import { searchJobs } from './search/jobSearch.ts';

/** Offers of one claim between two turns of the event loop: about 1 ms. */
const offersPerTurn = 1_000;

/** Changes of one commit prepared between two turns of the event loop: some 5 ms. */
const changesPerTurn = 500;
/** The same for long changes. */
const charactersPerTurn = 1024 ** 2;

/** The options of a `MemoryStore`, besides its log. */
export interface MemoryStoreOptions {
  clock: Clock;
  logger?: Logger | undefined;
  /** Milliseconds that a job of this priority is ahead of its time of arrival; must always return the same. */
  headStart: (priority: string) => number;
  /** How long entries of the audit log are shown, ms. */
  auditKeptMs: () => number;
  /** Called with the duration of each successful commit, ms, claims included. */
  onCommit?: ((tookMs: number) => void) | undefined;
}

/** The store, over any log. */
export class MemoryStore implements Store {
  readonly failed: Promise<Error>;
  readonly #log: DurableLog;
  readonly #clock: Clock;
  readonly #memory: Memory;
  readonly #commits: Commits;
  readonly #auditKeptMs: () => number;
  /** `open` is called once. */
  #isOpening = false;
  #isOpen = false;
  #closing: Promise<void> | null = null;

  constructor(log: DurableLog, options: MemoryStoreOptions) {
    const { clock, headStart, logger = silent, onCommit = () => {} } = options;
    this.#log = log;
    this.#clock = clock;
    this.#auditKeptMs = options.auditKeptMs;
    this.#memory = new Memory({
      headStart,
      now: () => clock.now(),
      // While it opens, `open` throws it.
      onDamaged: (error) => {
        if (this.#isOpen) this.#commits.fail(new Error(messageOf(error), { cause: error }));
      },
    });
    this.#commits = new Commits({ log, memory: this.#memory, clock, logger, onCommit });
    this.failed = this.#commits.failed;
  }

  async open(): Promise<void> {
    if (this.#isOpening) throw new Error('a store is opened once; create another one');
    this.#isOpening = true;
    await this.#log.open(hostOf(this.#memory, this.#commits));
    try {
      this.#memory.buildIndexes();
    } catch (error) {
      await this.#log.close();
      throw error;
    }
    this.#isOpen = true;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  health(): StoreHealth {
    if (!this.#isOpen || this.#closing !== null)
      return { status: 'closed', detail: 'it is not open', replayBytes: 0, unreadBytes: 0 };
    const { detail, bytes: replayBytes } = this.#log.health();
    const bytes = { replayBytes, unreadBytes: this.#memory.jobs.unreadBytes };
    const { problem } = this.#commits;
    if (problem === null) return { status: 'ok', detail, ...bytes };
    return { status: problem.isFinal ? 'failed' : 'failing', detail: problem.detail, ...bytes };
  }

  async commit(changes: Iterable<Change>): Promise<JobRecord[]> {
    const batch = this.#open().begin();
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
    const { jobs, lanes } = this.#memory;
    const batch = this.#open().begin();
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

  async jobsOfRun(runId: string, { state, after, limit }: RunPage): Promise<JobRecord[]> {
    return this.#memory.jobs.ofRun(runId, state, after, limit);
  }

  async countOfRun(runId: string): Promise<number> {
    return this.#memory.jobs.countOfRun(runId);
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
    const commits = this.#open();
    const log = this.#log;
    const { jobs } = this.#memory;
    return log.alone(() => leaveForArchive({ now: this.#clock.now(), jobs, commits, log }, rule, mayLeave));
  }

  archivedJob(id: string): Promise<JobRecord | undefined> {
    this.#open();
    return this.#log.find(id);
  }

  scan(filter: JobFilter, isArchivedToo: boolean): AsyncGenerator<JobRecord[]> {
    this.#open();
    return scanJobs(this.#memory, this.#log, filter, isArchivedToo);
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
    return [...this.#memory.records.workers.values()];
  }

  async keys(): Promise<KeyRecord[]> {
    return [...this.#memory.records.keys.values()];
  }

  async queue(): Promise<QueueState> {
    return this.#memory.records.queue;
  }

  async providers(): Promise<ProviderHold[]> {
    return [...this.#memory.records.providers.values()];
  }

  async files(): Promise<FileRecord[]> {
    return [...this.#memory.records.files.values()];
  }

  async annotation(jobId: string): Promise<Annotation | undefined> {
    return this.#memory.records.annotations.get(jobId);
  }

  async webhooks(): Promise<{ webhooks: WebhookRecord[]; deliveries: Delivery[] }> {
    const { webhooks, deliveries } = this.#memory.records;
    return { webhooks: [...webhooks.values()], deliveries: [...deliveries.values()] };
  }

  async runs(): Promise<RunRecord[]> {
    return [...this.#memory.records.runs.values()];
  }

  audit(query: AuditQuery): Promise<AuditPage> {
    const from = this.#clock.now() - this.#auditKeptMs();
    return this.#memory.audit.page(query, from, (since, until) => this.#log.audit(since, until));
  }

  async idempotent(key: string): Promise<IdempotencyRecord | undefined> {
    return this.#memory.idempotent(key);
  }

  async idempotencyKeys(owner: string): Promise<number> {
    return this.#memory.idempotencyKeys(owner);
  }

  /** Commits, for calls that need an open store. */
  #open(): Commits {
    if (!this.#isOpen) throw new Error('the store is not open');
    return this.#commits;
  }

  async #close(): Promise<void> {
    if (!this.#isOpen) return;
    await this.#commits.close();
    await this.#log.close();
  }
}

/** The part of the store that a log sees. */
function hostOf(memory: Memory, commits: Commits): LogHost {
  return {
    load: memory,
    isHot: (id) => memory.jobs.has(id),
    get auditSeq() {
      return memory.audit.seq;
    },
    auditKept: (seq) => memory.audit.kept(seq),
    between: (task) => commits.between(task),
    fail: (error) => commits.fail(error),
  };
}
