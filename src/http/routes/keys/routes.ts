import type { KeyRing } from '../../../auth/keyRing.ts';
import type { Tickets } from '../../../auth/tickets.ts';
import { iso } from '../../../domain/wire/iso.ts';
import type { WireKeyList, WireNewKey, WireTicket } from '../../../domain/wire/key.ts';
import { parseNothing } from '../../query.ts';
import type { Route } from '../../route.ts';
import { presentKey } from './present.ts';
import { parseCreate, parseRotate } from './schema.ts';

/** /api/keys: list, create, rotate, revoke; and /api/tickets. */
export function keyRoutes(keys: KeyRing, tickets: Tickets): Route[] {
  return [
    {
      method: 'GET',
      path: '/api/keys',
      role: 'admin',
      handle: ({ query }) => {
        parseNothing(query);
        const list: WireKeyList = { keys: keys.list().map(presentKey) };
        return { json: list };
      },
    },
    {
      method: 'POST',
      path: '/api/keys',
      role: 'admin',
      body: 'required',
      handle: async ({ query, body, doer }) => {
        parseNothing(query);
        const { role, name, expiresAt } = parseCreate(body);
        const { key, record } = await keys.create(role, name, expiresAt, doer());
        const created: WireNewKey = { ...presentKey(record), key };
        return { status: 201, headers: { Location: `/api/keys/${record.id}` }, json: created };
      },
    },
    {
      method: 'POST',
      path: '/api/keys/:id/rotate',
      role: 'admin',
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
      handle: async ({ params: { id = '' }, query, doer }) => {
        parseNothing(query);
        return { json: presentKey(await keys.revoke(id, doer())) };
      },
    },
    {
      method: 'POST',
      path: '/api/tickets',
      role: 'viewer',
      handle: ({ query, principal }) => {
        parseNothing(query);
        const { ticket, expiresAt } = tickets.issue(principal);
        const issued: WireTicket = { ticket, expires_at: iso(expiresAt) };
        return { status: 201, json: issued };
      },
    },
  ];
}
