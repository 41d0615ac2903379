import { CoordinatorError } from '../../../domain/errors.ts';
import { defineRoute, type Route } from '../../route.ts';

function upgradeRequired(path: string): CoordinatorError {
  return new CoordinatorError(
    'upgrade_required',
    `${path} is a WebSocket, and this request has no "Upgrade: websocket" header. If a WebSocket client sent it, a proxy on the way does not pass the headers Upgrade and Connection on: configure it to do so`,
  );
}

const openLiveSocket = defineRoute({
  method: 'GET',
  path: '/ws',
  role: 'viewer',
  name: 'openLiveSocket',
  tag: 'Live',
  summary: 'The WebSocket of live events, requested without an upgrade',

  answers: {},
  problems: ['UpgradeRequired'],

  handle: () => {
    throw upgradeRequired('/ws');
  },
});

const openWorkerSocket = defineRoute({
  method: 'GET',
  path: '/ws/worker',
  role: 'worker',
  name: 'openWorkerSocket',
  tag: 'Workers',
  summary: 'The WebSocket of workers, requested without an upgrade',

  answers: {},
  problems: ['UpgradeRequired'],

  handle: () => {
    throw upgradeRequired('/ws/worker');
  },
});

/** The paths of the sockets, for requests that come without their upgrade: most likely a proxy has left it out. */
export const socketRoutes: readonly Route[] = [openLiveSocket, openWorkerSocket];
