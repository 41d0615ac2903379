import type { SendOutcome, WebhookMessage, WebhookSender } from '../../src/domain/webhook.ts';

interface Sent extends WebhookMessage {
  /** Answer with a status, or with null and why there is none. */
  answer: (status: number | null, retryAfter?: string | null) => void;
}

/** A sender by hand: keeps every message until the test answers it, or answers all with one status. */
export class HandSender implements WebhookSender {
  readonly sent: Sent[] = [];
  /** Statuses by URL; a message to another URL waits for its `answer`. */
  readonly statuses = new Map<string, number | null>();
  /** Why URLs are refused. */
  refused: string | null = null;
  #watchers: (() => void)[] = [];

  refusal(): Promise<string | null> {
    return Promise.resolve(this.refused);
  }

  send(message: WebhookMessage): Promise<SendOutcome> {
    const { promise, resolve } = Promise.withResolvers<SendOutcome>();
    const answer: Sent['answer'] = (status, retryAfter = null) =>
      resolve({ status, error: status === null ? 'no answer in time' : null, retryAfter, ms: 3 });
    this.sent.push({ ...message, answer });
    const status = this.statuses.get(message.url);
    if (status !== undefined) answer(status);
    for (const watcher of this.#watchers.splice(0)) watcher();
    return promise;
  }

  close(): void {}

  /** The `count`th message, counted from 1. */
  async message(count: number): Promise<Sent> {
    while (this.sent.length < count) await new Promise<void>((resolve) => this.#watchers.push(resolve));
    return this.sent[count - 1] as Sent;
  }
}
