import type { Clock } from '../../domain/clock.ts';
import type { WorkerHello, WorkerLife, WorkerOwner } from '../../domain/worker.ts';
import type { Logger } from '../../lib/log.ts';
import type { Store } from '../../store/store.ts';
import { boundedWorker } from './boundedWorker.ts';
import type { FleetListener } from './fleetChanges.ts';
import { KeySlots } from './keySlots.ts';
import type { WorkerCommits } from './workerCommits.ts';
import { lifeOf, type WorkerEntry } from './workerEntry.ts';
import type { WorkerSession } from './workerSession.ts';
import type { Workers } from './workers.ts';
import type { WorkerViews } from './workerViews.ts';

/** What became of a hello. `nameTakenByKey`: the name belongs to another key. */
type Joined =
  | { kind: 'joined'; id: string }
  | { kind: 'nameTaken' }
  | { kind: 'nameTakenByKey'; owner: WorkerOwner };

/** How workers come and go: names belong to keys, and the workers of one key share its slots. */
export class Registration {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #workers: Workers;
  readonly #commits: WorkerCommits;
  readonly #views: WorkerViews;
  readonly #listener: FleetListener;
  readonly #newId: () => string;
  /** Slots of the keys. */
  readonly keySlots: KeySlots<WorkerEntry>;

  constructor(options: {
    store: Store;
    clock: Clock;
    logger: Logger;
    workers: Workers;
    commits: WorkerCommits;
    views: WorkerViews;
    listener: FleetListener;
    newId: () => string;
  }) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#workers = options.workers;
    this.#commits = options.commits;
    this.#views = options.views;
    this.#listener = options.listener;
    this.#newId = options.newId;
    this.keySlots = new KeySlots<WorkerEntry>({
      all: () => this.#workers.all(),
      lifeOf,
      limit: (entry, concurrency) => this.#limit(entry, concurrency),
    });
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
    for (const life of lives) this.#workers.add({ ...life, connectedAt: null });
  }

  /**
   * A worker has said hello. The name keeps its id and belongs to the key that said it first; the same worker process takes
   * over its own older connection.
   * @throws StoreUnavailable when the registration could not be made durable.
   */
  async join(hello: WorkerHello, session: WorkerSession): Promise<Joined> {
    await this.#workers.byName(hello.name)?.forgetting;
    const { keyId, name: keyName } = session.key;
    const owner = { keyId, name: keyName };
    const known = this.#workers.byName(hello.name);
    const former = known === undefined ? undefined : lifeOf(known).owner;
    if (former !== undefined && former.keyId !== keyId) return { kind: 'nameTakenByKey', owner: former };
    const entry = known ?? this.#workers.add(newWorker(this.#newId(), hello, owner));
    const { id, instance } = lifeOf(entry);
    if (entry.joining) return { kind: 'nameTaken' };
    const older = entry.session;
    if (older !== null && (hello.instance === null || hello.instance !== instance))
      return { kind: 'nameTaken' };
    entry.joining = true;
    try {
      await this.#commits.send(entry, { type: 'worker.connected', hello, owner, at: this.#clock.now() });
    } catch (error) {
      if (known === undefined) this.#workers.drop(entry);
      throw error;
    } finally {
      entry.joining = false;
    }
    older?.replaced();
    this.#connect(entry, session);
    return { kind: 'joined', id };
  }

  #connect(entry: WorkerEntry, session: WorkerSession): void {
    entry.session = session;
    // Keys and servers are repaired by a restart.
    entry.health.endAll();
    this.#workers.fleetChanged();
    this.keySlots.divide(session.key, entry);
    this.#views.publish('worker.connected', entry);
    this.#listener.well(lifeOf(entry).providers);
  }

  /** The session's connection is gone. @param isLost neither side has asked for that. */
  leave(session: WorkerSession, isLost: boolean): void {
    const entry = this.#workers.find(session.workerId);
    if (entry?.session !== session) return;
    entry.session = null;
    this.#workers.send(entry, { type: 'worker.disconnected', at: this.#clock.now() });
    this.keySlots.divide(session.key, null);
    this.#views.publish('worker.disconnected', entry);
    if (isLost) this.#listener.lost(lifeOf(entry));
  }

  /** The bounds of the key of a session are others now. */
  boundsChanged(session: WorkerSession): void {
    const entry = this.#workers.find(session.workerId);
    if (entry?.session === session) this.keySlots.divide(session.key, entry);
  }

  /**
   * Give a name to another key, for a worker that is part of this very service. Nothing happens while a worker of that name
   * is connected, or when there is none. @throws StoreUnavailable.
   */
  async handOver(name: string, owner: WorkerOwner): Promise<void> {
    const entry = this.#workers.byName(name);
    if (entry === undefined || lifeOf(entry).owner?.keyId === owner.keyId) return;
    await this.#commits.inTurn(entry, async () => {
      if (entry.session !== null || entry.joining) return;
      const life = { ...lifeOf(entry), owner };
      await this.#store.commit([{ kind: 'worker', life }]);
      this.#workers.drop(entry);
      this.#workers.add(life);
    });
  }

  /** Give a worker the slots that its key leaves it now, and notify it. */
  #limit(entry: WorkerEntry, concurrency: number): void {
    const isMore = concurrency > lifeOf(entry).concurrency;
    this.#workers.send(entry, { type: 'worker.limited', concurrency, at: this.#clock.now() });
    // The welcome of one that joins just now says it.
    if (entry.session !== null && entry.session.workerId !== '') {
      entry.session.send({ type: 'settings', concurrency });
      this.#views.publish('worker.updated', entry);
    }
    if (isMore) this.#listener.needed();
  }
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
