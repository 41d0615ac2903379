import type { RunEvent } from '../../../machines/events.ts';
import { runRunner } from '../../../machines/runMachine.ts';
import type { Clock } from '../../domain/clock.ts';
import type { RunLimits, RunRecord } from '../../domain/run.ts';
import type { Delivery } from '../../domain/webhook.ts';
import { KeyedQueue } from '../../lib/keyedQueue.ts';
import type { Change, Store } from '../../store/store.ts';
import { type EventBus, type Inspector, inspectOption } from '../core/index.ts';
import type { RunBook } from './runBook.ts';

/** What a run is created from. */
export type NewRun = Pick<
  RunRecord,
  'id' | 'name' | 'createdAt' | 'createdBy' | 'defaults' | 'check' | 'batch'
> & {
  limits: RunLimits;
};

/** What is to be sent to webhooks when a run changes, and who sends it once it is committed. */
export interface RunWebhooks {
  ofRun(before: RunRecord, state: RunRecord['state'], at: number): readonly Delivery[];
  take(deliveries: readonly Delivery[]): void;
}

/**
 * Hosts the actors of runs: one event of a run at a time becomes a committed change, and only then the book shows it. A run at
 * rest is its record; its actor lives for the moment of an event.
 */
export class RunHost {
  readonly #clock: Clock;
  readonly #store: Store;
  readonly #book: RunBook;
  readonly #bus: EventBus;
  readonly #inspector: Inspector | null;
  readonly #webhooks: RunWebhooks;
  readonly #onPaused: () => void;
  readonly #queue = new KeyedQueue();

  constructor(options: {
    clock: Clock;
    store: Store;
    book: RunBook;
    bus: EventBus;
    inspector: Inspector | null;
    webhooks: RunWebhooks;
    /** A run is paused: what of it has not begun is to come back. */
    onPaused: () => void;
  }) {
    this.#clock = options.clock;
    this.#store = options.store;
    this.#book = options.book;
    this.#bus = options.bus;
    this.#inspector = options.inspector;
    this.#webhooks = options.webhooks;
    this.#onPaused = options.onPaused;
  }

  /** Run a task after everything of this run, or of a name, that is in flight. */
  alone<T>(key: string, task: () => Promise<T>): Promise<T> {
    return this.#queue.run(key, task);
  }

  /**
   * Make a run durable; where there are too many, one that has ended is forgotten with the same commit.
   * @throws CoordinatorError share_exceeded when none has; StoreUnavailable. There is no such run then.
   */
  create({ limits, ...identity }: NewRun): Promise<RunRecord> {
    const { state, context } = runRunner.begin(
      limits,
      inspectOption(this.#inspector, 'run', identity.id, true),
    );
    const run = { ...identity, state, life: context };
    // One after the other: two at a time would find the same run to forget, and there would be one more each time.
    return this.alone('new run', async () => {
      const surplus = this.#book.surplus();
      const removed: Change[] = surplus === null ? [] : [{ kind: 'runRemoved', id: surplus.id }];
      await this.#store.commit([{ kind: 'run', run }, ...removed]);
      if (surplus !== null) this.#book.forget(surplus);
      const event = { before: null, after: state, event: 'run.created', at: run.createdAt };
      this.#bus.handled('run', run.id, event);
      return this.#book.put(run);
    });
  }

  /**
   * Send an event to a run, and commit what it changes.
   * @param choose the event for the run as it is when its turn has come; null for none.
   * @param others to commit together with the change.
   * @returns the run after the event; null when its state does not accept that, or there was none.
   * @throws StoreUnavailable when the change could not be made durable; the run is then as it was.
   */
  apply(
    id: string,
    choose: (run: RunRecord) => RunEvent | null,
    others: readonly Change[] = [],
  ): Promise<RunRecord | null> {
    return this.alone(id, async () => {
      const before = this.#book.find(id);
      const event = before === undefined ? null : choose(before);
      if (before === undefined || event === null) return null;
      const resting = { state: before.state, context: before.life };
      const actor = runRunner.restore(resting, inspectOption(this.#inspector, 'run', id));
      const step = runRunner.step(actor, event);
      if (step === null) return null;
      const { totals: _, ...stored } = before;
      const run = { ...stored, state: step.to, life: step.context };
      const at = this.#clock.now();
      const deliveries = this.#webhooks.ofRun(before, step.to, at);
      const sent = deliveries.map((delivery) => ({ kind: 'delivery', delivery }) as const);
      await this.#store.commit([{ kind: 'run', run }, ...sent, ...others]);
      this.#webhooks.take(deliveries);
      this.#bus.handled('run', id, { before: step.from, after: step.to, event: event.type, at });
      const now = this.#book.put(run);
      if (step.from !== step.to && step.to === 'paused') this.#onPaused();
      return now;
    });
  }
}
