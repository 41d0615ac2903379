import type { Coordinator } from '../../../coordinator/coordinator.ts';
import { nothingInspected } from '../../../coordinator/core/index.ts';
import { presentInspection } from '../../../present/inspection.ts';
import { parseNothing } from '../../query.ts';
import type { Route } from '../../route.ts';

/** /api/inspect: what the actors did lately, when the coordinator was started with --inspect. */
export function inspectRoutes(coordinator: Coordinator): Route[] {
  return [
    {
      method: 'GET',
      path: '/api/inspect',
      role: 'admin',
      handle: ({ query }) => {
        parseNothing(query);
        return { json: presentInspection(coordinator.inspector?.read() ?? nothingInspected) };
      },
    },
  ];
}
