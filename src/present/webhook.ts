import type { WebhookView } from '../coordinator/webhooks/index.ts';
import type { Delivery } from '../domain/webhook.ts';
import { iso } from '../domain/wire/iso.ts';
import type { WireDelivery, WireWebhook } from '../domain/wire/webhook.ts';

/** An endpoint for the API, without its secret. */
export function presentWebhook({ webhook, pending }: WebhookView): WireWebhook {
  const { id, name, url, description, events, tags, stopped, createdAt, previous, dropped } = webhook;
  return {
    id,
    name,
    url,
    description,
    events,
    tags,
    enabled: stopped === null,
    stopped: stopped === null ? null : { reason: stopped.reason, at: iso(stopped.at) },
    created_at: iso(createdAt),
    previous_secret_until: iso(previous[0]?.until ?? null),
    pending,
    dropped,
  };
}

export function presentDelivery(delivery: Delivery): WireDelivery {
  const { id, event, url = null, state, createdAt, tries, nextAt, last } = delivery;
  return {
    id,
    event_id: event.id,
    type: event.type,
    data: event.data,
    url,
    state,
    created_at: iso(createdAt),
    tries,
    next_try_at: iso(nextAt),
    last: last === null ? null : { ...last, at: iso(last.at) },
  };
}
