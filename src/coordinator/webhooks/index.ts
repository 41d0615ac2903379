/*
 * Webhooks: what happens is sent to the endpoints that want it. Promises that a delivery is committed with the change that it
 * follows from; that it is tried until it arrives, or for three days; that it is sent at least once, in no promised order; that
 * what waits is bounded, and that nothing ever waits for an endpoint but its own deliveries. A crash leaves every delivery
 * as its last try was committed: what was under way is sent again. How a message is sent is the `WebhookSender`'s.
 */

export { Courier } from './courier.ts';
export { Notices } from './notices.ts';
export { Outbox } from './outbox.ts';
export { WebhookBook } from './webhookBook.ts';
export { WebhookKeeper } from './webhookKeeper.ts';
export { type WebhookFigures, type WebhookSettings, Webhooks, type WebhookView } from './webhooks.ts';
