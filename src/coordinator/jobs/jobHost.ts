import type { JobEvent } from '../../../machines/events.ts';
import { jobRunner } from '../../../machines/jobMachine.ts';
import type { LiveActor } from '../../../machines/runner.ts';
import type { Clock } from '../../domain/clock.ts';
import { CoordinatorError } from '../../domain/errors.ts';
import type { JobCreator, JobInput, JobLife, JobRecord, JobRequest, RunLine } from '../../domain/job.ts';
import { type JobState, statusOf } from '../../domain/states.ts';
import type { Delivery } from '../../domain/webhook.ts';
import { Gathered } from '../../lib/gathered.ts';
import type { Logger } from '../../lib/log.ts';
import { nextTurn } from '../../lib/nextTurn.ts';
import type { IdempotencyRecord, JobChange, Store } from '../../store/store.ts';
import { VersionConflict } from '../../store/storeErrors.ts';
import type { Changes, Committed } from '../core/index.ts';
import { type Inspector, inspectOption } from '../core/index.ts';
import { afterConflict } from './conflict.ts';
import { type HeldGroup, InFlight } from './inFlight.ts';
import { ledgerOf } from './ledger.ts';
import { newJobTotals, runTotalsOf } from './runTotals.ts';
import type { Applied, Step } from './step.ts';
import { type Asked, TurnGroup } from './turnGroup.ts';

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

/** What is to be sent to webhooks when a job changes to a state and a life. */
type DeliveriesOf = (before: JobRecord, state: JobState, life: JobLife) => readonly Delivery[];

/** A running job. */
interface Live {
  actor: LiveActor;
  version: number;
  /** As it was committed last; null while its first commit is under way. */
  job: JobRecord | null;
}

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
  readonly #deliveriesOf: DeliveriesOf;
  readonly #accepted: (request: JobRequest) => JobRequest;
  readonly #live = new Map<string, Live>();
  readonly #inFlight = new InFlight();
  /** Events of one turn, for jobs that run: most of them are results. */
  readonly #asked = new Gathered<Asked>((asked) => this.#applyAll(asked));

  constructor(options: {
    clock: Clock;
    store: Store;
    logger: Logger;
    inspector: Inspector | null;
    changes: Changes;
    deliveriesOf: DeliveriesOf;
    /** A request as it is stored, which says what its names stand for now. */
    accepted: (request: JobRequest) => JobRequest;
  }) {
    this.#clock = options.clock;
    this.#store = options.store;
    this.#logger = options.logger;
    this.#inspector = options.inspector;
    this.#changes = options.changes;
    this.#deliveriesOf = options.deliveriesOf;
    this.#accepted = options.accepted;
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
    return this.#inFlight.of(id);
  }

  /** Begin a job: nothing is durable yet. One who begins a job commits it with `create` or `createWith`. */
  begin({ id, request: asked, createdBy, input, idempotency, run }: NewJob): Creation {
    const at = input.createdAt;
    const request = this.#accepted(asked);
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
    const release = this.#inFlight.hold(creation.id);
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
    const group = this.#inFlight.group();
    const ids: string[] = [];
    const creations = function* (host: JobHost) {
      for (const job of jobs) {
        ids.push(job.id);
        group.hold(job.id);
        yield host.begin(job);
      }
    };
    try {
      const records = await this.#store.commit(creations(this));
      for (const [index, id] of ids.entries()) {
        this.#publishCreated(id, records[index]);
        group.letGo(id);
        if ((index + 1) % publishedPerTurn === 0) await nextTurn();
      }
      return records;
    } finally {
      group.end();
    }
  }

  /**
   * Send a job the first event of those that `choose` makes for it and that its state accepts, and commit the change. When
   * somebody else has changed the job meanwhile, that is decided again with the job as it is now.
   * @param choose may be called again; what it said last counts.
   * @throws StoreUnavailable when the change could not be made durable; the job is then as it was.
   */
  apply(id: string, choose: (job: JobRecord) => readonly JobEvent[]): Promise<Applied> {
    if ((this.#live.get(id)?.job ?? null) === null) return this.#applyAlone(id, choose);
    return new Promise((resolve, reject) => this.#asked.add({ id, choose, resolve, reject }));
  }

  #applyAlone(id: string, choose: Asked['choose']): Promise<Applied> {
    return this.#inFlight.serial(id, async (): Promise<Applied> => {
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

  /** What was asked for in one turn becomes as few commits as its size allows. */
  #applyAll(asked: readonly Asked[]): void {
    let group = new TurnGroup(this.#inFlight.group());
    for (const one of asked) {
      const before = this.#live.get(one.id)?.job ?? null;
      if (before === null || this.#inFlight.of(one.id) !== null) {
        this.#settleAlone(one);
        continue;
      }
      try {
        const step = this.#firstStep(before, one.choose(before));
        if (step === null) one.resolve({ kind: 'refused', job: before });
        else group.add(one, step);
      } catch (error) {
        one.reject(error);
      }
      if (!group.isFull) continue;
      void this.#commitGroup(group);
      group = new TurnGroup(this.#inFlight.group());
    }
    void this.#commitGroup(group);
  }

  #settleAlone({ id, choose, resolve, reject }: Asked): void {
    this.#applyAlone(id, choose).then(resolve, reject);
  }

  /** Commit the steps of a group as one, and let their effects out. Never rejects. */
  async #commitGroup({ held, steps }: TurnGroup): Promise<void> {
    if (steps.length === 0) return;
    try {
      await this.#store.commit(steps.map(({ step }) => step.change));
    } catch (error) {
      for (const { step } of steps) this.abandon(step);
      held.end();
      for (const { asked } of steps) {
        // Another writer has changed one of them, or no store could keep it. The others must not fail with it.
        if (error instanceof VersionConflict || !(error instanceof CoordinatorError))
          this.#settleAlone(asked);
        else asked.reject(error);
      }
      return;
    }
    for (const { asked, step } of steps) {
      try {
        const committed = this.settle(step);
        held.letGo(asked.id);
        asked.resolve({ kind: 'applied', ...committed });
      } catch (error) {
        asked.reject(error);
      }
    }
    held.end();
  }

  /** Hold jobs that are not busy: their events wait until they are let go. For those who commit many at once. */
  holdGroup(): HeldGroup {
    return this.#inFlight.group();
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
    const deliveries = this.#deliveriesOf(before, state, life);
    if (statusOf(state) === 'running')
      this.#live.set(before.id, { actor, version: before.version + 1, job: null });
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
        lifeBefore: before.life,
        ...(ledger.length > 0 ? { ledger } : {}),
        ...(runTotals === undefined ? {} : { runTotals }),
        ...(deliveries.length > 0 ? { deliveries } : {}),
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
    const after: JobRecord = {
      ...before,
      version: before.version + 1,
      state: change.state,
      life: change.life,
    };
    const live = this.#live.get(change.id);
    if (statusOf(change.state) !== 'running') this.#live.delete(change.id);
    else if (live?.version === after.version) live.job = after;
    const { event, effects } = step;
    const { ledger = [], runTotals, deliveries } = change;
    const committed = { before, after, event, effects, ledger, runTotals, deliveries };
    this.#changes.publish(committed);
    return committed;
  }

  /** The commit of a step has failed: drop the actor, which is ahead of what is durable. */
  abandon(step: Step): void {
    this.#live.delete(step.change.id);
  }

  /** Restore the actor of a job that was running when the coordinator stopped. */
  adopt(job: JobRecord): void {
    this.#live.set(job.id, { actor: this.#actor(job), version: job.version, job });
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
}

/** The job as its creation makes it, for an event that is committed with it. Its place in the store is not known yet. */
export function draftOf({ id, created, state, life }: Creation): JobRecord {
  const { at: createdAt, by: createdBy = null, request } = created;
  return { ordinal: 0, id, version: 1, createdAt, createdBy, request, state, life };
}
