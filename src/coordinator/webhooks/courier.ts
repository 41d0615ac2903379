import type { Clock, Random } from '../../domain/clock.ts';
import { messageOf } from '../../domain/errors.ts';
import type {
  Delivery,
  SendOutcome,
  WebhookRecord,
  WebhookSender,
  WebhookStop,
} from '../../domain/webhook.ts';
import type { Logger } from '../../lib/log.ts';
import type { Change, Store } from '../../store/store.ts';
import type { Audit, Deadlines } from '../core/index.ts';
import { durably } from './durably.ts';
import { delayAfter, isSuccess } from './retries.ts';
import { SendLane } from './sendLane.ts';
import { SendTurns } from './sendTurns.ts';
import type { WebhookBook } from './webhookBook.ts';
import type { WebhookKeeper } from './webhookKeeper.ts';

/** How tries have ended since the start, and what was dropped. */
export interface WebhookOutcomes {
  delivered: number;
  /** Failed tries that are followed by another. */
  retried: number;
  failed: number;
  dropped: number;
}

export interface CourierParts {
  clock: Clock;
  random: Random;
  deadlines: Deadlines;
  store: Store;
  audit: Audit;
  book: WebhookBook;
  keeper: WebhookKeeper;
  sender: WebhookSender;
  logger: Logger;
}

/**
 * Sends what waits, until it has arrived or is given up. How each try of a message ended is committed before its next one,
 * so after a crash it may be sent again, and none is left out. Nobody waits for it.
 */
export class Courier {
  readonly #parts: CourierParts;
  /** By endpoint and URL, see `SendLane`: how the URL of a job answers is nothing to the endpoint or to another URL. */
  readonly #lanes = new Map<string, Map<string | undefined, SendLane>>();
  readonly #turns = new SendTurns<SendLane>((lane) => this.#pump(lane));
  /** Endpoints of which deliveries are being dropped. */
  readonly #dropping = new Set<string>();
  readonly #outcomes: WebhookOutcomes = { delivered: 0, retried: 0, failed: 0, dropped: 0 };
  #isClosed = true;

  constructor(parts: CourierParts) {
    this.#parts = parts;
  }

  get outcomes(): Readonly<WebhookOutcomes> {
    return this.#outcomes;
  }

  /** Send from now on, beginning with what is stored. */
  start(): void {
    this.#isClosed = false;
    const { book } = this.#parts;
    for (const { id } of book.list()) {
      for (const delivery of book.pendingOf(id)) this.#lane(delivery).schedule(delivery);
      this.#dropSurplus(id);
      this.#pumpAll(id);
    }
  }

  /** Start nothing more. What is under way is aborted, and sent again after the next start. */
  close(): void {
    this.#isClosed = true;
    for (const lanes of this.#lanes.values()) for (const lane of lanes.values()) lane.close();
    this.#parts.sender.close();
  }

  /** Deliveries are durable that are to be sent. */
  take(deliveries: readonly Delivery[]): void {
    const { book } = this.#parts;
    for (const delivery of deliveries) {
      const { webhookId } = delivery;
      if (book.find(webhookId) === undefined) continue;
      book.put(delivery);
      const lane = this.#lane(delivery);
      lane.schedule(delivery);
      this.#dropSurplus(webhookId);
      this.#pump(lane);
    }
  }

  /** Try a delivery that waits now. Nothing of it is stored: after a crash it has the time that it had. */
  hurry(delivery: Delivery): void {
    const lane = this.#lane(delivery);
    if (lane.isInFlight(delivery.id)) return;
    lane.schedule({ ...delivery, nextAt: this.#parts.clock.now() });
    lane.trust();
    this.#pump(lane);
  }

  /** An endpoint has changed: try at once what waits for it, when its next try is due. */
  changed(webhookId: string): void {
    for (const lane of this.#lanesOf(webhookId)) lane.trust();
    this.#pumpAll(webhookId);
  }

  /** An endpoint is gone. */
  removed(webhookId: string): void {
    for (const lane of this.#lanesOf(webhookId)) this.#remove(lane);
  }

  #lanesOf(webhookId: string): SendLane[] {
    return [...(this.#lanes.get(webhookId)?.values() ?? [])];
  }

  #lane(delivery: Pick<Delivery, 'webhookId' | 'url'>): SendLane {
    const { webhookId, url } = delivery;
    const lanes = this.#lanes.get(webhookId) ?? new Map<string | undefined, SendLane>();
    this.#lanes.set(webhookId, lanes);
    const known = lanes.get(url);
    if (known !== undefined) return known;
    const lane: SendLane = new SendLane(delivery, { ...this.#parts, pump: () => this.#pump(lane) });
    lanes.set(url, lane);
    return lane;
  }

  #remove(lane: SendLane): void {
    const lanes = this.#lanes.get(lane.webhookId);
    lane.close();
    this.#turns.leave(lane);
    lanes?.delete(lane.url);
    if (lanes?.size === 0) this.#lanes.delete(lane.webhookId);
  }

  #pumpAll(webhookId: string): void {
    for (const lane of this.#lanesOf(webhookId)) this.#pump(lane);
  }

  /** Send what is due of a lane, as far as there is room. */
  #pump(lane: SendLane): void {
    const webhook = this.#parts.book.find(lane.webhookId);
    if (this.#isClosed || webhook === undefined || webhook.stopped !== null) return;
    for (;;) {
      const id = lane.next;
      if (id === null || !this.#turns.begin(lane)) break;
      lane.begin(id);
      this.#attempt(lane, id)
        .catch((error: unknown) => this.#parts.logger.error({ err: error }, 'a webhook delivery failed'))
        .finally(() => {
          lane.landed(id);
          this.#pump(lane);
        });
    }
    this.#removeIdle(lane);
  }

  /** Of URLs of jobs there may be as many as deliveries: their lanes stay while there is something to send. */
  #removeIdle(lane: SendLane): void {
    if (lane.isIdle && lane.url !== undefined) this.#remove(lane);
  }

  /** Send a delivery, and make durable how that ended; the next ones are sent meanwhile. */
  async #attempt(lane: SendLane, id: string): Promise<void> {
    const { book, clock } = this.#parts;
    const { webhookId } = lane;
    const webhook = book.find(webhookId);
    const delivery = book.delivery(webhookId, id);
    if (webhook === undefined || delivery?.state !== 'pending') return this.#sent(lane, null);
    const { event, url = webhook.url } = delivery;
    const secrets = secretsOf(webhook, clock.now());
    const outcome = await this.#parts.sender.send({ url, event, secrets });
    // The endpoint has another URL by now: what the former one refused is sent there.
    const isOutdated = !isSuccess(outcome) && url !== (delivery.url ?? book.find(webhookId)?.url);
    this.#sent(lane, isOutdated ? null : outcome);
    if (this.#isClosed) return;
    if (isOutdated || outcome.isHeldUp === true) return this.#putBack(lane, id);
    const after = this.#judge(delivery, outcome);
    await this.#durably(async () => {
      // Dropped or removed meanwhile.
      if (book.delivery(webhookId, id)?.state !== 'pending') return;
      await this.#commit(lane, after);
      this.#outcomes[after.state === 'pending' ? 'retried' : after.state] += 1;
    });
  }

  /** Something is no longer on its way: there is room for others. @param outcome null when it was not sent. */
  #sent(lane: SendLane, outcome: SendOutcome | null): void {
    lane.tried(outcome);
    this.#turns.end(lane);
    this.#pump(lane);
  }

  /** A delivery was not tried after all: it waits as before, while its lane rests. */
  #putBack(lane: SendLane, id: string): void {
    const delivery = this.#parts.book.delivery(lane.webhookId, id);
    if (delivery?.state === 'pending') lane.schedule(delivery);
  }

  /** The delivery after a try. */
  #judge(delivery: Delivery, outcome: SendOutcome): Delivery {
    const { clock, random } = this.#parts;
    const now = clock.now();
    const tries = delivery.tries + 1;
    const last = { at: now, status: outcome.status, error: faultOf(outcome), ms: outcome.ms };
    if (isSuccess(outcome)) return { ...delivery, state: 'delivered', tries, last, nextAt: null };
    const delayMs = outcome.status === 410 ? null : delayAfter(tries, outcome, now, random);
    if (delayMs === null) return { ...delivery, state: 'failed', tries, last, nextAt: null };
    return { ...delivery, tries, last, nextAt: Math.round(now + delayMs) };
  }

  async #commit(lane: SendLane, delivery: Delivery): Promise<void> {
    const { book, keeper, store } = this.#parts;
    const { webhookId, state } = delivery;
    const removed = state === 'pending' ? [] : book.surplusEnded(webhookId);
    const changes: Change[] = [{ kind: 'delivery', delivery }];
    if (removed.length > 0) changes.push({ kind: 'deliveriesRemoved', ids: removed });
    const stopped = state === 'failed' ? this.#stopAfter(delivery) : null;
    if (stopped === null) await store.commit(changes);
    else {
      await keeper.change(
        webhookId,
        (webhook) => ({ ...webhook, stopped: webhook.stopped ?? stopped }),
        (webhook) => [...changes, ...this.#stopEntry(webhook, stopped)],
      );
    }
    if (book.delivery(webhookId, delivery.id) === undefined) return;
    book.remove(webhookId, removed);
    book.put(delivery);
    if (state === 'pending') lane.schedule(delivery);
  }

  /** Why an endpoint gets nothing more after a delivery that has failed for good; null when it does. */
  #stopAfter({ webhookId, url, createdAt, last }: Delivery): WebhookStop | null {
    const { book, clock } = this.#parts;
    const at = clock.now();
    // What a job named says nothing of the endpoint.
    if (url !== undefined) return null;
    if (last?.status === 410) return { reason: 'gone', at };
    const hasArrived = book
      .endedOf(webhookId)
      .some(
        (other) =>
          other.url === undefined && other.state === 'delivered' && (other.last?.at ?? 0) >= createdAt,
      );
    return hasArrived ? null : { reason: 'failing', at };
  }

  #stopEntry({ id, name }: WebhookRecord, { reason }: WebhookStop): Change[] {
    const { audit, logger } = this.#parts;
    logger.warn({ webhook: name, reason }, 'a webhook is stopped');
    const target = { kind: 'webhook', id, name } as const;
    const by = { actor: null, address: null };
    return [audit.change({ by, action: 'webhook.stopped', target, details: { reason }, outcome: 'done' })];
  }

  /** Drop of what waits where it is too much: first what goes to URLs of jobs, each time the oldest. */
  #dropSurplus(webhookId: string): void {
    const { book, keeper, logger } = this.#parts;
    const surplus = book.surplus(webhookId);
    if (surplus === null || this.#dropping.has(surplus.webhookId)) return;
    const ids: string[] = [];
    for (const isOfJobs of [true, false]) {
      for (const delivery of book.pendingOf(surplus.webhookId)) {
        if (ids.length >= surplus.count) break;
        if ((delivery.url !== undefined) !== isOfJobs) continue;
        const lane = this.#lane(delivery);
        if (lane.isInFlight(delivery.id)) continue;
        lane.forget(delivery.id);
        this.#removeIdle(lane);
        ids.push(delivery.id);
      }
    }
    book.remove(surplus.webhookId, ids);
    this.#outcomes.dropped += ids.length;
    this.#dropping.add(surplus.webhookId);
    const drop = () =>
      keeper.change(
        surplus.webhookId,
        (webhook) => ({ ...webhook, dropped: webhook.dropped + ids.length }),
        ({ name }) => {
          logger.warn(
            { webhook: name, dropped: ids.length },
            'too much waits for a webhook; dropped the oldest',
          );
          return [{ kind: 'deliveriesRemoved', ids }];
        },
      );
    this.#durably(async () => void (await drop()))
      .catch((error: unknown) => logger.warn({ error: messageOf(error) }, 'deliveries could not be dropped'))
      .finally(() => this.#dropping.delete(surplus.webhookId));
  }

  #durably(task: () => Promise<void>): Promise<void> {
    return durably(this.#parts, () => this.#isClosed, task);
  }
}

/** The secrets that sign now, the newest first. */
export function secretsOf({ secret, previous }: WebhookRecord, now: number): string[] {
  return [secret, ...previous.filter(({ until }) => until > now).map((former) => former.secret)];
}

/** Why an outcome is none that was wanted; null for a good one. */
function faultOf(outcome: SendOutcome): string | null {
  const { status, error } = outcome;
  if (isSuccess(outcome)) return null;
  if (status === null) return error;
  if (status >= 300 && status < 400) return 'it redirects, and redirects are not followed';
  return status === 410 ? 'it says that it is gone' : `it answered ${status}`;
}
