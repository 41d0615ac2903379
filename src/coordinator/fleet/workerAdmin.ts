import type { Doer } from '../../domain/audit.ts';
import type { Clock } from '../../domain/clock.ts';
import { CoordinatorError } from '../../domain/errors.ts';
import { isResized, type WorkerLife, type WorkerView } from '../../domain/worker.ts';
import type { Store } from '../../store/store.ts';
import type { EventBus } from '../core/index.ts';
import type { FleetListener } from './fleetChanges.ts';
import type { KeySlots } from './keySlots.ts';
import type { Leases } from './leases.ts';
import type { WorkerCommits } from './workerCommits.ts';
import { lifeOf, type WorkerEntry } from './workerEntry.ts';
import type { Workers } from './workers.ts';
import type { WorkerViews } from './workerViews.ts';

/** What operators do with workers, and the coordinator for them: pause, resize, forget. Durable when it resolves. */
export class WorkerAdmin {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #bus: EventBus;
  readonly #leases: Leases;
  readonly #workers: Workers;
  readonly #commits: WorkerCommits;
  readonly #views: WorkerViews;
  readonly #keySlots: KeySlots<WorkerEntry>;
  readonly #listener: FleetListener;

  constructor(options: {
    store: Store;
    clock: Clock;
    bus: EventBus;
    leases: Leases;
    workers: Workers;
    commits: WorkerCommits;
    views: WorkerViews;
    keySlots: KeySlots<WorkerEntry>;
    listener: FleetListener;
  }) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#bus = options.bus;
    this.#leases = options.leases;
    this.#workers = options.workers;
    this.#commits = options.commits;
    this.#views = options.views;
    this.#keySlots = options.keySlots;
    this.#listener = options.listener;
  }

  /** @param by for the audit log; null keeps it out of it. @throws CoordinatorError worker_not_found; StoreUnavailable. */
  async setPaused(id: string, paused: boolean, by: Doer | null): Promise<WorkerView> {
    const entry = this.#workers.get(id);
    if (!paused && entry.health.endAll()) {
      this.#workers.healthChanged(entry);
      this.#listener.well(lifeOf(entry).providers);
    }
    if (lifeOf(entry).paused !== paused) {
      const type = paused ? 'worker.paused' : 'worker.resumed';
      await this.#commits.send(entry, { type, at: this.#clock.now() }, { by, action: type });
      entry.session?.send({ type: 'settings', paused });
      this.#views.publish(type, entry);
    }
    return this.#workers.view(id);
  }

  /** @throws CoordinatorError worker_not_found, invalid_request beyond the slots of its key; StoreUnavailable. */
  async setConcurrency(id: string, concurrency: number, by: Doer | null): Promise<WorkerView> {
    const entry = this.#workers.get(id);
    const most = this.#keySlots.leftFor(entry);
    if (concurrency > most) {
      throw new CoordinatorError(
        'invalid_request',
        `The key of the worker leaves it ${most} slots (max_concurrency, which all workers of the key share); let the key have more first`,
        { errors: [{ field: 'concurrency', message: `must be at most ${most}` }] },
      );
    }
    const { concurrency: before } = lifeOf(entry);
    if (before !== concurrency) {
      const audited = { by, action: 'worker.resized', details: { concurrency, before } } as const;
      await this.#commits.send(
        entry,
        { type: 'worker.resized', concurrency, at: this.#clock.now() },
        audited,
      );
      entry.session?.send({ type: 'settings', concurrency });
      if (entry.session !== null) this.#keySlots.divide(entry.session.key, entry);
      this.#views.publish('worker.updated', entry);
    }
    return this.#workers.view(id);
  }

  /**
   * Forget a worker that is disconnected. Not while its jobs wait for its return: under its name it would be another
   * worker then, whose outcomes of them are refused.
   * @throws CoordinatorError worker_not_found; invalid_transition while it is connected or has jobs.
   */
  async forget(id: string, by: Doer | null): Promise<void> {
    const entry = this.#workers.get(id);
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
      await this.#commits.inTurn(entry, async () => {
        const view = await this.#workers.view(id);
        const entries = this.#commits.entries(entry, { by, action: 'worker.forgotten' });
        await this.#store.commit([{ kind: 'workerRemoved', id }, ...entries]);
        this.#workers.drop(entry);
        this.#bus.publish({ type: 'worker.forgotten', at: this.#clock.now(), worker: view });
      });
    } finally {
      entry.forgetting = null;
      resolve();
    }
  }

  /** How many are known, connected or not. */
  get count(): number {
    return this.#workers.count;
  }

  /**
   * Workers that are gone, those of which their key has the most that were heard later first, so that a key which makes names
   * without end forgets its own. Not those that jobs wait for, and not those that an operator has paused or resized: that is
   * to hold when they come back.
   */
  forgettable(): WorkerLife[] {
    const gone = [...this.#workers.all()]
      .filter(({ session, joining, forgetting }) => session === null && !joining && forgetting === null)
      .map(lifeOf)
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
      const entry = this.#workers.find(life.id);
      return (life.lastHeartbeatAt ?? 0) < since && entry !== undefined && entry.session !== null
        ? [entry]
        : [];
    });
    await Promise.all(
      stale.map((entry) =>
        this.#commits.inTurn(entry, async () => {
          await this.#store.commit([{ kind: 'worker', life: lifeOf(entry) }]);
        }),
      ),
    );
  }
}
