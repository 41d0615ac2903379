import type { Doer } from '../../domain/audit.ts';
import type { WorkerKey } from '../../domain/worker.ts';
import { closeCodes } from '../../domain/workerProtocol.ts';
import { type ConnectionParts, WorkerConnection } from './workerConnection.ts';
import type { WorkerLink } from './workerSession.ts';

/** Every open connection of a worker, from the socket's upgrade to its end. */
export class Connections {
  readonly #parts: ConnectionParts;
  #isDismissing = false;

  constructor(parts: ConnectionParts) {
    this.#parts = parts;
    parts.bus.subscribe((event) => {
      if (event.type === 'queue.paused') parts.workers.recall();
    });
  }

  /** A worker has opened a connection; its hello is yet to come. @param by for the audit log. */
  open(link: WorkerLink, key: WorkerKey, by?: Doer): WorkerConnection {
    return new WorkerConnection(this.#parts, link, key, by);
  }

  /** The socket of a connection has ended. @param code of the close frame that came, 1006 when none did. */
  ended(connection: WorkerConnection, code: number): void {
    // A worker that was asked to come back is not lost.
    if (!this.#isDismissing) connection.gone(code);
  }

  /** Ask every worker to connect again later. What it runs stays running in the store, and it delivers the result then. */
  dismiss(): void {
    this.#isDismissing = true;
    for (const session of this.#parts.workers.sessions())
      session.close(closeCodes.restarting, 'the coordinator restarts');
  }

  /** Jobs that connected workers hold. */
  held(): number {
    const { workers, leases } = this.#parts;
    return workers.sessions().reduce((sum, { workerId }) => sum + leases.held(workerId), 0);
  }

  /** Have workers begin nothing more; resolves when no connected one holds a lease, or after `graceMs`. */
  drained(graceMs: number): Promise<void> {
    const { clock, supervisor, bus, workers } = this.#parts;
    workers.recall();
    if (this.held() === 0) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    const look = (): void => {
      if (this.held() === 0) resolve();
    };
    const ends = [
      clock.after(graceMs, resolve),
      supervisor.onSlotFreed(look),
      // A worker that leaves takes its leases out of the count, and frees no slot.
      bus.subscribe(look),
    ];
    return promise.finally(() => {
      for (const end of ends) end();
    });
  }

  /** The coordinator itself stood still: what workers sent meanwhile is still in their sockets. */
  refreshAll(): void {
    this.#parts.liveness.refreshAll();
  }

  /** After a restart: workers that hold leases have `waitMs` to come back; then their jobs are stuck. */
  expectReturns(waitMs: number): void {
    const { leases, deadlines, clock, workers, keeper } = this.#parts;
    for (const workerId of new Set([...leases.all()].map((lease) => lease.workerId))) {
      deadlines.set(clock.monotonic() + waitMs, () => {
        if (workers.session(workerId) === null) keeper.workerLost(workerId);
      });
    }
  }
}
