import type { WorkerEvent } from '../../../machines/events.ts';
import { type Failure, type Fault, faultText } from '../../domain/failure.ts';
import type { Logger } from '../../lib/log.ts';
import type { FleetListener } from './fleetChanges.ts';
import type { Lease } from './leases.ts';
import { lifeOf, statusOf } from './workerEntry.ts';
import type { Workers } from './workers.ts';
import type { WorkerViews } from './workerViews.ts';

/** What is learned of workers as they run: by their frames, or the lack of them, and by how their attempts end. None of it is stored. */
export class WorkerSignals {
  readonly #workers: Workers;
  readonly #views: WorkerViews;
  readonly #logger: Logger;
  readonly #listener: FleetListener;

  constructor(options: { workers: Workers; views: WorkerViews; logger: Logger; listener: FleetListener }) {
    this.#workers = options.workers;
    this.#views = options.views;
    this.#logger = options.logger;
    this.#listener = options.listener;
  }

  /** A frame of the worker came, or did not: heard, late, draining, models. Nothing happens when it is forgotten. */
  noticed(workerId: string, event: WorkerEvent): void {
    const entry = this.#workers.find(workerId);
    if (entry === undefined) return;
    const before = statusOf(entry);
    this.#workers.send(entry, event);
    if (event.type === 'worker.modelsChanged' && entry.health.serverReached()) {
      this.#listener.well(lifeOf(entry).providers);
    }
    if (statusOf(entry) !== before || event.type === 'worker.modelsChanged') {
      this.#views.publish('worker.updated', entry);
    }
  }

  /** A job was given to the worker. */
  sent(lease: Lease): void {
    if (this.#workers.find(lease.workerId)?.health.sent(lease) === true) this.#workers.fleetChanged();
  }

  /** The first output of an attempt has come. */
  streamed(lease: Lease): void {
    const entry = this.#workers.find(lease.workerId);
    if (entry?.health.streamed(lease) !== true) return;
    this.#workers.healthChanged(entry);
    this.#listener.needed();
  }

  /** A job of the worker got an answer from its provider. */
  succeeded(lease: Lease): void {
    const entry = this.#workers.find(lease.workerId);
    if (entry?.health.succeeded(lease) !== true) return;
    this.#workers.healthChanged(entry);
    this.#listener.needed();
  }

  /** An attempt failed by a fault of its worker: for a while that is passed over where another one can take the job. */
  failed(lease: Lease, fault: Fault, failure: Failure): void {
    const entry = this.#workers.find(lease.workerId);
    const refusal = entry?.health.failed(lease, fault, failure) ?? null;
    if (entry === undefined || refusal === null) return;
    this.#workers.healthChanged(entry);
    const { id, name } = lifeOf(entry);
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

  /** An attempt of the worker has ended. */
  returned(lease: Lease): void {
    if (this.#workers.find(lease.workerId)?.health.returned(lease) === true) this.#workers.fleetChanged();
  }
}
