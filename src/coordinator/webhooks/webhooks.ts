import type { AuditAction, AuditDetails, Doer } from '../../domain/audit.ts';
import type { Clock, Random } from '../../domain/clock.ts';
import { CoordinatorError } from '../../domain/errors.ts';
import {
  type Delivery,
  formerSecretsMax,
  rotationMs,
  type SendOutcome,
  secretBytes,
  secretPrefix,
  type WebhookRecord,
  type WebhookSender,
  webhooksMax,
} from '../../domain/webhook.ts';
import type { AuditChange, Store } from '../../store/store.ts';
import type { Audit } from '../core/index.ts';
import { type Courier, secretsOf, type WebhookOutcomes } from './courier.ts';
import { deliveryOf, type Outbox } from './outbox.ts';
import type { WebhookBook } from './webhookBook.ts';
import { type WebhookKeeper, webhookNotFound } from './webhookKeeper.ts';

/** What an admin decides of an endpoint. */
export interface WebhookSettings
  extends Pick<WebhookRecord, 'name' | 'url' | 'description' | 'events' | 'tags'> {
  isEnabled: boolean;
}

/** An endpoint, with what only this process counts. */
export interface WebhookView {
  webhook: WebhookRecord;
  /** Deliveries that wait. */
  pending: number;
}

/** For the metrics. */
export interface WebhookFigures {
  outcomes: Readonly<WebhookOutcomes>;
  pending: number;
  /** Epoch ms; null when none waits. */
  oldestAt: number | null;
}

interface Parts {
  clock: Clock;
  random: Random;
  store: Store;
  audit: Audit;
  sender: WebhookSender;
  book: WebhookBook;
  keeper: WebhookKeeper;
  courier: Courier;
  outbox: Outbox;
  newId: () => string;
}

/** Everything that reaches webhooks from outside. */
export class Webhooks {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Take up what is stored; nothing is sent before the courier starts. @throws StoreUnavailable. */
  async open(): Promise<void> {
    const { store, book } = this.#parts;
    const { webhooks, deliveries } = await store.webhooks();
    book.open(webhooks, deliveries);
  }

  /** In order of creation. */
  list(): WebhookView[] {
    return this.#parts.book.list().map((webhook) => this.#view(webhook));
  }

  /** @param name its id or name. @throws CoordinatorError not_found. */
  get(name: string): WebhookView {
    const webhook = this.#parts.book.named(name);
    if (webhook === undefined) throw webhookNotFound(name);
    return this.#view(webhook);
  }

  /** Whether a job or batch can name it: an id, a name or an allowed URL. */
  isNamed(webhook: string): boolean {
    return this.#parts.outbox.isNamed(webhook);
  }

  get figures(): WebhookFigures {
    const { book, courier } = this.#parts;
    return { outcomes: courier.outcomes, pending: book.pending, oldestAt: book.oldestAt };
  }

  /**
   * Make an endpoint. Its secret is for this answer only.
   * @throws CoordinatorError invalid_request for a URL that nothing may be sent to, or a name that is taken, and when
   * there are too many; StoreUnavailable.
   */
  async create({ isEnabled, ...settings }: WebhookSettings, by: Doer): Promise<WebhookView> {
    const { clock, keeper, newId, book } = this.#parts;
    await this.#assertUrl(settings.url);
    const webhook = await keeper.add(() => {
      this.#assertFree(settings.name, null);
      if (book.size >= webhooksMax)
        throw invalid('name', `cannot be added: there are ${webhooksMax} webhooks already; delete one`);
      const createdAt = clock.now();
      const made: WebhookRecord = {
        ...settings,
        id: newId(),
        secret: this.#newSecret(),
        previous: [],
        createdAt,
        stopped: isEnabled ? null : { reason: 'paused', at: createdAt },
        dropped: 0,
      };
      return {
        webhook: made,
        others: [this.#entry(by, 'webhook.created', made, { host: hostOf(made.url) })],
      };
    });
    return this.#view(webhook);
  }

  /** What is left out stays. @throws CoordinatorError not_found; as `create`. */
  async change(name: string, change: Partial<WebhookSettings>, by: Doer): Promise<WebhookView> {
    const { clock, courier, keeper } = this.#parts;
    const { id } = this.get(name).webhook;
    if (change.url !== undefined) await this.#assertUrl(change.url);
    const { isEnabled, ...settings } = change;
    const webhook = await keeper.change(
      id,
      (before) => {
        if (settings.name !== undefined) this.#assertFree(settings.name, id);
        const paused = before.stopped ?? ({ reason: 'paused', at: clock.now() } as const);
        const stopped = isEnabled === undefined ? before.stopped : isEnabled ? null : paused;
        return { ...before, ...settings, stopped };
      },
      (after) => [this.#entry(by, 'webhook.changed', after, { changed: Object.keys(change) })],
    );
    courier.changed(id);
    return this.#view(webhook);
  }

  /** A new secret; the old one signs too for a day, also when another rotation follows. @throws CoordinatorError not_found; StoreUnavailable. */
  async rotate(name: string, by: Doer): Promise<WebhookView> {
    const { clock, keeper } = this.#parts;
    const webhook = await keeper.change(
      this.get(name).webhook.id,
      (before) => {
        const now = clock.now();
        const former = [{ secret: before.secret, until: now + rotationMs }, ...before.previous];
        const previous = former.filter(({ until }) => until > now).slice(0, formerSecretsMax);
        return { ...before, secret: this.#newSecret(), previous };
      },
      (after) => [this.#entry(by, 'webhook.rotated', after, {})],
    );
    return this.#view(webhook);
  }

  /** Also drops what waits for it. @returns what it was. @throws CoordinatorError not_found; StoreUnavailable. */
  async remove(name: string, by: Doer): Promise<WebhookView> {
    const { courier, keeper } = this.#parts;
    const view = this.get(name);
    const { id } = view.webhook;
    await keeper.remove(id, (webhook) => [this.#entry(by, 'webhook.deleted', webhook, {})]);
    courier.removed(id);
    return view;
  }

  /**
   * Send a message now, as a test: it is neither repeated nor listed. @returns how that ended. @throws CoordinatorError
   * not_found.
   */
  test(name: string): Promise<SendOutcome> {
    const { clock, newId, sender } = this.#parts;
    const { webhook } = this.get(name);
    const now = clock.now();
    const id = `evt_${newId().replaceAll('-', '')}`;
    const event = {
      id,
      type: 'webhook.test',
      at: now,
      data: { id: webhook.id, name: webhook.name },
    } as const;
    return sender.send({ url: webhook.url, event, secrets: secretsOf(webhook, now) });
  }

  /** First those that wait, the oldest first, then those that have ended, the last one first. @throws CoordinatorError not_found. */
  deliveries(name: string, limit: number): Delivery[] {
    const { book } = this.#parts;
    const { id } = this.get(name).webhook;
    const listed: Delivery[] = [];
    for (const delivery of book.pendingOf(id)) {
      if (listed.length >= limit) return listed;
      listed.push(delivery);
    }
    return [...listed, ...book.endedOf(id)].slice(0, limit);
  }

  /**
   * Send the message of a delivery again, under the same id; one that waits is tried at once. @returns the new delivery, or
   * the one that waits. @throws CoordinatorError not_found, invalid_transition while nothing is sent to the endpoint;
   * StoreUnavailable.
   */
  async sendAgain(name: string, deliveryId: string): Promise<Delivery> {
    const { book, clock, courier, newId, store } = this.#parts;
    const { webhook } = this.get(name);
    const { id: webhookId } = webhook;
    const known = book.delivery(webhookId, deliveryId);
    if (known === undefined) throw new CoordinatorError('not_found', `There is no delivery ${deliveryId}`);
    assertEnabled(webhook);
    if (known.state === 'pending') {
      courier.hurry(known);
      return known;
    }
    const { event, url } = known;
    const again = deliveryOf(newId(), webhookId, url === undefined ? {} : { url }, event, clock.now());
    await store.commit([{ kind: 'delivery', delivery: again }]);
    courier.take([again]);
    return again;
  }

  #view(webhook: WebhookRecord): WebhookView {
    return { webhook, pending: this.#parts.book.pendingCount(webhook.id) };
  }

  #newSecret(): string {
    return `${secretPrefix}${Buffer.from(this.#parts.random.bytes(secretBytes)).toString('base64')}`;
  }

  async #assertUrl(url: string): Promise<void> {
    const refusal = await this.#parts.sender.refusal(url);
    if (refusal !== null) throw invalid('url', refusal);
  }

  #assertFree(name: string, id: string | null): void {
    const other = this.#parts.book.list().find((webhook) => webhook.name === name || webhook.id === name);
    if (other !== undefined && other.id !== id) throw invalid('name', 'is the name of another webhook');
  }

  #entry(by: Doer, action: AuditAction, { id, name }: WebhookRecord, details: AuditDetails): AuditChange {
    const target = { kind: 'webhook', id, name } as const;
    return this.#parts.audit.change({ by, action, target, details, outcome: 'done' });
  }
}

/** @throws CoordinatorError invalid_transition while nothing is sent to an endpoint. */
function assertEnabled({ name, stopped }: WebhookRecord): void {
  if (stopped === null) return;
  const state = stopped.reason === 'paused' ? 'paused' : `stopped (${stopped.reason})`;
  throw new CoordinatorError(
    'invalid_transition',
    `The webhook ${name} is ${state}, and nothing is sent to it: resume it first, with svc webhooks resume or \`"enabled": true\``,
  );
}

function hostOf(url: string): string {
  return new URL(url).host;
}

function invalid(field: string, message: string): CoordinatorError {
  return new CoordinatorError('invalid_request', `The request is not valid: ${field} ${message}`, {
    errors: [{ field, message }],
  });
}
