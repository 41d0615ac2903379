import type { Coordinator } from '../../../coordinator/coordinator.ts';
import type { Route } from '../../route.ts';
import { presentBreakdown, presentSummary } from './present.ts';
import { parseBreakdown, parseSummary } from './schema.ts';

/** /api/cost: what was spent in a calendar period, and on what. */
export function costRoutes(coordinator: Coordinator): Route[] {
  return [
    {
      method: 'GET',
      path: '/api/cost/summary',
      role: 'viewer',
      handle: async ({ query }) => {
        const { span, zone } = parseSummary(query);
        return { json: presentSummary(await coordinator.costSummary(span, zone)) };
      },
    },
    {
      method: 'GET',
      path: '/api/cost/breakdown',
      role: 'viewer',
      handle: async ({ query }) => {
        const { by, span, zone } = parseBreakdown(query);
        return { json: presentBreakdown(await coordinator.costBreakdown(by, span, zone)) };
      },
    },
  ];
}
