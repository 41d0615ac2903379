import type { IncomingHttpHeaders } from 'node:http';
import type { Config } from '../../../config/config.ts';
import { iso } from '../../../domain/wire/iso.ts';
import { isOwnOrigin } from '../../../lib/hosts.ts';
import { smallBody } from '../../body.ts';
import { locationHeader } from '../../openapi/headers.ts';
import { defineRoute, type Route } from '../../route.ts';
import { reference } from '../../shape/shape.ts';
import { presentKey, presentUse } from './present.ts';
import { changeOf, changeSchema, createSchema, newKeyOf, rotateSchema } from './schema.ts';
import { keyListShape, keyShape, newKeyShape, ticketShape } from './shape.ts';

const params = {
  id: reference('parameters', 'KeyId', {
    name: 'id',
    in: 'path',
    required: true,
    description: "The key's id, the third part of the key itself.",
    schema: { type: 'string' },
  }),
};

const listKeys = defineRoute({
  method: 'GET',
  path: '/api/keys',
  role: 'admin',
  name: 'listKeys',
  tag: 'Keys',
  summary: 'List the keys, without their secrets',

  answers: {
    200: {
      description: 'Every key, oldest first. The key of `SVC_API_KEY` is not among them.',
      shape: keyListShape,
    },
  },

  holdsSecret: true,
  handle: async (_, { coordinator, keys }) => {
    const workers = await coordinator.workers();
    return {
      json: {
        keys: keys.list().map((key) => ({
          ...presentKey(key),
          ...(keys.isInFolder(key.id) ? { in_data_folder: true as const } : {}),
          used_by: presentUse(key.id, workers, keys.clients.of(key.id)),
        })),
      },
    };
  },
});

const keyLocation = locationHeader('key', '/api/keys/');

const createKey = defineRoute({
  method: 'POST',
  path: '/api/keys',
  role: 'admin',
  name: 'createKey',
  tag: 'Keys',
  summary: 'Create a key',
  description: 'The response is the only place where the key is ever shown; only its hash is stored.',

  body: smallBody(createSchema, {
    examples: {
      worker: { value: { role: 'worker', name: 'gpu-box-1' } },
      bound: {
        value: {
          role: 'worker',
          name: 'gpu',
          name_patterns: ['gpu-*'],
          providers: ['vllm'],
          max_concurrency: 8,
        },
      },
      temporary: { value: { role: 'client', name: 'intern', expires_at: '2026-12-31T23:59:59Z' } },
    },
  }),
  answers: {
    201: { description: 'The new key. Keep it now.', shape: newKeyShape, headers: keyLocation },
  },
  problems: ['StoreUnavailable'],

  holdsSecret: true,
  handle: async ({ body, doer }, { keys }) => {
    const { role, name, expiresAt, bounds } = newKeyOf(body);
    const { key, record } = await keys.create(role, name, expiresAt, bounds, doer());
    return {
      status: 201,
      headers: { Location: `/api/keys/${record.id}` },
      json: { ...presentKey(record), key },
    };
  },
});

const changeKey = defineRoute({
  method: 'PATCH',
  path: '/api/keys/:id',
  role: 'admin',
  name: 'changeKey',
  tag: 'Keys',
  summary: 'Bind a worker key to names, tags, providers and slots',
  description:
    'Only a key with the role `worker`. Fields that you leave out do not change; null removes a bound. It takes effect at once: a connected worker that exceeds it is closed with 4403, and the others get the remaining slots.',

  params,
  body: smallBody(changeSchema, {
    examples: {
      names: { value: { name_patterns: ['gpu-*'], max_concurrency: 8 } },
      free: { value: { tags: null } },
    },
  }),
  answers: {
    200: { description: 'The key as it is now.', shape: keyShape },
  },
  problems: ['NotFound', 'StoreUnavailable'],

  handle: async ({ params: { id }, body, doer }, { keys }) => {
    const change = changeOf(body);
    return { json: presentKey(await keys.bind(id, (bounds) => ({ ...bounds, ...change }), doer())) };
  },
});

const rotateKey = defineRoute({
  method: 'POST',
  path: '/api/keys/:id/rotate',
  role: 'admin',
  name: 'rotateKey',
  tag: 'Keys',
  summary: 'Give a key a new secret',
  description:
    'The old one still works for `grace_seconds`, so that you have time to give workers the new one. `used_by` says who used it lately.',

  params,
  body: smallBody(rotateSchema, { isOptional: true, examples: { hour: { value: { grace_seconds: 3600 } } } }),
  answers: {
    200: { description: 'The key with its new secret. Keep it now.', shape: newKeyShape },
  },
  problems: ['NotFound', 'StoreUnavailable'],

  holdsSecret: true,
  handle: async ({ params: { id }, body, doer }, { coordinator, keys }) => {
    const graceMs = (body.grace_seconds ?? 0) * 1000;
    const { key, record } = await keys.rotate(id, graceMs, doer());
    const used_by = presentUse(id, await coordinator.workers(), keys.clients.of(id));
    return { json: { ...presentKey(record), key, used_by } };
  },
});

const revokeKey = defineRoute({
  method: 'DELETE',
  path: '/api/keys/:id',
  role: 'admin',
  name: 'revokeKey',
  tag: 'Keys',
  summary: 'Revoke a key',
  description:
    'It is rejected from now on. Its sockets are closed within a second; jobs that are running on a worker with this key fail with `authentication_failed`, and you can retry them.',

  params,
  answers: {
    200: { description: 'The key that was revoked.', shape: keyShape },
  },
  problems: ['NotFound', 'StoreUnavailable'],

  holdsSecret: true,
  handle: async ({ params: { id }, doer }, { keys }) => ({ json: presentKey(await keys.revoke(id, doer())) }),
});

const issueTicket = defineRoute({
  method: 'POST',
  path: '/api/tickets',
  role: 'viewer',
  name: 'issueTicket',
  tag: 'Keys',
  summary: 'Get a ticket for a live connection',
  description:
    'For browsers, which cannot set headers on a WebSocket or an event stream. A ticket represents the key that requested it, opens one connection, and is valid for 30 seconds.',

  answers: {
    201: { description: 'The ticket.', shape: ticketShape },
  },

  holdsSecret: true,
  handle: ({ principal, headers }, { tickets, streams, config }) => {
    const { ticket, expiresAt } = tickets.issue(principal);
    const refusal = originRefusal(headers, config()) ?? streams.refusal(principal);
    return { status: 201, json: { ticket, expires_at: iso(expiresAt), refusal } };
  },
});

/** /api/keys: list, create, change, rotate, revoke; and /api/tickets. */
export const keyRoutes: readonly Route[] = [
  listKeys,
  createKey,
  changeKey,
  rotateKey,
  revokeKey,
  issueTicket,
];

/** A page cannot read why its socket was refused, so it is said here: the request for a ticket has the same headers. */
function originRefusal({ origin, host = '' }: IncomingHttpHeaders, config: Config): string | null {
  if (origin === undefined || isOwnOrigin(origin, host, config)) return null;
  return `The page is from ${origin}, and its requests arrive for ${host}: set public_url to ${origin}, or let the proxy pass the Host header on`;
}
