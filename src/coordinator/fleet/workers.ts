import { type ActorOptions, createActor } from 'xstate';
import type { WorkerEvent } from '../../../machines/events.ts';
import { pathOf } from '../../../machines/statePath.ts';
import { workerMachine } from '../../../machines/workerMachine.ts';
import type { ProviderFleet } from '../../domain/provider.ts';
import type { WorkerStatus } from '../../domain/states.ts';
import type { WorkerLife, WorkerView } from '../../domain/worker.ts';
import type { Logger } from '../../lib/log.ts';
import { own } from '../../lib/own.ts';
import type { EventBus } from '../core/index.ts';
import type { Ahead } from './ahead.ts';
import type { FleetListener } from './fleetChanges.ts';
import { type FleetMember, isAble, isOpen, passOver } from './fleetMember.ts';
import type { Health } from './health.ts';
import type { Leases } from './leases.ts';
import { isAssignable, lifeOf, statusOf, type WorkerEntry, workerNotFound } from './workerEntry.ts';
import type { WorkerSession } from './workerSession.ts';
import type { WorkerViews } from './workerViews.ts';

/** Every worker that the coordinator knows: hosts their actors, and answers what is asked of them. */
export class Workers {
  readonly #bus: EventBus;
  readonly #leases: Leases;
  readonly #ahead: Ahead;
  readonly #logger: Logger;
  readonly #views: WorkerViews;
  readonly #listener: FleetListener;
  readonly #inspect: (id: string) => Pick<ActorOptions<typeof workerMachine>, 'inspect'>;
  /** @param onDue is called when a trial is due. */
  readonly #newHealth: (workerId: string, onDue: () => void) => Health;
  readonly #byId = new Map<string, WorkerEntry>();
  readonly #idByName = new Map<string, string>();
  /** null when something of a worker has changed since it was asked for. */
  #fleet: readonly FleetMember[] | null = null;

  constructor(options: {
    bus: EventBus;
    leases: Leases;
    ahead: Ahead;
    logger: Logger;
    views: WorkerViews;
    listener: FleetListener;
    inspect: (id: string) => Pick<ActorOptions<typeof workerMachine>, 'inspect'>;
    newHealth: (workerId: string, onDue: () => void) => Health;
  }) {
    this.#bus = options.bus;
    this.#leases = options.leases;
    this.#ahead = options.ahead;
    this.#logger = options.logger;
    this.#views = options.views;
    this.#listener = options.listener;
    this.#inspect = options.inspect;
    this.#newHealth = options.newHealth;
  }

  close(): void {
    for (const { actor, health } of this.#byId.values()) {
      health.close();
      actor.stop();
    }
  }

  /** Host a worker; it is disconnected. */
  add(life: WorkerLife): WorkerEntry {
    const actor = createActor(workerMachine, { input: life, ...this.#inspect(life.id) });
    actor.subscribe({
      error: (error) => this.#logger.error({ err: error, worker_id: life.id }, 'worker actor failed'),
    });
    actor.start();
    const entry: WorkerEntry = {
      actor,
      session: null,
      tail: Promise.resolve(),
      joining: false,
      forgetting: null,
      health: this.#newHealth(life.id, () => {
        this.healthChanged(entry);
        this.#listener.needed();
      }),
    };
    this.#byId.set(life.id, entry);
    this.#idByName.set(life.name, life.id);
    return entry;
  }

  /** Host it no longer. */
  drop(entry: WorkerEntry): void {
    const { id, name } = lifeOf(entry);
    entry.health.close();
    entry.actor.stop();
    this.#byId.delete(id);
    this.#idByName.delete(name);
  }

  /** An event for the actor of a worker. */
  send(entry: WorkerEntry, event: WorkerEvent): void {
    const before = entry.actor.getSnapshot().value;
    const wasTaking = isAssignable(entry);
    entry.actor.send(event);
    this.fleetChanged();
    if (wasTaking && !isAssignable(entry)) this.#listener.needed();
    const after = entry.actor.getSnapshot().value;
    this.#bus.handled('worker', lifeOf(entry).id, { before, after, event: event.type, at: event.at });
  }

  /** What `fleet` says of a worker is another thing now. */
  fleetChanged(): void {
    this.#fleet = null;
  }

  /** What is held against a worker is another thing now. */
  healthChanged(entry: WorkerEntry): void {
    this.fleetChanged();
    this.#views.publish('worker.updated', entry);
  }

  find(id: string): WorkerEntry | undefined {
    return this.#byId.get(id);
  }

  byName(name: string): WorkerEntry | undefined {
    return this.#byId.get(this.#idByName.get(name) ?? '');
  }

  /** @throws CoordinatorError worker_not_found. */
  get(id: string): WorkerEntry {
    const entry = this.#byId.get(id);
    if (entry === undefined) throw workerNotFound(id);
    return entry;
  }

  all(): Iterable<WorkerEntry> {
    return this.#byId.values();
  }

  /** How many are known, connected or not. */
  get count(): number {
    return this.#byId.size;
  }

  session(workerId: string): WorkerSession | null {
    return this.#byId.get(workerId)?.session ?? null;
  }

  sessions(): WorkerSession[] {
    return [...this.#byId.values()].flatMap(({ session }) => (session === null ? [] : [session]));
  }

  /** Have every worker give back what it has not begun. */
  recall(): void {
    for (const session of this.sessions()) if (session.holdsAhead) session.send({ type: 'recall' });
  }

  life(workerId: string): WorkerLife | undefined {
    const entry = this.#byId.get(workerId);
    return entry && lifeOf(entry);
  }

  status(workerId: string): WorkerStatus {
    const entry = this.#byId.get(workerId);
    return entry === undefined ? 'disconnected' : statusOf(entry);
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

  /** Jobs that it may be given beyond its slots, when nobody has a free one. */
  roomAhead(life: WorkerLife): number {
    if (this.session(life.id)?.holdsAhead !== true) return 0;
    const beyond = Math.max(0, this.#leases.held(life.id) - life.concurrency);
    return Math.max(0, this.#ahead.of(life) - beyond);
  }

  /** Every worker that is connected; the same array until something of a worker changes. */
  fleet(): readonly FleetMember[] {
    this.#fleet ??= [...this.#byId.values()].flatMap((entry) => {
      if (entry.session === null) return [];
      const { health } = entry;
      const isActive = entry.actor.getSnapshot().hasTag('active');
      return [{ life: lifeOf(entry), isTaking: isAssignable(entry), isActive, health }];
    });
    return this.#fleet;
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

  /** The state of each, as a path. */
  states(): string[] {
    return [...this.#byId.values()].map(({ actor }) => pathOf(actor.getSnapshot().value));
  }

  /** The state of every fault that is remembered of a worker. */
  healthStates(): string[] {
    return [...this.#byId.values()].flatMap(({ health }) => health.states());
  }

  /** @throws CoordinatorError worker_not_found; StoreUnavailable. */
  async view(id: string): Promise<WorkerView> {
    return this.#views.of(this.get(id));
  }

  /** By name. @throws StoreUnavailable. */
  views(): Promise<WorkerView[]> {
    return this.#views.all(this.#byId.values());
  }
}
