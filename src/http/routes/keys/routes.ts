import type { IncomingHttpHeaders } from 'node:http';
import type { KeyRing } from '../../../auth/keyRing.ts';
import type { Tickets } from '../../../auth/tickets.ts';
import type { Config } from '../../../config/config.ts';
import { iso } from '../../../domain/wire/iso.ts';
import type { WireKeyList, WireNewKey, WireTicket } from '../../../domain/wire/key.ts';
import { isOwnOrigin } from '../../../lib/hosts.ts';
import { parseNothing } from '../../query.ts';
import type { Route } from '../../route.ts';
import type { EventStreams } from '../events/routes.ts';
import { presentKey } from './present.ts';
import { parseChange, parseCreate, parseRotate } from './schema.ts';

/** What the routes of the keys work with. */
interface KeyParts {
  keys: KeyRing;
  tickets: Tickets;
  streams: Pick<EventStreams, 'refusal'>;
  config: () => Config;
}

/** /api/keys: list, create, change, rotate, revoke; and /api/tickets. */
export function keyRoutes({ keys, tickets, streams, config }: KeyParts): Route[] {
  return [
    {
      method: 'GET',
      path: '/api/keys',
      role: 'admin',
      holdsSecret: true,
      handle: ({ query }) => {
        parseNothing(query);
        const list: WireKeyList = {
          keys: keys.list().map((key) => ({
            ...presentKey(key),
            ...(keys.isInFolder(key.id) ? { in_data_folder: true as const } : {}),
          })),
        };
        return { json: list };
      },
    },
    {
      method: 'POST',
      path: '/api/keys',
      role: 'admin',
      holdsSecret: true,
      body: 'required',
      handle: async ({ query, body, doer }) => {
        parseNothing(query);
        const { role, name, expiresAt, bounds } = parseCreate(body);
        const { key, record } = await keys.create(role, name, expiresAt, bounds, doer());
        const created: WireNewKey = { ...presentKey(record), key };
        return { status: 201, headers: { Location: `/api/keys/${record.id}` }, json: created };
      },
    },
    {
      method: 'PATCH',
      path: '/api/keys/:id',
      role: 'admin',
      body: 'required',
      handle: async ({ params: { id = '' }, query, body, doer }) => {
        parseNothing(query);
        const change = parseChange(body);
        return { json: presentKey(await keys.bind(id, (bounds) => ({ ...bounds, ...change }), doer())) };
      },
    },
    {
      method: 'POST',
      path: '/api/keys/:id/rotate',
      role: 'admin',
      holdsSecret: true,
      body: 'optional',
      handle: async ({ params: { id = '' }, query, body, doer }) => {
        parseNothing(query);
        const { key, record } = await keys.rotate(id, parseRotate(body), doer());
        const rotated: WireNewKey = { ...presentKey(record), key };
        return { json: rotated };
      },
    },
    {
      method: 'DELETE',
      path: '/api/keys/:id',
      role: 'admin',
      holdsSecret: true,
      handle: async ({ params: { id = '' }, query, doer }) => {
        parseNothing(query);
        return { json: presentKey(await keys.revoke(id, doer())) };
      },
    },
    {
      method: 'POST',
      path: '/api/tickets',
      role: 'viewer',
      holdsSecret: true,
      handle: ({ query, principal, headers }) => {
        parseNothing(query);
        const { ticket, expiresAt } = tickets.issue(principal);
        const refusal = originRefusal(headers, config()) ?? streams.refusal(principal);
        const issued: WireTicket = { ticket, expires_at: iso(expiresAt), refusal };
        return { status: 201, json: issued };
      },
    },
  ];
}

/** A page cannot read why its socket was refused, so it is said here: the request for a ticket has the same headers. */
function originRefusal({ origin, host = '' }: IncomingHttpHeaders, config: Config): string | null {
  if (origin === undefined || isOwnOrigin(origin, host, config)) return null;
  return `The page is from ${origin}, and its requests arrive for ${host}: set public_url to ${origin}, or let the proxy pass the Host header on`;
}
