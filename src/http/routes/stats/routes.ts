import { statsRanges } from '../../../domain/stats.ts';
import { presentStats, presentStatsPoint } from '../../../present/stats.ts';
import { time, word } from '../../query.ts';
import { defineRoute, type Route } from '../../route.ts';
import { statsHistoryShape, statsShape } from './shape.ts';

const getStats = defineRoute({
  method: 'GET',
  path: '/api/stats',
  role: 'viewer',
  name: 'getStats',
  tag: 'Figures',
  summary: 'Figures of the coordinator',
  description:
    'Counts are maintained, not computed, so you can request this every second, however many jobs there are. The live event `stats` has the same data.',

  answers: {
    200: { description: 'The figures of this moment.', shape: statsShape },
  },

  handle: async (_, { coordinator }) => ({ json: presentStats(await coordinator.stats()) }),
});

const getStatsHistory = defineRoute({
  method: 'GET',
  path: '/api/stats/history',
  role: 'viewer',
  name: 'getStatsHistory',
  tag: 'Figures',
  summary: 'The last hour, day or week in steps',
  description:
    'Data for charts: an hour in steps of 10 seconds, a day in steps of a minute, a week in steps of 10 minutes. It is kept in memory and begins with each start of the coordinator.',

  query: {
    range: word(statsRanges, { description: 'How far back.' }, 'hour'),
    after: time({ description: 'Only steps that ended after this time.' }),
  },
  answers: {
    200: { description: 'The steps, the oldest first.', shape: statsHistoryShape },
  },

  handle: ({ query: { range, after } }, { coordinator }) => {
    const { stepSeconds, points } = coordinator.statsHistory(range ?? 'hour', after);
    return { json: { step_seconds: stepSeconds, points: points.map(presentStatsPoint) } };
  },
});

/** /api/stats: the coordinator in figures, now and over the last hour, day or week. */
export const statsRoutes: readonly Route[] = [getStats, getStatsHistory];
