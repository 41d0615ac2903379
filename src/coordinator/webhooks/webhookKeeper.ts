import { CoordinatorError } from '../../domain/errors.ts';
import type { WebhookRecord } from '../../domain/webhook.ts';
import { KeyedQueue } from '../../lib/keyedQueue.ts';
import type { Change, Store } from '../../store/store.ts';
import type { WebhookBook } from './webhookBook.ts';

/** Makes changes of endpoints durable, one after the other, and only then shows them in the book. */
export class WebhookKeeper {
  readonly #store: Store;
  readonly #book: WebhookBook;
  readonly #queue = new KeyedQueue();

  constructor({ store, book }: { store: Store; book: WebhookBook }) {
    this.#store = store;
    this.#book = book;
  }

  /** @param make the new endpoint, when its turn has come. @throws what `make` throws; StoreUnavailable. */
  add(make: () => { webhook: WebhookRecord; others: readonly Change[] }): Promise<WebhookRecord> {
    return this.#alone(async () => {
      const { webhook, others } = make();
      await this.#store.commit([{ kind: 'webhook', webhook }, ...others]);
      this.#book.putWebhook(webhook);
      return webhook;
    });
  }

  /**
   * @param edit the endpoint after the change; null to leave it as it is. @param others to commit together with the change.
   * @returns the endpoint as it is then. @throws CoordinatorError not_found; what `edit` throws; StoreUnavailable.
   */
  change(
    id: string,
    edit: (webhook: WebhookRecord) => WebhookRecord | null,
    others: (webhook: WebhookRecord) => readonly Change[] = () => [],
  ): Promise<WebhookRecord> {
    return this.#alone(async () => {
      const before = this.#book.find(id);
      if (before === undefined) throw webhookNotFound(id);
      const webhook = edit(before);
      if (webhook === null) return before;
      await this.#store.commit([{ kind: 'webhook', webhook }, ...others(webhook)]);
      this.#book.putWebhook(webhook);
      return webhook;
    });
  }

  /** @returns the endpoint that was. @throws CoordinatorError not_found; StoreUnavailable. */
  remove(id: string, others: (webhook: WebhookRecord) => readonly Change[]): Promise<WebhookRecord> {
    return this.#alone(async () => {
      const webhook = this.#book.find(id);
      if (webhook === undefined) throw webhookNotFound(id);
      await this.#store.commit([{ kind: 'webhookRemoved', id }, ...others(webhook)]);
      this.#book.removeWebhook(id);
      return webhook;
    });
  }

  #alone<T>(task: () => Promise<T>): Promise<T> {
    return this.#queue.run('', task);
  }
}

export function webhookNotFound(id: string): CoordinatorError {
  return new CoordinatorError('not_found', `There is no webhook ${id}`);
}
