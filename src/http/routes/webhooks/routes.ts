import { presentDelivery, presentWebhook } from '../../../present/webhook.ts';
import { smallBody } from '../../body.ts';
import { locationHeader } from '../../openapi/headers.ts';
import { integer } from '../../query.ts';
import { defineRoute, type Route } from '../../route.ts';
import { reference } from '../../shape/shape.ts';
import { changeOf, changeSchema, createSchema, settingsOf } from './schema.ts';
import {
  deliveryListShape,
  deliveryShape,
  newWebhookShape,
  testShape,
  webhookListShape,
  webhookShape,
} from './shape.ts';

const params = {
  webhook: reference('parameters', 'Webhook', {
    name: 'webhook',
    in: 'path',
    required: true,
    description: 'The id or the name of a webhook.',
    schema: { type: 'string' },
  }),
};

const listWebhooks = defineRoute({
  method: 'GET',
  path: '/api/webhooks',
  role: 'admin',
  name: 'listWebhooks',
  tag: 'Webhooks',
  summary: 'List the webhooks, without their secrets',

  answers: { 200: { description: 'Every webhook, oldest first.', shape: webhookListShape } },

  handle: (_, { coordinator }) => ({ json: { webhooks: coordinator.webhooks.list().map(presentWebhook) } }),
});

const createWebhook = defineRoute({
  method: 'POST',
  path: '/api/webhooks',
  role: 'admin',
  name: 'createWebhook',
  tag: 'Webhooks',
  summary: 'Create a webhook',
  description:
    'Messages are signed as Standard Webhooks 1.0.0 describes. The response is the only place where the secret is ever shown. At most 100 webhooks.',

  body: smallBody(createSchema, {
    examples: {
      all: { value: { name: 'ops', url: 'https://hooks.example.com/svc' } },
      filtered: {
        value: {
          name: 'nightly',
          url: 'https://hooks.example.com/nightly',
          events: ['job.failed', 'batch.completed'],
          tags: ['nightly'],
        },
      },
    },
  }),
  answers: {
    201: {
      description: 'The new webhook. Keep its secret now.',
      shape: newWebhookShape,
      headers: locationHeader('webhook', '/api/webhooks/'),
    },
  },
  problems: ['StoreUnavailable'],

  holdsSecret: true,
  handle: async ({ body, doer }, { coordinator }) => {
    const view = await coordinator.webhooks.create(settingsOf(body), doer());
    const { id, secret } = view.webhook;
    return {
      status: 201,
      headers: { Location: `/api/webhooks/${id}` },
      json: { ...presentWebhook(view), secret },
    };
  },
});

const getWebhook = defineRoute({
  method: 'GET',
  path: '/api/webhooks/:webhook',
  role: 'admin',
  name: 'getWebhook',
  tag: 'Webhooks',
  summary: 'Get a webhook, without its secret',

  params,
  answers: { 200: { description: 'The webhook.', shape: webhookShape } },
  problems: ['NotFound'],

  handle: ({ params: { webhook } }, { coordinator }) => ({
    json: presentWebhook(coordinator.webhooks.get(webhook)),
  }),
});

const changeWebhook = defineRoute({
  method: 'PATCH',
  path: '/api/webhooks/:webhook',
  role: 'admin',
  name: 'changeWebhook',
  tag: 'Webhooks',
  summary: 'Change, pause or resume a webhook',
  description:
    'Fields that you leave out do not change. `enabled: false` pauses it: nothing is sent, nothing new is kept for it, and what waits stays. `enabled: true` also brings back one that was stopped because it answered 410 or failed for three days.',

  params,
  body: smallBody(changeSchema, {
    examples: { pause: { value: { enabled: false } }, move: { value: { url: 'https://new.example.com/' } } },
  }),
  answers: { 200: { description: 'The webhook as it is now.', shape: webhookShape } },
  problems: ['NotFound', 'StoreUnavailable'],

  handle: async ({ params: { webhook }, body, doer }, { coordinator }) => ({
    json: presentWebhook(await coordinator.webhooks.change(webhook, changeOf(body), doer())),
  }),
});

const deleteWebhook = defineRoute({
  method: 'DELETE',
  path: '/api/webhooks/:webhook',
  role: 'admin',
  name: 'deleteWebhook',
  tag: 'Webhooks',
  summary: 'Delete a webhook and what waits for it',

  params,
  answers: { 200: { description: 'The webhook that was deleted.', shape: webhookShape } },
  problems: ['NotFound', 'StoreUnavailable'],

  handle: async ({ params: { webhook }, doer }, { coordinator }) => ({
    json: presentWebhook(await coordinator.webhooks.remove(webhook, doer())),
  }),
});

const rotateWebhook = defineRoute({
  method: 'POST',
  path: '/api/webhooks/:webhook/rotate-secret',
  role: 'admin',
  name: 'rotateWebhookSecret',
  tag: 'Webhooks',
  summary: 'Give a webhook a new secret',
  description:
    'For 24 hours messages also carry a signature with the old secret, so that you have time to change the receiver. Each rotation keeps this promise, for the five newest old secrets.',

  params,
  answers: {
    200: { description: 'The webhook with its new secret. Keep it now.', shape: newWebhookShape },
  },
  problems: ['NotFound', 'StoreUnavailable'],

  holdsSecret: true,
  handle: async ({ params: { webhook }, doer }, { coordinator }) => {
    const view = await coordinator.webhooks.rotate(webhook, doer());
    return { json: { ...presentWebhook(view), secret: view.webhook.secret } };
  },
});

const testWebhook = defineRoute({
  method: 'POST',
  path: '/api/webhooks/:webhook/test',
  role: 'admin',
  name: 'testWebhook',
  tag: 'Webhooks',
  summary: 'Send a test message now',
  description:
    'A signed message of the type `webhook.test`, also to a webhook that is paused. It is sent once and is not in the list of deliveries. The response comes when the receiver has answered, after 15 s at the latest.',

  params,
  answers: { 200: { description: 'How it ended.', shape: testShape } },
  problems: ['NotFound'],

  handle: async ({ params: { webhook } }, { coordinator }) => {
    const { status, error, ms } = await coordinator.webhooks.test(webhook);
    return { json: { delivered: status !== null && status >= 200 && status < 300, status, error, ms } };
  },
});

const listDeliveries = defineRoute({
  method: 'GET',
  path: '/api/webhooks/:webhook/deliveries',
  role: 'admin',
  name: 'listWebhookDeliveries',
  tag: 'Webhooks',
  summary: 'What was sent to a webhook, and what waits',
  description: 'Of deliveries that have ended the last 100 are kept.',

  params,
  query: { limit: integer({ min: 1, max: 1000, fallback: 100 }) },
  answers: { 200: { description: 'Deliveries.', shape: deliveryListShape } },
  problems: ['NotFound'],

  handle: ({ params: { webhook }, query: { limit } }, { coordinator }) => ({
    json: { deliveries: coordinator.webhooks.deliveries(webhook, limit).map(presentDelivery) },
  }),
});

const sendAgain = defineRoute({
  method: 'POST',
  path: '/api/webhooks/:webhook/deliveries/:delivery/send',
  role: 'admin',
  name: 'sendWebhookDelivery',
  tag: 'Webhooks',
  summary: 'Send a delivery again',
  description:
    'A delivery that has ended is sent as a new one with the same `webhook-id`. One that waits is tried at once. While the webhook is not enabled, nothing is sent.',

  params: { ...params, delivery: { schema: { type: 'string' }, description: 'The id of a delivery.' } },
  answers: { 200: { description: 'The delivery that is sent.', shape: deliveryShape } },
  problems: ['NotFound', 'WebhookStopped', 'StoreUnavailable'],

  handle: async ({ params: { webhook, delivery } }, { coordinator }) => ({
    json: presentDelivery(await coordinator.webhooks.sendAgain(webhook, delivery)),
  }),
});

/** /api/webhooks: endpoints and what is sent to them. */
export const webhookRoutes: readonly Route[] = [
  listWebhooks,
  createWebhook,
  getWebhook,
  changeWebhook,
  deleteWebhook,
  rotateWebhook,
  testWebhook,
  listDeliveries,
  sendAgain,
];
