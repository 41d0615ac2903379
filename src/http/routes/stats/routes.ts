import type { Coordinator } from '../../../coordinator/coordinator.ts';
import { statsRanges } from '../../../domain/stats.ts';
import type { WireStatsHistory } from '../../../domain/wire/stats.ts';
import { presentStats, presentStatsPoint } from '../../../present/stats.ts';
import { parseNothing, Query } from '../../query.ts';
import type { Route } from '../../route.ts';

/** /api/stats: the coordinator in figures, now and over the last hour, day or week. */
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
        const [range = 'hour', ...others] = query.words('range', statsRanges);
        if (others.length > 0) query.fault('range', 'may be given once');
        query.done();
        const { stepSeconds, points } = coordinator.statsHistory(range, after);
        const history: WireStatsHistory = {
          step_seconds: stepSeconds,
          points: points.map(presentStatsPoint),
        };
        return { json: history };
      },
    },
  ];
}
