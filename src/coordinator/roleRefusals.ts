import type { IncomingMessage } from 'node:http';
import { actorOf } from '../domain/audit.ts';
import type { Principal, Role } from '../domain/key.ts';
import { clientAddress } from '../lib/clientAddress.ts';
import type { Audit } from './core/index.ts';

/** Called when a socket is refused for the role of its key. @param socket its path, and the role that it needs. */
export type RoleRefused = (
  request: IncomingMessage,
  principal: Principal,
  socket: { path: string; needs: Role },
) => void;

/** Records sockets that are refused for a role. @param trustedProxies see `clientAddress`. */
export function auditRoleRefusals(audit: Audit, trustedProxies: () => number): RoleRefused {
  return (request, principal, { path, needs }) => {
    const address = clientAddress(request, trustedProxies());
    void audit.refused({
      by: { actor: actorOf(principal), address: address === '' ? null : address },
      action: 'role.refused',
      target: { kind: 'route', id: `GET ${path}`, name: null },
      details: { needs },
    });
  };
}
