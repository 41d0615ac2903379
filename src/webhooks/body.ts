import type { WebhookEvent } from '../domain/webhook.ts';
import { iso } from '../domain/wire/iso.ts';

/** What is sent for an event: a body that receivers for Standard Webhooks and for OpenAI's webhooks both read. */
export function bodyOf({ id, type, at, data }: WebhookEvent): string {
  return JSON.stringify({
    id,
    object: 'event',
    type,
    timestamp: iso(at),
    created_at: Math.floor(at / 1000),
    data,
  });
}
