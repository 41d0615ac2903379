import { CoordinatorError } from '../../../domain/errors.ts';
import type { Role } from '../../../domain/key.ts';
import { parseNothing } from '../../query.ts';
import type { Route } from '../../route.ts';

/** The paths of the sockets, for requests that come without their upgrade: most likely a proxy has left it out. */
export function socketRoutes(): Route[] {
  const sockets: [path: string, role: Role][] = [
    ['/ws', 'viewer'],
    ['/ws/worker', 'worker'],
  ];
  return sockets.map(([path, role]) => ({
    method: 'GET',
    path,
    role,
    handle: ({ query }) => {
      parseNothing(query);
      throw new CoordinatorError(
        'upgrade_required',
        `${path} is a WebSocket, and this request has no "Upgrade: websocket" header. If a WebSocket client sent it, a proxy on the way does not pass the headers Upgrade and Connection on: configure it to do so`,
      );
    },
  }));
}
