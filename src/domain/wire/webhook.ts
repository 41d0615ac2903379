import type { Delivery, WebhookEventType, WebhookStop } from '../webhook.ts';
import type { Iso } from './iso.ts';

/** An endpoint, without its secret. */
export interface WireWebhook {
  id: string;
  name: string;
  url: string;
  description: string | null;
  /** null: all. */
  events: WebhookEventType[] | null;
  /** Only events of jobs with one of them; null: all events. */
  tags: string[] | null;
  enabled: boolean;
  /** Why it is not enabled, and since when. */
  stopped: { reason: WebhookStop['reason']; at: Iso } | null;
  created_at: Iso;
  /** Until when the secret before the last rotation signs too. */
  previous_secret_until: Iso | null;
  /** Deliveries that wait. */
  pending: number;
  /** Deliveries that were dropped because too many waited. */
  dropped: number;
}

export interface WireWebhookList {
  webhooks: WireWebhook[];
}

/** Returned once, when the endpoint is created or its secret rotated. */
export interface WireNewWebhook extends WireWebhook {
  secret: string;
}

/** Body of POST /api/webhooks, and with any of its members of PATCH. */
export interface CreateWebhookBody {
  name: string;
  url: string;
  description?: string | null;
  events?: WebhookEventType[] | null;
  tags?: string[] | null;
  enabled?: boolean;
}

export interface WireDelivery {
  id: string;
  /** `webhook-id` of the message: the same for all of its tries and endpoints. */
  event_id: string;
  type: string;
  data: Record<string, string>;
  /** In place of the endpoint's own. */
  url: string | null;
  state: Delivery['state'];
  created_at: Iso;
  tries: number;
  /** null: it is not tried again. */
  next_try_at: Iso | null;
  /** Of the last try; null before it. */
  last: { at: Iso; status: number | null; error: string | null; ms: number } | null;
}

export interface WireDeliveryList {
  deliveries: WireDelivery[];
}

export interface WireWebhookTest {
  /** Whether the answer was 2xx. */
  delivered: boolean;
  /** null: there was no answer. */
  status: number | null;
  /** Why there was none. */
  error: string | null;
  ms: number;
}
