import type { Coordinator } from '../../../coordinator/coordinator.ts';
import { presentQueue } from '../../../present/queue.ts';
import { parseNothing } from '../../query.ts';
import type { Route } from '../../route.ts';
import { parsePause } from './schema.ts';

/** /api/queue: pause, resume. */
export function queueRoutes(coordinator: Coordinator): Route[] {
  return [
    {
      method: 'POST',
      path: '/api/queue/pause',
      role: 'operator',
      body: 'optional',
      handle: async ({ query, body, doer }) => {
        parseNothing(query);
        const { reason } = parsePause(body);
        return { json: presentQueue(await coordinator.pauseQueue(doer(), reason)) };
      },
    },
    {
      method: 'POST',
      path: '/api/queue/resume',
      role: 'operator',
      handle: async ({ query, doer }) => {
        parseNothing(query);
        return { json: presentQueue(await coordinator.resumeQueue(doer())) };
      },
    },
  ];
}
