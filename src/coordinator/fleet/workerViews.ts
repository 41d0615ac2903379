import type { Clock } from '../../domain/clock.ts';
import type { WorkerRecord, WorkerView } from '../../domain/worker.ts';
import type { Logger } from '../../lib/log.ts';
import type { Store } from '../../store/store.ts';
import type { EventBus, WorkerEventType } from '../core/index.ts';
import type { Leases } from './leases.ts';
import { lifeOf, statusOf, type WorkerEntry } from './workerEntry.ts';

type Counts = Pick<WorkerRecord, 'completed' | 'failed'>;

/** What others see of workers: the API asks for it, and changes are published. */
export class WorkerViews {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #bus: EventBus;
  readonly #leases: Leases;
  readonly #logger: Logger;

  constructor(options: { store: Store; clock: Clock; bus: EventBus; leases: Leases; logger: Logger }) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#bus = options.bus;
    this.#leases = options.leases;
    this.#logger = options.logger;
  }

  /** @throws StoreUnavailable. */
  async of(entry: WorkerEntry): Promise<WorkerView> {
    const { id } = lifeOf(entry);
    return this.#view(
      entry,
      (await this.#store.workers()).find(({ life }) => life.id === id),
    );
  }

  /** By name. @throws StoreUnavailable. */
  async all(entries: Iterable<WorkerEntry>): Promise<WorkerView[]> {
    const records = new Map((await this.#store.workers()).map((record) => [record.life.id, record]));
    return [...entries]
      .map((entry) => this.#view(entry, records.get(lifeOf(entry).id)))
      .sort((a, b) => a.life.name.localeCompare(b.life.name));
  }

  /**
   * Publish a worker as it is now. The event leaves a few microtasks later: what the worker has completed is the store's to
   * say.
   */
  publish(type: WorkerEventType, entry: WorkerEntry): void {
    const at = this.#clock.now();
    const view = this.#view(entry, undefined);
    this.#store.workers().then(
      (records) => {
        const { completed = 0, failed = 0 } = records.find(({ life }) => life.id === view.life.id) ?? {};
        this.#bus.publish({ type, at, worker: { ...view, completed, failed } });
      },
      (error: unknown) => this.#logger.warn({ err: error }, 'a change of a worker was not published'),
    );
  }

  #view(entry: WorkerEntry, counts: Counts | undefined): WorkerView {
    const life = lifeOf(entry);
    return {
      life,
      completed: counts?.completed ?? 0,
      failed: counts?.failed ?? 0,
      status: statusOf(entry),
      connected: entry.session !== null,
      runningJobs: this.#leases.ofWorker(life.id).map(({ jobId }) => jobId),
      refusals: entry.health.list(),
    };
  }
}
