import type { Metrics } from '../../../metrics/metrics.ts';
import { parseNothing } from '../../query.ts';
import type { Route } from '../../route.ts';

/** /metrics, for Prometheus. */
export function metricsRoutes(metrics: Metrics): Route[] {
  return [
    {
      method: 'GET',
      path: '/metrics',
      role: 'metrics',
      handle: async ({ query }) => {
        parseNothing(query);
        return { type: metrics.contentType, text: await metrics.render() };
      },
    },
  ];
}
