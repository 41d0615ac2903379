import type { Doer } from '../domain/audit.ts';
import type { Clock } from '../domain/clock.ts';
import { type QueueState, untouchedQueue } from '../domain/queue.ts';
import type { Logger } from '../lib/log.ts';
import type { Store } from '../store/store.ts';
import type { Audit, EventBus, Supervisor } from './core/index.ts';

/**
 * Pauses and resumes the queue. What it is set to is in the store before anybody is answered, and holds over restarts.
 */
export class QueueSwitch {
  readonly #store: Store;
  readonly #audit: Audit;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #supervisor: Supervisor;
  readonly #bus: EventBus;
  #state = untouchedQueue;
  /** The end of the last change in flight, which never rejects: they are made one after the other. */
  #tail: Promise<unknown> = Promise.resolve();

  constructor(options: {
    store: Store;
    audit: Audit;
    clock: Clock;
    logger: Logger;
    supervisor: Supervisor;
    bus: EventBus;
  }) {
    this.#store = options.store;
    this.#audit = options.audit;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#supervisor = options.supervisor;
    this.#bus = options.bus;
  }

  /** Take up what the store has. @throws StoreUnavailable. */
  async open(): Promise<void> {
    this.#state = await this.#store.queue();
  }

  /** As it was committed last. */
  get state(): QueueState {
    return this.#state;
  }

  /**
   * Pause the queue, or resume it. Changes nothing when it is so already: who did that first, when and why stays.
   * @param by for the audit log too; null keeps it out of it. @param reason of a pause, for people.
   * @returns the state, which is durable. @throws StoreUnavailable; the state is the former one then.
   */
  set(paused: boolean, by: Doer | null, reason: string | null): Promise<QueueState> {
    const change = this.#tail.then(() => this.#set(paused, by, reason));
    this.#tail = change.catch(() => {});
    return change;
  }

  async #set(paused: boolean, by: Doer | null, reason: string | null): Promise<QueueState> {
    if (this.#state.paused === paused) return this.#state;
    const actor = by?.actor ?? null;
    const state: QueueState = {
      paused,
      since: this.#clock.now(),
      by: actor === null ? null : { keyId: actor.keyId, name: actor.name },
      reason: paused ? reason : null,
    };
    // Nothing more is handed out while the pause is made durable.
    if (paused) this.#supervisor.pause();
    try {
      await this.#store.commit([{ kind: 'queue', queue: state }, ...this.#entries(state, by)]);
    } catch (error) {
      if (paused) this.#supervisor.resume();
      throw error;
    }
    this.#state = state;
    if (!paused) this.#supervisor.resume();
    this.#bus.publish({
      type: paused ? 'queue.paused' : 'queue.resumed',
      at: this.#clock.now(),
      queue: state,
    });
    this.#logger.info(
      { key_id: actor?.keyId ?? null, name: actor?.name ?? null, reason: state.reason },
      paused ? 'the queue is paused; no job is handed out' : 'the queue is resumed',
    );
    return state;
  }

  #entries({ paused, reason }: QueueState, by: Doer | null) {
    if (by === null) return [];
    return [
      this.#audit.change({
        by,
        action: paused ? 'queue.paused' : 'queue.resumed',
        target: { kind: 'queue', id: null, name: null },
        details: paused ? { reason } : {},
        outcome: 'done',
      }),
    ];
  }
}
