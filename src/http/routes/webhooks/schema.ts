import { array, boolean, type InferType, object, string } from 'yup';
import type { WebhookSettings } from '../../../coordinator/webhooks/index.ts';
import { nameLengthMax } from '../../../domain/limits.ts';
import { type WebhookEventType, webhookEvents, webhookUrlMax } from '../../../domain/webhook.ts';
import { boundedList } from '../../../lib/boundedList.ts';
import { namePattern } from './shape.ts';

const descriptionMax = 500;
const tagsMax = 100;

const name = string()
  .min(1)
  .max(nameLengthMax)
  .matches(namePattern, 'must be letters, digits, `.`, `_` and `-`, and begin with a letter or a digit')
  .meta({ description: 'Unique; jobs and batches can name it in `webhook`.' });
const url = string().min(1).max(webhookUrlMax).meta({
  description:
    'Where messages are sent with POST. `https`, unless `webhooks.allow_http` is on, and on the internet, unless `webhooks.allow_private` has its host or address.',
});
const others = {
  description: string().max(descriptionMax).nullable(),
  events: boundedList(
    webhookEvents.length,
    array().of(string<WebhookEventType>().oneOf(webhookEvents).defined()).nullable(),
    {
      description:
        'The events that are sent; null or left out for all. With an empty list only jobs and batches that name the endpoint are.',
    },
  ),
  tags: boundedList(tagsMax, array().of(string().min(1).max(nameLengthMax).defined()).min(1).nullable(), {
    description: 'Only events of jobs that have one of these tags; null or left out for all events.',
  }),
  enabled: boolean().meta({ description: 'Whether messages are sent; true if left out at the creation.' }),
};

/** The body of POST /api/webhooks. */
export const createSchema = object({ name: name.required(), url: url.required(), ...others }).noUnknown();

/** The body of PATCH /api/webhooks/:webhook. */
export const changeSchema = object({ name, url, ...others })
  .noUnknown()
  .test('some', 'must have one of name, url, description, events, tags, enabled', (body) => {
    return Object.keys(body).length > 0;
  })
  .meta({ json: { minProperties: 1 } });

export function settingsOf(body: InferType<typeof createSchema>): WebhookSettings {
  const { description = null, events = null, tags = null, enabled: isEnabled = true } = body;
  return { name: body.name, url: body.url, description, events, tags, isEnabled };
}

export function changeOf({ enabled, ...body }: InferType<typeof changeSchema>): Partial<WebhookSettings> {
  return {
    ...(body.name === undefined ? {} : { name: body.name }),
    ...(body.url === undefined ? {} : { url: body.url }),
    ...(body.description === undefined ? {} : { description: body.description }),
    ...(body.events === undefined ? {} : { events: body.events }),
    ...(body.tags === undefined ? {} : { tags: body.tags }),
    ...(enabled === undefined ? {} : { isEnabled: enabled }),
  };
}
