import { createActor } from 'xstate';
import type { WorkerEvent } from '../../../machines/events.ts';
import { workerMachine } from '../../../machines/workerMachine.ts';
import type { AuditNote, Doer } from '../../domain/audit.ts';
import type { Change, Store } from '../../store/store.ts';
import type { Audit } from '../core/index.ts';
import { lifeOf, type WorkerEntry, workerNotFound } from './workerEntry.ts';
import type { Workers } from './workers.ts';

/** Who does what with a worker, for the audit log; `by` null keeps it out of that. */
interface Audited {
  by: Doer | null;
  action: AuditNote['action'];
  details?: AuditNote['details'];
}

/** Makes changes of workers durable, those of one worker one after the other, each with its entry of the audit log. */
export class WorkerCommits {
  readonly #store: Store;
  readonly #audit: Audit;
  readonly #workers: Workers;

  constructor(options: { store: Store; audit: Audit; workers: Workers }) {
    this.#store = options.store;
    this.#audit = options.audit;
    this.#workers = options.workers;
  }

  /**
   * Make the outcome of `event` durable, then let the actor handle it. A fork of the actor says what the outcome is, so
   * that a failed write leaves the actor as it was, while beats go on reaching it.
   * @throws CoordinatorError worker_not_found when it is gone by then; StoreUnavailable.
   */
  send(entry: WorkerEntry, event: WorkerEvent, audited: Audited | null = null): Promise<void> {
    return this.inTurn(entry, async () => {
      const fork = createActor(workerMachine, {
        snapshot: entry.actor.getPersistedSnapshot(),
        input: lifeOf(entry),
      });
      fork.start().send(event);
      const life = fork.getSnapshot().context;
      fork.stop();
      await this.#store.commit([{ kind: 'worker', life }, ...this.entries(entry, audited)]);
      this.#workers.send(entry, event);
    });
  }

  /** The entry of the audit log, as of now, to commit together with what it is about; none when nobody did it. */
  entries(entry: WorkerEntry, audited: Audited | null): Change[] {
    const { id, name } = lifeOf(entry);
    const target = { kind: 'worker', id, name } as const;
    if (audited === null || audited.by === null) return [];
    const { by, action, details = {} } = audited;
    return [this.#audit.change({ by, action, target, details, outcome: 'done' })];
  }

  /** Run a durable change after those of the same worker. @throws CoordinatorError worker_not_found when it is gone by then. */
  async inTurn(entry: WorkerEntry, change: () => Promise<void>): Promise<void> {
    const ahead = entry.tail;
    const { promise, resolve } = Promise.withResolvers<void>();
    entry.tail = promise;
    await ahead;
    try {
      const { id } = lifeOf(entry);
      if (this.#workers.find(id) !== entry) throw workerNotFound(id);
      await change();
    } finally {
      resolve();
    }
  }
}
