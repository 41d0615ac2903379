import type { JobEvent } from '../../../machines/events.ts';
import type { JobInput } from '../../../machines/jobLife.ts';
import { type JobEffect, jobRunner } from '../../../machines/jobMachine.ts';
import type { LiveActor } from '../../../machines/runner.ts';
import type { Clock } from '../../domain/clock.ts';
import { CoordinatorError } from '../../domain/errors.ts';
import type { JobCreator, JobRecord, JobRequest, RunLine } from '../../domain/job.ts';
import { type JobState, statusOf } from '../../domain/states.ts';
import type { Logger } from '../../lib/log.ts';
import { nextTurn } from '../../lib/nextTurn.ts';
import type { IdempotencyRecord, JobChange, Store } from '../../store/store.ts';
import { VersionConflict } from '../../store/storeErrors.ts';
import type { Changes, Committed } from '../core/index.ts';
import { type Inspector, inspectOption } from '../core/index.ts';
import { afterConflict } from './conflict.ts';
import { ledgerOf } from './ledger.ts';
import { newJobTotals, runTotalsOf } from './runTotals.ts';

/** One event accepted by one job, not yet durable. */
export interface Step {
  before: JobRecord | null;
  event: JobEvent | null;
  change: JobChange;
  effects: JobEffect[];
}

/** What a job is created from. */
export interface NewJob {
  id: string;
  request: JobRequest;
  /** null when no key is known of. */
  createdBy: JobCreator | null;
  input: JobInput;
  idempotency?: IdempotencyRecord | undefined;
  /** Absent outside of runs. */
  run?: RunLine | undefined;
}

/** The change that creates a job. */
export interface Creation extends JobChange {
  created: NonNullable<JobChange['created']>;
}

export type Applied =
  | ({ kind: 'applied' } & Committed)
  /** No event was one that the present state accepts. */
  | { kind: 'refused'; job: JobRecord }
  | { kind: 'unknown' };

/** Jobs whose creation is published between two turns of the event loop: some 2 ms. */
const publishedPerTurn = 500;

/**
 * Hosts the actors of jobs. A running job is a live actor; any other job is its snapshot in the store and becomes an actor
 * for the moment of an event (`machines/runner.ts`).
 *
 * The commit pipeline: an event goes to the actor; when it accepts, its new snapshot is committed, and only then
 * the feed of changes lets anything leave. When the commit fails, the actor is dropped and the last committed snapshot is valid.
 * One event per job is in flight at a time; later ones queue behind its commit.
 */
export class JobHost {
  readonly #clock: Clock;
  readonly #store: Store;
  readonly #logger: Logger;
  readonly #changes: Changes;
  readonly #inspector: Inspector | null;
  readonly #live = new Map<string, { actor: LiveActor; version: number }>();
  /** The end of the last event in flight, by job. */
  readonly #tails = new Map<string, Promise<void>>();

  constructor(options: {
    clock: Clock;
    store: Store;
    logger: Logger;
    inspector: Inspector | null;
    changes: Changes;
  }) {
    this.#clock = options.clock;
    this.#store = options.store;
    this.#logger = options.logger;
    this.#inspector = options.inspector;
    this.#changes = options.changes;
  }

  /** Live actors: one per running job. */
  get liveCount(): number {
    return this.#live.size;
  }

  /** The state of a live actor; null when the job is at rest. */
  liveState(id: string): JobState | null {
    const live = this.#live.get(id);
    return live === undefined ? null : jobRunner.stateOf(live.actor);
  }

  /** The end of what is in flight for this job, which never rejects; null when there is nothing. */
  inFlight(id: string): Promise<void> | null {
    return this.#tails.get(id) ?? null;
  }

  /** Begin a job: nothing is durable yet. One who begins a job commits it with `create` or `createWith`. */
  begin({ id, request, createdBy, input, idempotency, run }: NewJob): Creation {
    const at = input.createdAt;
    const created: Creation['created'] =
      createdBy === null ? { at, request } : { at, request, by: createdBy };
    if (idempotency !== undefined) created.idempotency = idempotency;
    const { state, context } = jobRunner.begin(input, inspectOption(this.#inspector, 'job', id, true));
    const creation: Creation = { kind: 'job', id, expectedVersion: 0, created, state, life: context };
    if (run !== undefined) {
      created.run = run;
      creation.runTotals = newJobTotals(run);
    }
    return creation;
  }

  /**
   * Make a job durable.
   * @throws StoreUnavailable when it could not be; then there is no such job.
   */
  async create(creation: Creation): Promise<JobRecord> {
    // The dispatcher passes over what is in flight: no job is assigned before its creation has been published.
    const release = this.hold(creation.id);
    try {
      const [record] = await this.#store.commit([creation]);
      return this.#publishCreated(creation.id, record);
    } finally {
      release();
    }
  }

  /**
   * Make a job durable together with its first event. The caller holds the job, and then settles or abandons.
   * @param first the step from `draftOf(creation)`.
   * @returns the job as it was created, which has been published; and the step to settle.
   * @throws StoreUnavailable when it could not be; then there is no such job.
   */
  async createWith(creation: Creation, first: Step): Promise<{ created: JobRecord; step: Step }> {
    const [record] = await this.#store.commit([creation, first.change]);
    const created = this.#publishCreated(creation.id, record);
    return { created, step: { ...first, before: created } };
  }

  /**
   * Make several jobs durable in one commit, all or none. Others get a turn in between, however many they are.
   * @param jobs are asked for one by one as they are written, so that of a long batch only what stays is in memory.
   */
  async createAll(jobs: Iterable<NewJob>): Promise<JobRecord[]> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const ids: string[] = [];
    const creations = function* (host: JobHost) {
      for (const job of jobs) {
        ids.push(job.id);
        host.#tails.set(job.id, promise);
        yield host.begin(job);
      }
    };
    let published = 0;
    try {
      const records = await this.#store.commit(creations(this));
      for (const id of ids) {
        this.#publishCreated(id, records[published]);
        this.#endTail(id, promise);
        published += 1;
        if (published % publishedPerTurn === 0) await nextTurn();
      }
      return records;
    } finally {
      for (const id of ids.slice(published)) this.#endTail(id, promise);
      resolve();
    }
  }

  /**
   * Send a job the first event of those that `choose` makes for it and that its state accepts, and commit the change. When
   * somebody else has changed the job meanwhile, that is decided again with the job as it is now.
   * @param choose may be called again; what it said last counts.
   * @throws StoreUnavailable when the change could not be made durable; the job is then as it was.
   */
  apply(id: string, choose: (job: JobRecord) => readonly JobEvent[]): Promise<Applied> {
    return this.#serial(id, async (): Promise<Applied> => {
      for (let tries = 1; ; tries += 1) {
        const before = await this.#store.job(id);
        if (before === undefined) return { kind: 'unknown' };
        const step = this.#firstStep(before, choose(before));
        if (step === null) return { kind: 'refused', job: before };
        try {
          await this.#store.commit([step.change]);
        } catch (error) {
          this.abandon(step);
          if (!(error instanceof VersionConflict)) throw error;
          await afterConflict(this.#clock, error, tries);
          continue;
        }
        return { kind: 'applied', ...this.settle(step) };
      }
    });
  }

  /**
   * Hold a job that is not busy: its events wait until the returned function is called. For a claim, which commits many
   * jobs at once.
   */
  hold(id: string): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#tails.set(id, promise);
    return () => {
      this.#endTail(id, promise);
      resolve();
    };
  }

  /**
   * Let the actor of `before` handle `event`; nothing is durable yet. The caller commits `change` and then calls
   * `settle`, or `abandon` when the commit fails.
   * @returns null when the state does not accept the event.
   */
  step(before: JobRecord, event: JobEvent): Step | null {
    const actor = this.#actor(before);
    const taken = this.#taken(before.id, actor, event);
    if (taken === null) return null;
    const { to: state, context: life, effects } = taken;
    const ledger = ledgerOf(before, life);
    const runTotals = runTotalsOf(before, state, life);
    if (statusOf(state) === 'running') this.#live.set(before.id, { actor, version: before.version + 1 });
    return {
      before,
      event,
      effects,
      change: {
        kind: 'job',
        id: before.id,
        expectedVersion: before.version,
        state,
        life,
        ...(ledger.length > 0 ? { ledger } : {}),
        ...(runTotals === undefined ? {} : { runTotals }),
      },
    };
  }

  #taken(id: string, actor: LiveActor, event: JobEvent): ReturnType<typeof jobRunner.step> {
    try {
      return jobRunner.step(actor, event);
    } catch (error) {
      this.#live.delete(id);
      this.#logger.error({ err: error, job_id: id }, 'job actor failed');
      throw new CoordinatorError(
        'internal_error',
        `the job machine failed on ${event.type}`,
        {},
        { cause: error },
      );
    }
  }

  /** The step of the first event that the state accepts; null when it accepts none. */
  #firstStep(before: JobRecord, events: readonly JobEvent[]): Step | null {
    for (const event of events) {
      const step = this.step(before, event);
      if (step !== null) return step;
    }
    return null;
  }

  /** The commit of a step has ended well: let its effects out. */
  settle(step: Step): Committed {
    const { before, change } = step;
    if (before === null) throw new Error('only a step of a job that exists is settled');
    if (statusOf(change.state) !== 'running') this.#live.delete(change.id);
    const after: JobRecord = {
      ...before,
      version: before.version + 1,
      state: change.state,
      life: change.life,
    };
    const { event, effects } = step;
    const { ledger = [], runTotals } = change;
    const committed = { before, after, event, effects, ledger, runTotals };
    this.#changes.publish(committed);
    return committed;
  }

  /** The commit of a step has failed: drop the actor, which is ahead of what is durable. */
  abandon(step: Step): void {
    this.#live.delete(step.change.id);
  }

  /** Restore the actor of a job that was running when the coordinator stopped. */
  adopt(job: JobRecord): void {
    this.#live.set(job.id, { actor: this.#actor(job), version: job.version });
  }

  /** Let go of every live actor. Nothing is written. */
  close(): void {
    this.#live.clear();
  }

  /** Publish a job that is durable now. */
  #publishCreated(id: string, record: JobRecord | undefined): JobRecord {
    if (record?.id !== id) throw new Error(`job ${id} was committed and is not in the store`);
    const runTotals = record.run === undefined ? undefined : newJobTotals(record.run);
    this.#changes.publish({ before: null, after: record, event: null, effects: [], ledger: [], runTotals });
    return record;
  }

  #actor({ id, version, state, life: context }: JobRecord): LiveActor {
    const live = this.#live.get(id);
    if (live !== undefined && live.version === version) return live.actor;
    return jobRunner.restore({ state, context }, inspectOption(this.#inspector, 'job', id));
  }

  /** Run `task` after everything of this job that is in flight. */
  async #serial<T>(id: string, task: () => Promise<T>): Promise<T> {
    const ahead = this.#tails.get(id);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#tails.set(id, promise);
    if (ahead !== undefined) await ahead;
    try {
      return await task();
    } finally {
      this.#endTail(id, promise);
      resolve();
    }
  }

  #endTail(id: string, tail: Promise<void>): void {
    if (this.#tails.get(id) === tail) this.#tails.delete(id);
  }
}

/** The job as its creation makes it, for an event that is committed with it. Its place in the store is not known yet. */
export function draftOf({ id, created, state, life }: Creation): JobRecord {
  const { at: createdAt, by: createdBy = null, request } = created;
  return { ordinal: 0, id, version: 1, createdAt, createdBy, request, state, life };
}
