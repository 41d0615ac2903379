import type { Coordinator } from '../../../coordinator/coordinator.ts';
import { stepSeconds } from '../../../coordinator/course.ts';
import type { WireStatsHistory } from '../../../domain/wire/stats.ts';
import { presentStats, presentStatsPoint } from '../../../present/stats.ts';
import { parseNothing, Query } from '../../query.ts';
import type { Route } from '../../route.ts';

/** /api/stats: the coordinator in figures, now and in the last hour. */
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
    {
      method: 'GET',
      path: '/api/stats/history',
      role: 'viewer',
      handle: ({ query: raw }) => {
        const query = new Query(raw);
        const after = query.time('after');
        query.done();
        const points = coordinator.statsHistory(after).map(presentStatsPoint);
        const history: WireStatsHistory = { step_seconds: stepSeconds, points };
        return { json: history };
      },
    },
  ];
}
