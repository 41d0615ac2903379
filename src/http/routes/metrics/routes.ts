import { defineRoute, type Route } from '../../route.ts';
import { text } from '../../shape/shape.ts';

const getMetrics = defineRoute({
  method: 'GET',
  path: '/metrics',
  role: 'metrics',
  name: 'getMetrics',
  tag: 'Figures',
  summary: 'The figures for Prometheus',
  description: 'docs/operations.md lists them. No label holds content, and none is unbounded.',

  answers: {
    200: { description: 'The text format of Prometheus, version 0.0.4.', type: 'text/plain', shape: text() },
  },

  handle: async (_, { metrics }) => ({ type: metrics.contentType, text: await metrics.render() }),
});

/** /metrics, for Prometheus. */
export const metricsRoutes: readonly Route[] = [getMetrics];
