import { batchRunner } from '../../../machines/batchMachine.ts';
import type { BatchEvent } from '../../../machines/events.ts';
import type { BatchRequest, RunBatch } from '../../domain/batch.ts';
import type { Clock } from '../../domain/clock.ts';
import type { Delivery } from '../../domain/webhook.ts';
import type { Change, Store } from '../../store/store.ts';
import { type EventBus, type Inspector, inspectOption } from '../core/index.ts';
import type { RunBook, RunHost } from '../runs/index.ts';
import { type BatchRun, isBatch } from './batchRun.ts';

/** What is to be sent to webhooks when a batch changes, and who sends it once it is committed. */
export interface BatchWebhooks {
  /** A request as it is stored, with the id of the endpoint that it names. */
  resolved(request: BatchRequest): BatchRequest;
  ofBatch(runId: string, before: RunBatch['state'], after: RunBatch, at: number): readonly Delivery[];
  take(deliveries: readonly Delivery[]): void;
}

/**
 * Hosts the actors of batches: one event at a time becomes a committed change of the run, and only then the book shows it. It
 * takes turns with the run's own actor, whose record is the same.
 */
export class BatchHost {
  readonly #clock: Clock;
  readonly #store: Store;
  readonly #book: RunBook;
  readonly #host: RunHost;
  readonly #bus: EventBus;
  readonly #inspector: Inspector | null;
  readonly #webhooks: BatchWebhooks;

  constructor(options: {
    clock: Clock;
    store: Store;
    book: RunBook;
    host: RunHost;
    bus: EventBus;
    inspector: Inspector | null;
    webhooks: BatchWebhooks;
  }) {
    this.#clock = options.clock;
    this.#store = options.store;
    this.#book = options.book;
    this.#host = options.host;
    this.#bus = options.bus;
    this.#inspector = options.inspector;
    this.#webhooks = options.webhooks;
  }

  /** The batch of a new run. */
  begin(runId: string, request: BatchRequest): RunBatch {
    const { state, context } = batchRunner.begin(
      undefined,
      inspectOption(this.#inspector, 'batch', runId, true),
    );
    return { request: this.#webhooks.resolved(request), state, life: context };
  }

  /**
   * Send an event to a batch, and commit what it changes.
   * @param choose the event for the batch as it is when its turn has come; null for none.
   * @param others to commit together with the change.
   * @returns the batch after the event; null when its state does not accept that, or there was none.
   * @throws StoreUnavailable when the change could not be made durable; the batch is then as it was.
   */
  apply(
    id: string,
    choose: (run: BatchRun) => BatchEvent | null,
    others: readonly Change[] = [],
  ): Promise<BatchRun | null> {
    return this.#host.alone(id, async () => {
      const before = this.#book.find(id);
      const event = before === undefined || !isBatch(before) ? null : choose(before);
      if (before?.batch === undefined || event === null) return null;
      const { totals: _, batch, ...stored } = before;
      const resting = { state: batch.state, context: batch.life };
      const actor = batchRunner.restore(resting, inspectOption(this.#inspector, 'batch', id));
      const step = batchRunner.step(actor, event);
      if (step === null) return null;
      const run = { ...stored, batch: { ...batch, state: step.to, life: step.context } };
      const at = this.#clock.now();
      const deliveries = this.#webhooks.ofBatch(id, batch.state, run.batch, at);
      const sent = deliveries.map((delivery) => ({ kind: 'delivery', delivery }) as const);
      await this.#store.commit([{ kind: 'run', run }, ...sent, ...others]);
      this.#webhooks.take(deliveries);
      this.#bus.handled('batch', id, { before: step.from, after: step.to, event: event.type, at });
      const after = this.#book.put(run);
      return isBatch(after) ? after : null;
    });
  }
}
