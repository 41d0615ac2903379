import type { Doer } from '../domain/audit.ts';
import type { Clock } from '../domain/clock.ts';
import { type QueueState, untouchedQueue } from '../domain/queue.ts';
import type { Logger } from '../lib/log.ts';
import type { Store } from '../store/store.ts';
import type { Audit } from './audit.ts';

/**
 * Pauses and resumes the queue. What it is set to is in the store before anybody is answered, and holds over restarts.
 */
export class QueueSwitch {
  readonly #store: Store;
  readonly #audit: Audit;
  readonly #clock: Clock;
  readonly #logger: Logger;
  /** Called when a change is durable. */
  readonly #onChanged: (state: QueueState) => void;
  /** Called when a pause could not be made durable: jobs may be handed out again. */
  readonly #onReleased: () => void;
  #state = untouchedQueue;
  /** The end of the last change in flight, which never rejects: they are made one after the other. */
  #tail: Promise<unknown> = Promise.resolve();
  #isPausing = false;

  constructor(options: {
    store: Store;
    audit: Audit;
    clock: Clock;
    logger: Logger;
    onChanged: (state: QueueState) => void;
    onReleased: () => void;
  }) {
    this.#store = options.store;
    this.#audit = options.audit;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#onChanged = options.onChanged;
    this.#onReleased = options.onReleased;
  }

  /** Take up what the store has. @throws StoreUnavailable. */
  async open(): Promise<void> {
    this.#state = await this.#store.queue();
  }

  /** As it was committed last. */
  get state(): QueueState {
    return this.#state;
  }

  /** Whether a pause is being made durable: nothing more is handed out from then on. */
  get isPausing(): boolean {
    return this.#isPausing;
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
    this.#isPausing = paused;
    try {
      await this.#store.commit([{ kind: 'queue', queue: state }, ...this.#entries(state, by)]);
    } catch (error) {
      this.#isPausing = false;
      if (paused) this.#onReleased();
      throw error;
    }
    this.#state = state;
    this.#isPausing = false;
    this.#onChanged(state);
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
