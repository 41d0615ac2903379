import { createActor } from 'xstate';
import type { WorkerEvent } from '../../../machines/events.ts';
import { workerMachine } from '../../../machines/workerMachine.ts';
import type { AuditNote, Doer } from '../../domain/audit.ts';
import type { Clock, Random } from '../../domain/clock.ts';
import { CoordinatorError } from '../../domain/errors.ts';
import { type Failure, type Fault, faultText } from '../../domain/failure.ts';
import type { ProviderFleet } from '../../domain/provider.ts';
import type { WorkerStatus } from '../../domain/states.ts';
import {
  isResized,
  type WorkerHello,
  type WorkerLife,
  type WorkerOwner,
  type WorkerRecord,
  type WorkerView,
} from '../../domain/worker.ts';
import type { Logger } from '../../lib/log.ts';
import { own } from '../../lib/own.ts';
import type { AuditChange, Store } from '../../store/store.ts';
import type { Audit } from '../audit.ts';
import type { Deadlines } from '../deadlines.ts';
import { type EventBus, pathOf, type WorkerEventType } from '../eventBus.ts';
import { uuidv7 } from '../jobs/index.ts';
import { type Inspector, inspectOption } from '../observe/index.ts';
import { boundedWorker } from './boundedWorker.ts';
import { type FleetMember, isAble, isOpen, passOver } from './fleetMember.ts';
import { Health } from './health.ts';
import { KeySlots } from './keySlots.ts';
import type { Lease, Leases } from './leases.ts';
import type { WorkerSession } from './workerSession.ts';

type WorkerActor = ReturnType<typeof createActor<typeof workerMachine>>;

interface Entry {
  readonly actor: WorkerActor;
  session: WorkerSession | null;
  /** The end of the last durable change in flight: they are made one after the other. */
  tail: Promise<unknown>;
  /** A hello is being made durable: the name is taken. */
  joining: boolean;
  /** Resolves when its removal has been made durable, or refused; null while nobody removes it. */
  forgetting: Promise<void> | null;
  readonly health: Health;
}

/** What became of a hello. `nameTakenByKey`: the name belongs to another key. */
export type Joined =
  | { kind: 'joined'; id: string }
  | { kind: 'nameTaken' }
  | { kind: 'nameTakenByKey'; owner: WorkerOwner };

/** Every worker the coordinator knows: its actor and, while it is connected, its session. */
export class Workers {
  readonly #store: Store;
  readonly #audit: Audit;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #bus: EventBus;
  readonly #deadlines: Deadlines;
  readonly #leases: Leases;
  readonly #logger: Logger;
  readonly #inspector: Inspector | null;
  /** Called when one that was passed over may be needed: another takes no more work, or its time is over. */
  readonly #onNeeded: () => void;
  /** Called when a worker has come, or nothing is held against it any more. */
  readonly #onWell: (providers: readonly string[]) => void;
  readonly #byId = new Map<string, Entry>();
  readonly #idByName = new Map<string, string>();
  readonly #keySlots = new KeySlots<Entry>({
    all: () => this.#byId.values(),
    lifeOf: (entry) => this.#life(entry),
    limit: (entry, concurrency) => this.#limit(entry, concurrency),
  });
  /** null when something of a worker has changed since it was asked for. */
  #fleet: readonly FleetMember[] | null = null;

  constructor(options: {
    store: Store;
    audit: Audit;
    clock: Clock;
    random: Random;
    bus: EventBus;
    deadlines: Deadlines;
    leases: Leases;
    logger: Logger;
    inspector: Inspector | null;
    onNeeded: () => void;
    onWell: (providers: readonly string[]) => void;
  }) {
    this.#store = options.store;
    this.#audit = options.audit;
    this.#clock = options.clock;
    this.#random = options.random;
    this.#bus = options.bus;
    this.#deadlines = options.deadlines;
    this.#leases = options.leases;
    this.#logger = options.logger;
    this.#inspector = options.inspector;
    this.#onNeeded = options.onNeeded;
    this.#onWell = options.onWell;
  }

  /** Bring back the workers that the store knows; all of them are disconnected. @throws StoreUnavailable. */
  async open(): Promise<void> {
    const records = await this.#store.workers();
    const lives = records.map(({ life }) => boundedWorker(life));
    const cut = lives.filter((life, index) => life !== records[index]?.life);
    for (const life of cut) await this.#store.commit([{ kind: 'worker', life }]);
    if (cut.length > 0) {
      this.#logger.warn(
        { workers: cut.length },
        'cut the models, providers or tags of workers that had too many',
      );
    }
    for (const life of lives) this.#add({ ...life, connectedAt: null });
  }

  close(): void {
    for (const { actor, health } of this.#byId.values()) {
      health.close();
      actor.stop();
    }
  }

  /**
   * A worker has said hello. The name keeps its id and belongs to the key that said it first; the same worker process takes
   * over its own older connection.
   * @throws StoreUnavailable when the registration could not be made durable.
   */
  async join(hello: WorkerHello, session: WorkerSession): Promise<Joined> {
    await this.#byName(hello.name)?.forgetting;
    const { keyId, name: keyName } = session.key;
    const owner = { keyId, name: keyName };
    const known = this.#byName(hello.name);
    const former = known === undefined ? undefined : this.#life(known).owner;
    if (former !== undefined && former.keyId !== keyId) return { kind: 'nameTakenByKey', owner: former };
    const entry = known ?? this.#add(newWorker(uuidv7(this.#clock, this.#random), hello, owner));
    const { id, instance } = this.#life(entry);
    if (entry.joining) return { kind: 'nameTaken' };
    const older = entry.session;
    if (older !== null && (hello.instance === null || hello.instance !== instance))
      return { kind: 'nameTaken' };
    entry.joining = true;
    try {
      await this.#commit(entry, { type: 'worker.connected', hello, owner, at: this.#clock.now() });
    } catch (error) {
      if (known === undefined) this.#drop(entry);
      throw error;
    } finally {
      entry.joining = false;
    }
    older?.replaced();
    entry.session = session;
    // Keys and servers are repaired by a restart.
    entry.health.endAll();
    this.#fleet = null;
    this.#keySlots.divide(session.key, entry);
    this.#publish('worker.connected', entry);
    this.#onWell(hello.providers);
    return { kind: 'joined', id };
  }

  /**
   * Give a name to another key, for a worker that is part of this very service. Nothing happens while a worker of that name
   * is connected, or when there is none. @throws StoreUnavailable.
   */
  async handOver(name: string, owner: WorkerOwner): Promise<void> {
    const entry = this.#byName(name);
    if (entry === undefined || this.#life(entry).owner?.keyId === owner.keyId) return;
    await this.#inTurn(entry, async () => {
      if (entry.session !== null || entry.joining) return;
      const life = { ...this.#life(entry), owner };
      await this.#store.commit([{ kind: 'worker', life }]);
      this.#drop(entry);
      this.#add(life);
    });
  }

  /** The session's connection is gone. */
  leave(session: WorkerSession): void {
    const entry = this.#byId.get(session.workerId);
    if (entry?.session !== session) return;
    entry.session = null;
    this.#send(entry, { type: 'worker.disconnected', at: this.#clock.now() });
    this.#keySlots.divide(session.key, null);
    this.#publish('worker.disconnected', entry);
  }

  /** The bounds of the key of a session are others now. */
  boundsChanged(session: WorkerSession): void {
    const entry = this.#byId.get(session.workerId);
    if (entry?.session === session) this.#keySlots.divide(session.key, entry);
  }

  /** A change that is not kept: heard, late, draining, models. */
  tell(workerId: string, event: WorkerEvent): void {
    const entry = this.#byId.get(workerId);
    if (entry === undefined) return;
    const before = this.#status(entry);
    this.#send(entry, event);
    if (event.type === 'worker.modelsChanged' && entry.health.serverReached()) {
      this.#onWell(this.#life(entry).providers);
    }
    if (this.#status(entry) !== before || event.type === 'worker.modelsChanged') {
      this.#publish('worker.updated', entry);
    }
  }

  /** An attempt failed by a fault of its worker: for a while that is passed over where another one can take the job. */
  failed(lease: Lease, fault: Fault, failure: Failure): void {
    const entry = this.#byId.get(lease.workerId);
    const refusal = entry?.health.failed(lease, fault, failure) ?? null;
    if (entry === undefined || refusal === null) return;
    this.#healthChanged(entry);
    const { id, name } = this.#life(entry);
    const { provider, model, until } = refusal;
    this.#logger.warn(
      {
        worker_id: id,
        name,
        provider,
        model,
        class: failure.class,
        error: refusal.failure.message,
        until,
      },
      `a worker ${faultText(refusal)}; jobs go to others until it is tried again`,
    );
  }

  /** A job of the worker got an answer from its provider. */
  succeeded(lease: Lease): void {
    const entry = this.#byId.get(lease.workerId);
    if (entry?.health.succeeded(lease) !== true) return;
    this.#healthChanged(entry);
    this.#onNeeded();
  }

  /** The first output of an attempt has come. */
  streamed(lease: Lease): void {
    const entry = this.#byId.get(lease.workerId);
    if (entry?.health.streamed(lease) !== true) return;
    this.#healthChanged(entry);
    this.#onNeeded();
  }

  /** A job was given to the worker. */
  sent(lease: Lease): void {
    const entry = this.#byId.get(lease.workerId);
    if (entry?.health.sent(lease) === true) this.#fleet = null;
  }

  /** An attempt of the worker has ended. */
  returned(lease: Lease): void {
    const entry = this.#byId.get(lease.workerId);
    if (entry?.health.returned(lease) === true) this.#fleet = null;
  }

  #healthChanged(entry: Entry): void {
    this.#fleet = null;
    this.#publish('worker.updated', entry);
  }

  /** @param by for the audit log; null keeps it out of it. @throws CoordinatorError worker_not_found; StoreUnavailable. */
  async setPaused(id: string, paused: boolean, by: Doer | null): Promise<WorkerView> {
    const entry = this.#entry(id);
    if (!paused && entry.health.endAll()) {
      this.#healthChanged(entry);
      this.#onWell(this.#life(entry).providers);
    }
    if (this.#life(entry).paused !== paused) {
      const type = paused ? 'worker.paused' : 'worker.resumed';
      await this.#commit(entry, { type, at: this.#clock.now() }, this.#note(entry, by, type));
      entry.session?.send({ type: 'settings', paused });
      this.#publish(paused ? 'worker.paused' : 'worker.resumed', entry);
    }
    return this.view(id);
  }

  /** @throws CoordinatorError worker_not_found; StoreUnavailable. */
  async setConcurrency(id: string, concurrency: number, by: Doer | null): Promise<WorkerView> {
    const entry = this.#entry(id);
    const most = this.#keySlots.leftFor(entry);
    if (concurrency > most) {
      throw new CoordinatorError(
        'invalid_request',
        `The key of the worker leaves it ${most} slots (max_concurrency, which all workers of the key share); let the key have more first`,
        { errors: [{ field: 'concurrency', message: `must be at most ${most}` }] },
      );
    }
    if (this.#life(entry).concurrency !== concurrency) {
      const note = this.#note(entry, by, 'worker.resized', {
        concurrency,
        before: this.#life(entry).concurrency,
      });
      await this.#commit(entry, { type: 'worker.resized', concurrency, at: this.#clock.now() }, note);
      entry.session?.send({ type: 'settings', concurrency });
      if (entry.session !== null) this.#keySlots.divide(entry.session.key, entry);
      this.#publish('worker.updated', entry);
    }
    return this.view(id);
  }

  /** Take up the slots that a worker's key leaves it now, and tell it. */
  #limit(entry: Entry, concurrency: number): void {
    const isMore = concurrency > this.#life(entry).concurrency;
    this.#send(entry, { type: 'worker.limited', concurrency, at: this.#clock.now() });
    // One that joins just now is told by its welcome.
    if (entry.session !== null && entry.session.workerId !== '') {
      entry.session.send({ type: 'settings', concurrency });
      this.#publish('worker.updated', entry);
    }
    if (isMore) this.#onNeeded();
  }

  /**
   * Forget a worker that is disconnected. Not while its jobs wait for its return: under its name it would be another
   * worker then, whose outcomes of them are refused.
   * @throws CoordinatorError worker_not_found; invalid_transition while it is connected or has jobs.
   */
  async forget(id: string, by: Doer | null): Promise<void> {
    const entry = this.#entry(id);
    if (entry.session !== null || entry.joining) {
      throw new CoordinatorError(
        'invalid_transition',
        'The worker is connected; stop it first, then delete it',
      );
    }
    const held = this.#leases.ofWorker(id).length;
    if (held > 0) {
      throw new CoordinatorError(
        'invalid_transition',
        `${held} of its jobs wait for the worker's return; retry or cancel them first, or wait until they are taken back`,
      );
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    entry.forgetting = promise;
    try {
      await this.#inTurn(entry, async () => {
        const view = await this.view(id);
        const note = this.#note(entry, by, 'worker.forgotten');
        await this.#store.commit([{ kind: 'workerRemoved', id }, ...this.#entries(note)]);
        this.#drop(entry);
        this.#bus.publish({ type: 'worker.forgotten', at: this.#clock.now(), worker: view });
      });
    } finally {
      entry.forgetting = null;
      resolve();
    }
  }

  /** How many are known, connected or not. */
  get count(): number {
    return this.#byId.size;
  }

  /**
   * Workers that are gone, those of which their key has the most that were heard later first, so that a key which makes names
   * without end forgets its own. Not those that jobs wait for, and not those that an operator has paused or resized: that is
   * to hold when they come back.
   */
  forgettable(): WorkerLife[] {
    const gone = [...this.#byId.values()]
      .filter(({ session, joining, forgetting }) => session === null && !joining && forgetting === null)
      .map((entry) => this.#life(entry))
      .filter((life) => !life.paused && !isResized(life))
      .filter(({ id }) => this.#leases.ofWorker(id).length === 0)
      .sort((a, b) => (b.lastHeartbeatAt ?? 0) - (a.lastHeartbeatAt ?? 0));
    const laterOfKey = new Map<string, number>();
    return gone
      .map((life) => {
        const keyId = life.owner?.keyId ?? '';
        const later = laterOfKey.get(keyId) ?? 0;
        laterOfKey.set(keyId, later + 1);
        return { life, later };
      })
      .sort((a, b) => b.later - a.later)
      .map(({ life }) => life);
  }

  /**
   * Make durable when the connected workers were heard, those of which the store knows no time after `since`, epoch ms.
   * @throws StoreUnavailable.
   */
  async keepHeard(since: number): Promise<void> {
    const stale = (await this.#store.workers()).flatMap(({ life }) => {
      const entry = this.#byId.get(life.id);
      return (life.lastHeartbeatAt ?? 0) < since && entry !== undefined && entry.session !== null
        ? [entry]
        : [];
    });
    await Promise.all(
      stale.map((entry) =>
        this.#inTurn(entry, async () => {
          await this.#store.commit([{ kind: 'worker', life: this.#life(entry) }]);
        }),
      ),
    );
  }

  session(workerId: string): WorkerSession | null {
    return this.#byId.get(workerId)?.session ?? null;
  }

  sessions(): WorkerSession[] {
    return [...this.#byId.values()].flatMap(({ session }) => (session === null ? [] : [session]));
  }

  life(workerId: string): WorkerLife | undefined {
    const entry = this.#byId.get(workerId);
    return entry && this.#life(entry);
  }

  status(workerId: string): WorkerStatus {
    const entry = this.#byId.get(workerId);
    return entry === undefined ? 'disconnected' : this.#status(entry);
  }

  /** Whether it may be given new work now, free slots apart. */
  isAssignable(workerId: string): boolean {
    const entry = this.#byId.get(workerId);
    return entry !== undefined && isAssignable(entry);
  }

  /** Its slots that nobody has. */
  freeSlots({ id, concurrency }: WorkerLife): number {
    return Math.max(0, concurrency - this.#leases.held(id));
  }

  /** Every worker that is connected; the same array until something of a worker changes. */
  fleet(): readonly FleetMember[] {
    this.#fleet ??= [...this.#byId.values()].flatMap((entry) => {
      if (entry.session === null) return [];
      const { health } = entry;
      const isActive = entry.actor.getSnapshot().hasTag('active');
      return [{ life: this.#life(entry), isTaking: isAssignable(entry), isActive, health }];
    });
    return this.#fleet;
  }

  /** The state of each, as a path. */
  states(): string[] {
    return [...this.#byId.values()].map(({ actor }) => pathOf(actor.getSnapshot().value));
  }

  /** The state of every fault that is remembered of a worker. */
  healthStates(): string[] {
    return [...this.#byId.values()].flatMap(({ health }) => health.states());
  }

  /** Ids of the workers of a provider that are well enough for a job of this model. */
  ableFor(provider: string, model: string | null): string[] {
    return this.fleet()
      .filter(({ life }) => life.providers.includes(provider))
      .filter((member) => isOpen(member) && isAble(member, provider, model))
      .map(({ life }) => life.id);
  }

  /** The connected workers that serve a provider, together. */
  fleetOf(provider: string): ProviderFleet {
    const serving = this.fleet().filter(({ life }) => life.providers.includes(provider));
    const taking = passOver(serving, provider, null).filter(({ isTaking }) => isTaking);
    return {
      workers: serving.length,
      slots: serving.reduce((sum, { life }) => sum + life.concurrency, 0),
      freeSlots: taking.reduce((sum, { life }) => sum + this.freeSlots(life), 0),
      models: [...new Set(serving.flatMap(({ life }) => own(life.models, provider) ?? []))].sort(),
    };
  }

  /** @throws CoordinatorError worker_not_found. */
  async view(id: string): Promise<WorkerView> {
    const entry = this.#entry(id);
    const record = (await this.#store.workers()).find(({ life }) => life.id === id);
    return this.#view(entry, record);
  }

  async views(): Promise<WorkerView[]> {
    const records = new Map((await this.#store.workers()).map((record) => [record.life.id, record]));
    return [...this.#byId.values()]
      .map((entry) => this.#view(entry, records.get(this.#life(entry).id)))
      .sort((a, b) => a.life.name.localeCompare(b.life.name));
  }

  #view(entry: Entry, record: Pick<WorkerRecord, 'completed' | 'failed'> | undefined): WorkerView {
    const life = this.#life(entry);
    return {
      life,
      completed: record?.completed ?? 0,
      failed: record?.failed ?? 0,
      status: this.#status(entry),
      connected: entry.session !== null,
      runningJobs: this.#leases.ofWorker(life.id).map(({ jobId }) => jobId),
      refusals: entry.health.list(),
    };
  }

  /** Tell of a worker as it is now. It leaves a few microtasks later: what it has completed is the store's to say. */
  #publish(type: WorkerEventType, entry: Entry): void {
    const at = this.#clock.now();
    const view = this.#view(entry, undefined);
    this.#store.workers().then(
      (records) => {
        const { completed = 0, failed = 0 } = records.find(({ life }) => life.id === view.life.id) ?? {};
        this.#bus.publish({ type, at, worker: { ...view, completed, failed } });
      },
      (error: unknown) => this.#logger.warn({ err: error }, 'a change of a worker is not told'),
    );
  }

  #send(entry: Entry, event: WorkerEvent): void {
    const before = entry.actor.getSnapshot().value;
    const wasTaking = isAssignable(entry);
    entry.actor.send(event);
    this.#fleet = null;
    if (wasTaking && !isAssignable(entry)) this.#onNeeded();
    const after = entry.actor.getSnapshot().value;
    this.#bus.handled('worker', this.#life(entry).id, { before, after, event: event.type, at: event.at });
  }

  #add(life: WorkerLife): Entry {
    const actor = createActor(workerMachine, {
      input: life,
      ...inspectOption(this.#inspector, 'worker', life.id),
    });
    actor.subscribe({
      error: (error) => this.#logger.error({ err: error, worker_id: life.id }, 'worker actor failed'),
    });
    actor.start();
    const entry: Entry = {
      actor,
      session: null,
      tail: Promise.resolve(),
      joining: false,
      forgetting: null,
      health: new Health({
        workerId: life.id,
        clock: this.#clock,
        random: this.#random,
        deadlines: this.#deadlines,
        bus: this.#bus,
        inspector: this.#inspector,
        onDue: () => {
          this.#healthChanged(entry);
          this.#onNeeded();
        },
      }),
    };
    this.#byId.set(life.id, entry);
    this.#idByName.set(life.name, life.id);
    return entry;
  }

  #drop(entry: Entry): void {
    const { id, name } = this.#life(entry);
    entry.health.close();
    entry.actor.stop();
    this.#byId.delete(id);
    this.#idByName.delete(name);
  }

  #byName(name: string): Entry | undefined {
    return this.#byId.get(this.#idByName.get(name) ?? '');
  }

  #entry(id: string): Entry {
    const entry = this.#byId.get(id);
    if (entry === undefined) throw workerNotFound(id);
    return entry;
  }

  #life(entry: Entry): WorkerLife {
    return entry.actor.getSnapshot().context;
  }

  #status(entry: Entry): WorkerStatus {
    const { value } = entry.actor.getSnapshot();
    return (typeof value === 'string' ? value : Object.keys(value)[0]) as WorkerStatus;
  }

  /**
   * Make the outcome of `event` durable, then let the actor handle it. A fork of the actor says what the outcome is, so
   * that a failed write leaves the actor as it was, while beats go on reaching it.
   */
  #commit(entry: Entry, event: WorkerEvent, note: AuditNote | null = null): Promise<void> {
    return this.#inTurn(entry, async () => {
      const fork = createActor(workerMachine, {
        snapshot: entry.actor.getPersistedSnapshot(),
        input: this.#life(entry),
      });
      fork.start().send(event);
      const life = fork.getSnapshot().context;
      fork.stop();
      await this.#store.commit([{ kind: 'worker', life }, ...this.#entries(note)]);
      this.#send(entry, event);
    });
  }

  #note(
    entry: Entry,
    by: Doer | null,
    action: AuditNote['action'],
    details: AuditNote['details'] = {},
  ): AuditNote | null {
    const { id, name } = this.#life(entry);
    const target = { kind: 'worker', id, name } as const;
    return by === null ? null : { by, action, target, details, outcome: 'done' };
  }

  #entries(note: AuditNote | null): AuditChange[] {
    return note === null ? [] : [this.#audit.change(note)];
  }

  /** Run a durable change after those of the same worker. @throws CoordinatorError worker_not_found when it is gone by then. */
  async #inTurn(entry: Entry, change: () => Promise<void>): Promise<void> {
    const ahead = entry.tail;
    const { promise, resolve } = Promise.withResolvers<void>();
    entry.tail = promise;
    await ahead;
    try {
      const { id } = this.#life(entry);
      if (this.#byId.get(id) !== entry) throw workerNotFound(id);
      await change();
    } finally {
      resolve();
    }
  }
}

function isAssignable({ session, actor }: Entry): boolean {
  return session !== null && actor.getSnapshot().hasTag('assignable');
}

function workerNotFound(id: string): CoordinatorError {
  return new CoordinatorError('worker_not_found', `There is no worker ${id}`);
}

function newWorker(id: string, hello: WorkerHello, owner: WorkerOwner): WorkerLife {
  return {
    ...hello,
    id,
    owner,
    declaredConcurrency: hello.concurrency,
    paused: false,
    connectedAt: null,
    lastHeartbeatAt: null,
  };
}
