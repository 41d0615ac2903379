/** Webhooks: which events are sent to whom, and what has become of each delivery. */

/** What can be subscribed to. */
export const webhookEvents = [
  'job.completed',
  'job.failed',
  'job.cancelled',
  'response.completed',
  'response.failed',
  'response.incomplete',
  'response.cancelled',
  'batch.completed',
  'batch.failed',
  'batch.expired',
  'batch.cancelled',
  'run.completed',
  'run.paused',
  'worker.lost',
  'provider.stopped',
] as const;
export type WebhookEventType = (typeof webhookEvents)[number];

/** Endpoints that there may be. */
export const webhooksMax = 100;
/** Deliveries that wait for one endpoint, and for all of them: beyond it the oldest are dropped. */
export const pendingMax = 10_000;
export const pendingInAllMax = 50_000;
/** The same in bytes, as `bytesOf` counts them: they are written whole with every checkpoint. */
export const pendingBytesMax = 8 * 1024 ** 2;
export const pendingBytesInAllMax = 32 * 1024 ** 2;
/** Deliveries of an endpoint that are listed after their end. */
export const endedMax = 100;
/** Characters of a URL. */
export const webhookUrlMax = 2048;
/** Before the base64 of a secret's bytes, of which there are `secretBytes`. */
export const secretPrefix = 'whsec_';
export const secretBytes = 32;
/** How long the secret before a rotation signs too, ms: a day. */
export const rotationMs = 86_400_000;
/** Former secrets that sign at the same time: each is a signature more in every message. */
export const formerSecretsMax = 5;

/** Why nothing is sent to an endpoint. */
export interface WebhookStop {
  /** `paused`: by an admin. `gone`: it answered 410. `failing`: a delivery has failed for three days, and nothing arrived meanwhile. */
  reason: 'paused' | 'gone' | 'failing';
  /** Epoch ms. */
  at: number;
}

/** A secret before a rotation, and until when it signs too, epoch ms. */
export interface FormerSecret {
  secret: string;
  until: number;
}

/** An endpoint as it is stored, with its secret. */
export interface WebhookRecord {
  id: string;
  /** Unique. */
  name: string;
  url: string;
  description: string | null;
  /** `whsec_` and base64. */
  secret: string;
  /** Before the last rotations, the newest first. */
  previous: FormerSecret[];
  /** null: all. With none it gets only what jobs and batches name it for. */
  events: WebhookEventType[] | null;
  /** Only events of jobs that have one of them; null: all events. */
  tags: string[] | null;
  /** Epoch ms. */
  createdAt: number;
  /** null: it is enabled. */
  stopped: WebhookStop | null;
  /** Deliveries that were dropped because too many waited. */
  dropped: number;
}

/** Whom a job or batch has notified of its end, beside those that subscribe. */
export interface NamedWebhook {
  /** As the client wrote it: an endpoint, by id or name, or a URL. */
  webhook?: string;
  /** Of the endpoint that it named when it was accepted. Absent: a URL, or accepted by a version that kept the name only. */
  webhookId?: string;
}

/** What has happened. */
export interface WebhookEvent {
  /** The same for all endpoints and tries: receivers recognise repetitions by it. */
  id: string;
  type: WebhookEventType | 'webhook.test';
  /** Epoch ms. */
  at: number;
  /** Names and ids; never content. */
  data: { id: string } & Record<string, string>;
}

/** One event on its way to one endpoint. */
export interface Delivery {
  id: string;
  webhookId: string;
  /** In place of the endpoint's own. */
  url?: string;
  event: WebhookEvent;
  state: 'pending' | 'delivered' | 'failed';
  /** Epoch ms. */
  createdAt: number;
  /** Tries that have ended. */
  tries: number;
  /** Epoch ms of the next try; null when there is none. */
  nextAt: number | null;
  /** The last try; null before it. */
  last: DeliveryTry | null;
}

/** How a try ended. */
export interface DeliveryTry {
  /** Epoch ms of its end. */
  at: number;
  /** The status of the answer; null without one. */
  status: number | null;
  /** Why there was no good answer, for people; null after one. */
  error: string | null;
  /** How long it took. */
  ms: number;
}

/** Why a text is no URL that messages are sent to, wherever it leads, for people; null when it is one. */
export function webhookUrlFault(text: string, { allowHttp }: { allowHttp: boolean }): string | null {
  if (text.length > webhookUrlMax) return `it has more than ${webhookUrlMax} characters`;
  if (!URL.canParse(text)) return 'it is no URL';
  const { protocol, username, password } = new URL(text);
  if (protocol === 'http:' && !allowHttp)
    return 'it must begin with https://, unless webhooks.allow_http is on';
  if (protocol !== 'https:' && protocol !== 'http:') return 'it must begin with https://';
  return username === '' && password === '' ? null : 'it must not have a user name or password';
}

/** What a delivery counts for its bounds: more than its JSON. */
export function bytesOf({ url = '', event }: Delivery): number {
  let chars = url.length;
  for (const value of Object.values(event.data)) chars += value.length;
  return 450 + 2 * chars;
}

/** Sends a message to where a webhook points. */
export interface WebhookSender {
  /** Why nothing may be sent to such a URL, for people; null when it may. Looks its host up. Never rejects. */
  refusal(url: string): Promise<string | null>;
  /** Never rejects; it ends within the timeout. */
  send(message: WebhookMessage): Promise<SendOutcome>;
  /** Abort what is being sent. */
  close(): void;
}

export interface WebhookMessage {
  url: string;
  event: WebhookEvent;
  /** Each signs it. */
  secrets: readonly string[];
}

export interface SendOutcome {
  /** null when no answer came. */
  status: number | null;
  /** Why no answer came, for people. */
  error: string | null;
  /** It was not sent because this side was busy: that says nothing about the receiver, and is no try. */
  isHeldUp?: true;
  /** The `Retry-After` of the answer. */
  retryAfter: string | null;
  ms: number;
}
