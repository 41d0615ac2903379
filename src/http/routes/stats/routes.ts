import type { Coordinator } from '../../../coordinator/coordinator.ts';
import { presentStats } from '../../../present/stats.ts';
import { parseNothing } from '../../query.ts';
import type { Route } from '../../route.ts';

/** /api/stats: the coordinator in figures. */
export function statsRoutes(coordinator: Coordinator): Route[] {
  return [
    {
      method: 'GET',
      path: '/api/stats',
      role: 'viewer',
      handle: async ({ query }) => {
        parseNothing(query);
        return { json: presentStats(await coordinator.stats()) };
      },
    },
  ];
}
