import { webhookEvents } from '../../../domain/webhook.ts';
import type {
  WireDelivery,
  WireDeliveryList,
  WireNewWebhook,
  WireWebhook,
  WireWebhookList,
  WireWebhookTest,
} from '../../../domain/wire/webhook.ts';
import { timeShape } from '../../shape/common.ts';
import {
  count,
  flag,
  integer,
  list,
  type Members,
  named,
  nullable,
  object,
  oneOf,
  record,
  text,
} from '../../shape/shape.ts';

/** Of the name of an endpoint: it has a place in paths, and is no URL. */
export const namePattern = /^[A-Za-z0-9][\w.-]*$/;

const eventShape = named('WebhookEvent', oneOf(webhookEvents));

const webhookMembers: Members<WireWebhook> = {
  id: text(),
  name: text(),
  url: text(),
  description: nullable(text()),
  events: nullable(list(eventShape), 'null: all.'),
  tags: nullable(list(text()), 'Only events of jobs with one of them; null: all events.'),
  enabled: flag('While it is not, nothing is sent and nothing new is kept for it.'),
  stopped: nullable(
    object<NonNullable<WireWebhook['stopped']>>({
      reason: oneOf(
        ['paused', 'gone', 'failing'],
        '`paused`: by an admin. `gone`: it answered 410. `failing`: a delivery failed for three days, and nothing arrived meanwhile.',
      ),
      at: timeShape,
    }),
    'Why it is not enabled.',
  ),
  created_at: timeShape,
  previous_secret_until: nullable(
    timeShape,
    'Until when the secret before the last rotation signs too; null before the first rotation.',
  ),
  pending: count('Deliveries that wait.'),
  dropped: count('Deliveries that were dropped because too many waited.'),
};

export const webhookShape = named('Webhook', object<WireWebhook>(webhookMembers));

export const newWebhookShape = named(
  'NewWebhook',
  object<WireNewWebhook>({
    ...webhookMembers,
    secret: text({ description: 'Verifies messages. It is shown only once.', pattern: '^whsec_' }),
  }),
);

export const webhookListShape = named(
  'WebhookList',
  object<WireWebhookList>({ webhooks: list(webhookShape) }),
);

export const deliveryShape = named(
  'WebhookDelivery',
  object<WireDelivery>({
    id: text(),
    event_id: text('`webhook-id` of the message, the same for all tries and endpoints.'),
    type: text(),
    data: record(text(), 'What the message says: ids and names.'),
    url: nullable(text(), "In place of the endpoint's own."),
    state: oneOf(['pending', 'delivered', 'failed']),
    created_at: timeShape,
    tries: count('Tries that have ended.'),
    next_try_at: nullable(timeShape, 'null: it is not tried again.'),
    last: nullable(
      object<NonNullable<WireDelivery['last']>>({
        at: timeShape,
        status: nullable(integer(), 'null: there was no answer.'),
        error: nullable(text(), 'null after a 2xx.'),
        ms: count('How long it took.'),
      }),
      'The last try; null before it.',
    ),
  }),
);

export const deliveryListShape = named(
  'WebhookDeliveryList',
  object<WireDeliveryList>({
    deliveries: list(
      deliveryShape,
      'First those that wait, oldest first, then the last ones that have ended, newest first.',
    ),
  }),
);

export const testShape = named(
  'WebhookTest',
  object<WireWebhookTest>({
    delivered: flag('Whether the answer was 2xx.'),
    status: nullable(integer(), 'null: there was no answer.'),
    error: nullable(text(), 'Why there was none.'),
    ms: count(),
  }),
);
