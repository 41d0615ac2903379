import {
  bytesOf,
  type Delivery,
  endedMax,
  type FormerSecret,
  pendingBytesInAllMax,
  pendingBytesMax,
  pendingInAllMax,
  pendingMax,
  type WebhookRecord,
} from '../../domain/webhook.ts';

/** Of what waits, so much more is dropped than is needed: one commit for many, when an endpoint is down. */
const slack = 0.05;

interface Shelf {
  webhook: WebhookRecord;
  /** By id, oldest first. */
  pending: Map<string, Delivery>;
  bytes: number;
  /** By id, in the order of their ends. */
  ended: Map<string, Delivery>;
}

/** An endpoint as it may be stored: the first ones had one former secret, or null. */
interface StoredWebhook extends Omit<WebhookRecord, 'previous'> {
  previous: FormerSecret[] | FormerSecret | null;
}

/** Every endpoint and delivery, as committed. */
export class WebhookBook {
  readonly #shelves = new Map<string, Shelf>();
  #pending = 0;
  #bytes = 0;

  /** Begin with what is stored. */
  open(webhooks: readonly StoredWebhook[], deliveries: readonly Delivery[]): void {
    for (const webhook of webhooks)
      this.putWebhook({ ...webhook, previous: [webhook.previous ?? []].flat() });
    const inOrder = deliveries.toSorted((a, b) => (a.last?.at ?? 0) - (b.last?.at ?? 0));
    for (const delivery of inOrder) if (delivery.state !== 'pending') this.put(delivery);
    for (const delivery of deliveries) if (delivery.state === 'pending') this.put(delivery);
  }

  get size(): number {
    return this.#shelves.size;
  }

  /** Deliveries that wait, of all endpoints. */
  get pending(): number {
    return this.#pending;
  }

  /** When the oldest of them was decided on, epoch ms; null when none waits. */
  get oldestAt(): number | null {
    let oldest: number | null = null;
    for (const { pending } of this.#shelves.values()) {
      const [first] = pending.values();
      if (first !== undefined && (oldest === null || first.createdAt < oldest)) oldest = first.createdAt;
    }
    return oldest;
  }

  find(id: string): WebhookRecord | undefined {
    return this.#shelves.get(id)?.webhook;
  }

  /** In order of creation. */
  list(): WebhookRecord[] {
    return [...this.each()];
  }

  /** The same one by one, for the end of each job. */
  *each(): Generator<WebhookRecord> {
    for (const { webhook } of this.#shelves.values()) yield webhook;
  }

  /** One by its id or name. */
  named(name: string): WebhookRecord | undefined {
    const known = this.find(name);
    if (known !== undefined) return known;
    for (const { webhook } of this.#shelves.values()) if (webhook.name === name) return webhook;
    return undefined;
  }

  putWebhook(webhook: WebhookRecord): void {
    const known = this.#shelves.get(webhook.id);
    if (known !== undefined) known.webhook = webhook;
    else this.#shelves.set(webhook.id, { webhook, pending: new Map(), bytes: 0, ended: new Map() });
  }

  /** An endpoint is gone, with all of its deliveries. */
  removeWebhook(id: string): void {
    const shelf = this.#shelves.get(id);
    if (shelf === undefined) return;
    this.#shelves.delete(id);
    this.#pending -= shelf.pending.size;
    this.#bytes -= shelf.bytes;
  }

  delivery(webhookId: string, id: string): Delivery | undefined {
    const shelf = this.#shelves.get(webhookId);
    return shelf?.pending.get(id) ?? shelf?.ended.get(id);
  }

  /** Those that wait, oldest first. */
  pendingOf(webhookId: string): Iterable<Delivery> {
    return this.#shelves.get(webhookId)?.pending.values() ?? [];
  }

  pendingCount(webhookId: string): number {
    return this.#shelves.get(webhookId)?.pending.size ?? 0;
  }

  /** Those that have ended, the last one first. */
  endedOf(webhookId: string): Delivery[] {
    return [...(this.#shelves.get(webhookId)?.ended.values() ?? [])].reverse();
  }

  /** Those that make room in the list for one more that ends. */
  surplusEnded(webhookId: string): string[] {
    const ended = this.#shelves.get(webhookId)?.ended ?? new Map<string, Delivery>();
    return [...ended.keys()].slice(0, Math.max(0, ended.size + 1 - endedMax));
  }

  /** Show a delivery as it was committed; nothing happens when its endpoint is gone. */
  put(delivery: Delivery): void {
    const shelf = this.#shelves.get(delivery.webhookId);
    if (shelf === undefined) return;
    const { id, state } = delivery;
    if (state === 'pending') {
      if (!shelf.pending.has(id)) this.#count(shelf, delivery, 1);
      shelf.pending.set(id, delivery);
      return;
    }
    this.#forget(shelf, id);
    shelf.ended.set(id, delivery);
  }

  remove(webhookId: string, ids: readonly string[]): void {
    const shelf = this.#shelves.get(webhookId);
    for (const id of ids) {
      shelf?.ended.delete(id);
      if (shelf !== undefined) this.#forget(shelf, id);
    }
  }

  /**
   * The endpoint whose oldest deliveries are to be dropped, and how many of them: the one given when it has too many, the one
   * with the most when all together are too many; null while there is room.
   */
  surplus(webhookId: string): { webhookId: string; count: number } | null {
    const shelf = this.#shelves.get(webhookId);
    if (shelf !== undefined && (shelf.pending.size > pendingMax || shelf.bytes > pendingBytesMax))
      return { webhookId, count: Math.ceil(shelf.pending.size * slack) };
    if (this.#pending <= pendingInAllMax && this.#bytes <= pendingBytesInAllMax) return null;
    let most: [string, Shelf] | null = null;
    for (const entry of this.#shelves) if (entry[1].bytes > (most?.[1].bytes ?? 0)) most = entry;
    return most === null ? null : { webhookId: most[0], count: Math.ceil(most[1].pending.size * slack) };
  }

  #forget(shelf: Shelf, id: string): void {
    const known = shelf.pending.get(id);
    if (known === undefined) return;
    shelf.pending.delete(id);
    this.#count(shelf, known, -1);
  }

  #count(shelf: Shelf, delivery: Delivery, sign: 1 | -1): void {
    const bytes = sign * bytesOf(delivery);
    this.#pending += sign;
    this.#bytes += bytes;
    shelf.bytes += bytes;
  }
}
