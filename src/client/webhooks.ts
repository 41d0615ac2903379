import type {
  CreateWebhookBody,
  WireDelivery,
  WireDeliveryList,
  WireNewWebhook,
  WireWebhook,
  WireWebhookList,
  WireWebhookTest,
} from '../domain/wire/webhook.ts';
import { ask, type Call, type Connection } from './request.ts';

/** The part of the client that is about webhooks. A webhook is named by its name or its id. Needs an admin key. */
export interface WebhookClient {
  webhooks(): Promise<WireWebhookList>;
  webhook(name: string): Promise<WireWebhook>;
  createWebhook(webhook: CreateWebhookBody): Promise<WireNewWebhook>;
  /** What is left out does not change. */
  changeWebhook(name: string, change: Partial<CreateWebhookBody>): Promise<WireWebhook>;
  deleteWebhook(name: string): Promise<WireWebhook>;
  /** For a day the old secret signs too. */
  rotateWebhook(name: string): Promise<WireNewWebhook>;
  /** Send a message now, and see how that ends. */
  testWebhook(name: string): Promise<WireWebhookTest>;
  webhookDeliveries(name: string): Promise<WireDeliveryList>;
  sendWebhookDelivery(name: string, id: string): Promise<WireDelivery>;
}

/** @param timeoutMs for an answer to a small request. */
export function createWebhookClient(connection: Connection, timeoutMs: number): WebhookClient {
  const pathOf = (name: string): string => `/api/webhooks/${encodeURIComponent(name)}`;
  const get = <T>(path: string, call: Partial<Call> = {}): Promise<T> =>
    ask<T>(connection, { timeoutMs, path, ...call });
  const post = <T>(path: string, call: Partial<Call> = {}): Promise<T> =>
    get<T>(path, { method: 'POST', ...call });
  return {
    webhooks: () => get('/api/webhooks'),
    webhook: (name) => get(pathOf(name)),
    createWebhook: (body) => post('/api/webhooks', { body }),
    changeWebhook: (name, body) => get(pathOf(name), { method: 'PATCH', body }),
    deleteWebhook: (name) => get(pathOf(name), { method: 'DELETE' }),
    rotateWebhook: (name) => post(`${pathOf(name)}/rotate-secret`),
    testWebhook: (name) => post(`${pathOf(name)}/test`),
    webhookDeliveries: (name) => get(`${pathOf(name)}/deliveries`),
    sendWebhookDelivery: (name, id) => post(`${pathOf(name)}/deliveries/${encodeURIComponent(id)}/send`),
  };
}
