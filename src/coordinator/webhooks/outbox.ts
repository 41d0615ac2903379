import type { RunBatch } from '../../domain/batch.ts';
import { CoordinatorError } from '../../domain/errors.ts';
import type { JobLife, JobRecord } from '../../domain/job.ts';
import type { RunRecord } from '../../domain/run.ts';
import type { JobState } from '../../domain/states.ts';
import {
  type Delivery,
  type NamedWebhook,
  type WebhookEvent,
  type WebhookEventType,
  type WebhookRecord,
  webhookUrlFault,
} from '../../domain/webhook.ts';
import type { WebhookBook } from './webhookBook.ts';

/** What has happened. */
export interface Happening {
  type: WebhookEventType;
  data: WebhookEvent['data'];
}

/** What an admin allows of the URLs that jobs and batches name. */
interface UrlRules {
  allowedHosts: readonly string[];
  allowHttp: boolean;
}

/** An endpoint and, where a job or batch names one, the URL in place of its own. */
interface Target {
  webhook: WebhookRecord;
  url?: string;
}

const nothing: readonly Delivery[] = [];

/**
 * Decides which deliveries follow from a change, to be committed with it. Without an endpoint that costs one comparison.
 */
export class Outbox {
  readonly #book: WebhookBook;
  readonly #newId: () => string;
  readonly #rules: () => UrlRules;

  /** @param options.rules for the URLs that jobs name, in `webhooks` of the settings. */
  constructor(options: { book: WebhookBook; newId: () => string; rules: () => UrlRules }) {
    this.#book = options.book;
    this.#newId = options.newId;
    this.#rules = options.rules;
  }

  /** Of a job that changes to `state` and `life`. */
  ofJob({ id, request, run }: JobRecord, state: JobState, life: JobLife): readonly Delivery[] {
    if (this.#book.size === 0 || !isEnded(state)) return nothing;
    const happened: Happening[] = [
      { type: `job.${state}`, data: { id, ...(run === undefined ? {} : { run_id: run.runId }) } },
    ];
    // A line of a batch is reported with its batch.
    if (request.door?.form === 'response' && run === undefined)
      happened.push({ type: responseEvent(state, life), data: { id: publicId('resp_', id), job_id: id } });
    return this.#deliver(happened, life.updatedAt, request, request.tags);
  }

  /** Of a batch that changes from a state to another. @param at epoch ms. */
  ofBatch(
    runId: string,
    before: RunBatch['state'],
    { state, request }: RunBatch,
    at: number,
  ): readonly Delivery[] {
    const type = batchEvents[state];
    if (this.#book.size === 0 || before === state || type === undefined) return nothing;
    const data = { id: publicId('batch_', runId), run_id: runId };
    return this.#deliver([{ type, data }], at, request);
  }

  /** Of a run that changes from a state to another; a batch is reported as such. */
  ofRun(before: RunRecord, state: RunRecord['state'], at: number): readonly Delivery[] {
    const { id, name, batch } = before;
    if (this.#book.size === 0 || before.state === state || batch !== undefined) return nothing;
    if (state !== 'completed' && state !== 'paused') return nothing;
    return this.#deliver([{ type: `run.${state}`, data: { id, name } }], at);
  }

  /** Of anything else. */
  ofOther(happening: Happening, at: number): readonly Delivery[] {
    return this.#book.size === 0 ? nothing : this.#deliver([happening], at);
  }

  /** @throws CoordinatorError invalid_request when a job or batch names an endpoint that there is not. */
  assertNamed({ webhook }: NamedWebhook): void {
    if (webhook === undefined) return;
    const target = this.#target(webhook);
    if (typeof target !== 'string') return;
    throw new CoordinatorError('invalid_request', `The request is not valid: webhook ${target}`, {
      errors: [{ field: 'webhook', message: target }],
    });
  }

  /** Whether a job or batch can name it. */
  isNamed(webhook: string): boolean {
    return typeof this.#target(webhook) !== 'string';
  }

  /**
   * What a job or batch asks for when it is accepted, with the id of the endpoint that it names: it stays that one, whatever
   * is renamed. What it named before, as when a batch is retried, counts if it is still there.
   */
  resolved<R extends NamedWebhook>(request: R): R {
    const { webhook, webhookId } = request;
    const isKnown = webhookId !== undefined && this.#book.find(webhookId) !== undefined;
    if (webhook === undefined || isKnown) return request;
    const target = this.#target(webhook);
    if (typeof target === 'string' || target.url !== undefined) return request;
    return { ...request, webhookId: target.webhook.id };
  }

  /** Whom an accepted job or batch notifies; null when that is nobody, or nobody any more. */
  #named({ webhook, webhookId }: NamedWebhook): Target | null {
    if (webhookId !== undefined) {
      const known = this.#book.find(webhookId);
      return known === undefined ? null : { webhook: known };
    }
    const target = webhook === undefined ? '' : this.#target(webhook);
    return typeof target === 'string' ? null : target;
  }

  /** The endpoint that a text names by id, name or an allowed URL; else why there is none. */
  #target(text: string): Target | string {
    if (!/^https?:/i.test(text)) {
      const webhook = this.#book.named(text);
      return webhook === undefined
        ? `names no endpoint: ${JSON.stringify(text)}; an admin can create it with svc webhooks create`
        : { webhook };
    }
    const { allowedHosts, allowHttp } = this.#rules();
    const fault = webhookUrlFault(text, { allowHttp });
    if (fault !== null) return `cannot be sent to: ${fault}`;
    const { host, hostname } = new URL(text);
    if (!allowedHosts.includes(hostname))
      return `must be the name of an endpoint, or a URL whose host is in webhooks.allowed_hosts; ${hostname} is not`;
    // Its secret signs.
    const webhook = this.#book.list().find(({ url }) => new URL(url).host === host);
    return webhook === undefined
      ? `has a host for which there is no endpoint: an admin can create one for ${host}, and its secret signs for all URLs of the host`
      : { webhook, url: text };
  }

  #deliver(
    happened: readonly Happening[],
    at: number,
    named: NamedWebhook = {},
    tags: readonly string[] = [],
  ): readonly Delivery[] {
    const target = this.#named(named);
    const deliveries: Delivery[] = [];
    for (const { type, data } of happened) {
      // Made for the first endpoint that wants it.
      let event: WebhookEvent | null = null;
      for (const webhook of this.#book.each()) {
        if (webhook.stopped !== null) continue;
        const isNamed = target?.webhook.id === webhook.id;
        const url = isNamed ? target?.url : undefined;
        // A URL that a job names takes nothing from the endpoint.
        const isWanted = wants(webhook, type, tags) || (isNamed && url === undefined);
        if (!isWanted && url === undefined) continue;
        event ??= { id: publicId('evt_', this.#newId()), type, at, data };
        if (isWanted) deliveries.push(deliveryOf(this.#newId(), webhook.id, {}, event));
        if (url !== undefined) deliveries.push(deliveryOf(this.#newId(), webhook.id, { url }, event));
      }
    }
    return deliveries;
  }
}

/** A delivery that is due at once. */
export function deliveryOf(
  id: string,
  webhookId: string,
  url: Pick<Delivery, 'url'>,
  event: WebhookEvent,
  at: number = event.at,
): Delivery {
  return { id, webhookId, ...url, event, state: 'pending', createdAt: at, tries: 0, nextAt: at, last: null };
}

/** Ids as `/v1` shows them. */
function publicId(prefix: string, id: string): string {
  return `${prefix}${id.replaceAll('-', '')}`;
}

function wants({ events, tags }: WebhookRecord, type: WebhookEventType, of: readonly string[]): boolean {
  if (events !== null && !events.includes(type)) return false;
  return tags === null || tags.some((tag) => of.includes(tag));
}

type EndedState = 'completed' | 'failed' | 'cancelled';

function isEnded(state: JobState): state is EndedState {
  return state === 'completed' || state === 'failed' || state === 'cancelled';
}

function responseEvent(state: EndedState, { result }: JobLife): WebhookEventType {
  const isCut = result?.finishReason === 'length' || result?.finishReason === 'content_filter';
  return state === 'completed' && isCut ? 'response.incomplete' : `response.${state}`;
}

const batchEvents: Partial<Record<RunBatch['state'], WebhookEventType>> = {
  completed: 'batch.completed',
  failed: 'batch.failed',
  expired: 'batch.expired',
  cancelled: 'batch.cancelled',
};
