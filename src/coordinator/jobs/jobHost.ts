import { createActor, type SnapshotFrom } from 'xstate';
import type { JobEvent } from '../../../machines/events.ts';
import { beginLife, beginning, type JobInput } from '../../../machines/jobLife.ts';
import {
  type AbortReason,
  jobMachine,
  jobMachineVersion as machineVersion,
} from '../../../machines/jobMachine.ts';
import type { Clock } from '../../domain/clock.ts';
import { CoordinatorError } from '../../domain/errors.ts';
import type { JobCreator, JobLife, JobRecord, JobRequest } from '../../domain/job.ts';
import { type JobState, statusOf } from '../../domain/states.ts';
import type { Logger } from '../../lib/log.ts';
import { nextTurn } from '../../lib/nextTurn.ts';
import {
  type IdempotencyRecord,
  type JobChange,
  type LedgerEntry,
  type Store,
  VersionConflict,
} from '../../store/store.ts';
import { type Inspector, inspectOption } from '../observe/index.ts';
import { afterConflict } from './conflict.ts';
import { ledgerOf } from './ledger.ts';

/** What leaves the process once a change is committed. The machine names it; the coordinator does it. */
export type JobEffect = { type: 'handToWorker' } | { type: 'abortWorker'; reason: AbortReason };

/** One event accepted by one job, not yet durable. */
export interface Step {
  before: JobRecord | null;
  event: JobEvent | null;
  change: JobChange;
  effects: JobEffect[];
}

/** A step that is durable. */
export interface Committed {
  before: JobRecord | null;
  after: JobRecord;
  /** null when the job was created. */
  event: JobEvent | null;
  effects: JobEffect[];
  /** What attempts that ended with this change used and cost. */
  ledger: readonly LedgerEntry[];
}

/** A job that is to be. */
export interface NewJob {
  id: string;
  request: JobRequest;
  /** null when no key is known of. */
  createdBy: JobCreator | null;
  input: JobInput;
  idempotency?: IdempotencyRecord | undefined;
}

export type Applied =
  | ({ kind: 'applied' } & Committed)
  /** No event was one that the present state accepts. */
  | { kind: 'refused'; job: JobRecord }
  | { kind: 'unknown' };

/** Jobs that are told of between two turns of the event loop: some 2 ms. */
const toldPerTurn = 500;

type JobActor = ReturnType<typeof createActor<typeof jobMachine>>;
type JobSnapshot = SnapshotFrom<typeof jobMachine>;

/** The leaf of a nested state value as a path: `{pending: 'ready'}` → `pending.ready`. */
function statePath(value: JobSnapshot['value']): JobState {
  if (typeof value === 'string') return value as JobState;
  const [parent, child] = Object.entries(value)[0] ?? [];
  return `${parent}.${child}` as JobState;
}

/** The other way: `pending.ready` → `{pending: 'ready'}`. */
function stateValue(state: JobState): JobSnapshot['value'] {
  const [parent, child] = state.split('.');
  return (child === undefined ? parent : { [String(parent)]: child }) as JobSnapshot['value'];
}

/**
 * Hosts the actors of jobs. A job in motion (running) is a live actor; a job at rest is its snapshot in the store, and
 * becomes an actor for the moment of an event. Restoring one costs 1.6 µs, an event 4 µs (Node 24). None is ever stopped:
 * without children, timers and listeners of others it is garbage once it is let go, and `stop` costs 2 µs.
 *
 * The commit pipeline: an event goes to the actor; when it accepts, its new snapshot is committed, and only then
 * `onCommitted` lets anything leave. When the commit fails the actor is dropped, and the last committed snapshot stands.
 * One event a job is in flight at a time; later ones queue behind its commit.
 */
export class JobHost {
  readonly #clock: Clock;
  readonly #store: Store;
  readonly #logger: Logger;
  readonly #onCommitted: (committed: Committed) => void;
  readonly #inspector: Inspector | null;
  readonly #machine;
  /** What the snapshots of all jobs in a state have in common. */
  readonly #resting = new Map<JobState, JobSnapshot>();
  readonly #live = new Map<string, { actor: JobActor; version: number }>();
  /** The end of the last event in flight, by job. */
  readonly #tails = new Map<string, Promise<void>>();
  /** Where the machine's effect actions put what they name, while one event is handled. */
  #effects: JobEffect[] = [];

  constructor(options: {
    clock: Clock;
    store: Store;
    logger: Logger;
    inspector: Inspector | null;
    onCommitted: (committed: Committed) => void;
  }) {
    this.#clock = options.clock;
    this.#store = options.store;
    this.#logger = options.logger;
    this.#inspector = options.inspector;
    this.#onCommitted = options.onCommitted;
    this.#machine = jobMachine.provide({
      actions: {
        handToWorker: () => {
          this.#effects.push({ type: 'handToWorker' });
        },
        abortWorker: (_, { reason }) => {
          this.#effects.push({ type: 'abortWorker', reason });
        },
      },
    });
    // What is restored is a snapshot of this machine already, from `#snapshotOf`. XState would find its state nodes again
    // and walk its whole context for references to actors, of which it has none: 5 of the 12 µs that an actor costs.
    this.#machine.restoreSnapshot = (snapshot) => snapshot as JobSnapshot;
  }

  /** Live actors: one a running job. */
  get liveCount(): number {
    return this.#live.size;
  }

  /** The state of a live actor; null when the job is at rest. */
  liveState(id: string): JobState | null {
    const live = this.#live.get(id);
    return live === undefined ? null : statePath(live.actor.getSnapshot().value);
  }

  /** The end of what is in flight for this job, which never rejects; null when there is nothing. */
  inFlight(id: string): Promise<void> | null {
    return this.#tails.get(id) ?? null;
  }

  /**
   * Make a job durable.
   * @throws StoreUnavailable when it could not be; then there is no such job.
   */
  async create(job: NewJob): Promise<JobRecord> {
    // The dispatcher passes over what is in flight: no job is handed out before its creation has been told.
    const letGo = this.hold(job.id);
    try {
      const [made] = await this.#store.commit([creationOf(job)]);
      return this.#born(job.id, made);
    } finally {
      letGo();
    }
  }

  /**
   * Make a job durable together with its first event. Whoever calls it holds the job, and then settles or abandons.
   * @param first the step from `draftOf(job)`.
   * @returns the job as it was created, which has been told; and the step to settle.
   * @throws StoreUnavailable when it could not be; then there is no such job.
   */
  async createWith(job: NewJob, first: Step): Promise<{ created: JobRecord; step: Step }> {
    const [made] = await this.#store.commit([creationOf(job), first.change]);
    const created = this.#born(job.id, made);
    return { created, step: { ...first, before: created } };
  }

  /**
   * Make several jobs durable in one commit, all or none. Others get a turn in between, however many they are.
   * @param jobs are asked for one by one as they are written, so that of a long batch only what stays is in memory.
   */
  async createAll(jobs: Iterable<NewJob>): Promise<JobRecord[]> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const ids: string[] = [];
    const tails = this.#tails;
    const creations = function* () {
      for (const job of jobs) {
        ids.push(job.id);
        tails.set(job.id, promise);
        yield creationOf(job);
      }
    };
    let told = 0;
    try {
      const made = await this.#store.commit(creations());
      for (const id of ids) {
        this.#born(id, made[told]);
        this.#endTail(id, promise);
        told += 1;
        if (told % toldPerTurn === 0) await nextTurn();
      }
      return made;
    } finally {
      for (const id of ids.slice(told)) this.#endTail(id, promise);
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
   * Let the actor of `before` handle `event`; nothing is durable yet. Whoever calls it commits `change` and then calls
   * `settle`, or `abandon` when the commit fails.
   * @returns null when the state does not accept the event.
   */
  step(before: JobRecord, event: JobEvent): Step | null {
    const actor = this.#actor(before);
    const present = actor.getSnapshot();
    this.#effects = [];
    actor.send(event);
    const snapshot = actor.getSnapshot();
    // No transition was taken: XState hands back the very snapshot then.
    if (snapshot === present) return null;
    if (snapshot.status === 'error') {
      this.#live.delete(before.id);
      throw new CoordinatorError(
        'internal_error',
        `the job machine failed on ${event.type}`,
        {},
        { cause: snapshot.error },
      );
    }
    const state = statePath(snapshot.value);
    const ledger = ledgerOf(before, snapshot.context);
    if (statusOf(state) === 'running') this.#live.set(before.id, { actor, version: before.version + 1 });
    return {
      before,
      event,
      effects: this.#effects,
      change: {
        kind: 'job',
        id: before.id,
        expectedVersion: before.version,
        machineVersion,
        state,
        life: snapshot.context,
        ...(ledger.length > 0 ? { ledger } : {}),
      },
    };
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
      machineVersion: change.machineVersion,
      state: change.state,
      life: change.life,
    };
    const { event, effects } = step;
    const committed = { before, after, event, effects, ledger: change.ledger ?? [] };
    this.#onCommitted(committed);
    return committed;
  }

  /** The commit of a step has failed: the actor is ahead of what is durable and goes. */
  abandon(step: Step): void {
    this.#live.delete(step.change.id);
  }

  /** Bring a running job to life: it was running when the coordinator stopped. */
  adopt(job: JobRecord): void {
    this.#live.set(job.id, { actor: this.#actor(job), version: job.version });
  }

  /** Let go of every live actor. Nothing is written. */
  close(): void {
    this.#live.clear();
  }

  /** Tell of a job that is durable now. */
  #born(id: string, made: JobRecord | undefined): JobRecord {
    if (made?.id !== id) throw new Error(`job ${id} was committed and is not in the store`);
    this.#onCommitted({ before: null, after: made, event: null, effects: [], ledger: [] });
    return made;
  }

  #actor(job: JobRecord): JobActor {
    const live = this.#live.get(job.id);
    if (live !== undefined && live.version === job.version) return live.actor;
    // An actor keeps its options; the snapshot alone decides what it becomes, so no input is read.
    const actor = createActor(this.#machine, {
      snapshot: this.#snapshotOf(job),
      input: inputOf(job.life),
      ...inspectOption(this.#inspector, 'job', job.id),
    });
    actor.subscribe({
      error: (error) => this.#logger.error({ err: error, job_id: job.id }, 'job actor failed'),
    });
    return actor.start();
  }

  #snapshotOf({ state, life: context }: JobRecord): JobSnapshot {
    let resting = this.#resting.get(state);
    if (resting === undefined) {
      resting = this.#machine.resolveState({
        value: stateValue(state),
        context: beginLife(inputOf(context)),
      });
      this.#resting.set(state, resting);
    }
    return { ...resting, context };
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
export function draftOf({ id, request, createdBy, input }: NewJob): JobRecord {
  const { createdAt } = input;
  return { ordinal: 0, id, version: 1, machineVersion, createdAt, createdBy, request, ...beginning(input) };
}

function creationOf({ id, request, createdBy, input, idempotency }: NewJob): JobChange {
  const at = input.createdAt;
  const created: JobChange['created'] = createdBy === null ? { at, request } : { at, request, by: createdBy };
  if (idempotency !== undefined) created.idempotency = idempotency;
  return { kind: 'job', id, expectedVersion: 0, created, machineVersion, ...beginning(input) };
}

/** The types of `createActor` ask for an input although a snapshot is given. */
function inputOf(life: JobLife): JobInput {
  return {
    strategy: life.strategy,
    target: life.target,
    chain: life.chain,
    route: life.route,
    priority: life.priority,
    createdAt: life.enqueuedAt,
    notBefore: null,
  };
}
